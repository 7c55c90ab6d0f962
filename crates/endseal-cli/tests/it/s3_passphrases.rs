//! Passphrases of key rings.

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use endseal_testing::Scratch;
use serde_json::Value;

use crate::people::{Ran, program, run};

const RIGHT: &str = "correct horse battery";
const OTHER: &str = "another long passphrase";

fn secret(scratch: &Scratch, name: &str, text: &str) {
    scratch.write(name, text);
    std::fs::set_permissions(scratch.path(name), Permissions::from_mode(0o600)).unwrap();
}

/// A folder with two passphrases in files and a configuration of a proxy.
fn prepared() -> Scratch {
    let scratch = Scratch::new();
    secret(&scratch, "right", RIGHT);
    secret(&scratch, "other", OTHER);
    let text = "[backend]\nfolder = \"objects\"\n[keys]\nprovider = \"ring\"\nfile = \"ring.key\"\n\
                [[client]]\naccess_key = \"A\"\nsecret_key = \"01234567890123456789\"\n";
    secret(&scratch, "s3.toml", text);
    scratch
}

fn s3(args: &[&str], scratch: &Scratch) -> Ran {
    run(program().current_dir(scratch.folder()).arg("s3").args(args))
}

fn with(file: &str, args: &[&str], scratch: &Scratch) -> Ran {
    s3(&[args, &["--passphrase-file", file]].concat(), scratch)
}

fn ring(scratch: &Scratch) -> String {
    std::fs::read_to_string(scratch.path("ring.key")).unwrap()
}

fn is_sealed(scratch: &Scratch) -> bool {
    let text = ring(scratch);
    match text.lines().nth(1).unwrap().split(' ').nth(1).unwrap() {
        "none" => false,
        "argon2id" => true,
        other => panic!("{other}"),
    }
}

fn ids(listed: &Value) -> Vec<&str> {
    listed["keys"].as_array().unwrap().iter().map(|key| key["id"].as_str().unwrap()).collect()
}

#[test]
fn each_command_of_a_ring_uses_the_passphrase() {
    let scratch = prepared();
    let made = with("right", &["key", "new", "ring.key", "--json"], &scratch).ok().json();
    assert!(is_sealed(&scratch));
    assert_eq!(made["protected"], true);
    for command in ["rotate", "list"] {
        let before = ring(&scratch);
        s3(&["key", command, "ring.key"], &scratch).fails(2, "a passphrase is needed");
        with("other", &["key", command, "ring.key"], &scratch).fails(1, "passphrase is wrong");
        assert_eq!(ring(&scratch), before);
    }
    let rotated = with("right", &["key", "rotate", "ring.key", "--json"], &scratch).ok().json();
    assert!(is_sealed(&scratch));
    let [old, newest] = ids(&rotated)[..] else { panic!("{rotated}") };
    assert_eq!(ids(&made), [old]);
    let variable = run(program()
        .current_dir(scratch.folder())
        .env("ENDSEAL_PASSPHRASE", RIGHT)
        .args(["s3", "key", "list", "ring.key", "--json"]));
    assert_eq!(variable.ok().json(), rotated);
    let before = ring(&scratch);
    with("other", &["key", "remove", "ring.key", old], &scratch).fails(1, "passphrase is wrong");
    assert_eq!(ring(&scratch), before);
    let removed = with("right", &["key", "remove", "ring.key", old, "--json"], &scratch);
    assert_eq!(ids(&removed.ok().json()), [newest]);
    assert!(is_sealed(&scratch));
    // The copy is as protected as the ring was.
    let kept = format!("ring.key.before-{old}");
    assert_eq!(std::fs::read_to_string(scratch.path(&kept)).unwrap(), before);
}

#[test]
fn a_ring_without_a_passphrase_is_named() {
    let scratch = prepared();
    let said = "warning: ring.key has no passphrase";
    let made = s3(&["key", "new", "ring.key"], &scratch).ok();
    assert!(made.err.contains(said) && made.err.contains("s3 key passphrase"), "{}", made.err);
    assert!(!is_sealed(&scratch));
    for command in ["list", "rotate"] {
        let ran = s3(&["key", command, "ring.key"], &scratch).ok();
        assert!(ran.err.contains(said), "{command}: {}", ran.err);
        let before = ring(&scratch);
        let given = with("right", &["key", command, "ring.key"], &scratch);
        let given = given.fails(2, "ring.key has no passphrase");
        assert!(given.err.contains("endseal s3 key passphrase"), "{}", given.err);
        assert_eq!(ring(&scratch), before);
    }
    let listed = s3(&["key", "list", "ring.key", "--json"], &scratch).ok().json();
    assert_eq!(listed["protected"], false);
    with("right", &["rewrap", "--config", "s3.toml"], &scratch).fails(2, "has no passphrase");
}

#[test]
fn a_passphrase_is_put_on_changed_and_taken_off() {
    let scratch = prepared();
    let made = s3(&["key", "new", "ring.key", "--json"], &scratch).ok().json();
    let keys = |file: Option<&str>| {
        let list = ["key", "list", "ring.key", "--json"];
        let ran = match file {
            Some(file) => with(file, &list, &scratch),
            None => s3(&list, &scratch),
        };
        ids(&ran.ok().json()).join(" ")
    };
    let change = ["key", "passphrase", "ring.key", "--json"];
    let to = |file| [&change[..], &["--new-passphrase-file", file]].concat();
    let off = [&change[..], &["--no-passphrase"]].concat();
    let on = s3(&to("right"), &scratch).ok().json();
    assert_eq!((&on["protected"], &on["file"]), (&Value::from(true), &Value::from("ring.key")));
    assert!(is_sealed(&scratch));
    assert_eq!(keys(Some("right")), ids(&made)[0]);
    let before = ring(&scratch);
    let text = ["key", "passphrase", "ring.key", "--no-passphrase"];
    s3(&text, &scratch).fails(2, "a passphrase is needed");
    with("other", &text, &scratch).fails(1, "passphrase is wrong");
    assert_eq!(ring(&scratch), before);
    with("right", &to("other"), &scratch).ok();
    assert_eq!(keys(Some("other")), ids(&made)[0]);
    assert_eq!(with("other", &off, &scratch).ok().json()["protected"], false);
    assert!(!is_sealed(&scratch));
    assert_eq!(keys(None), ids(&made)[0]);
    let mode = std::fs::metadata(scratch.path("ring.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let names = std::fs::read_dir(scratch.folder()).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("tmp")), "{names:?}");
}

#[test]
fn maintenance_opens_a_ring_by_an_option_or_by_the_configuration() {
    let scratch = prepared();
    with("right", &["key", "new", "ring.key"], &scratch).ok();
    std::fs::create_dir(scratch.path("copy")).unwrap();
    let commands: [&[&str]; 6] = [
        &["rewrap", "--config", "s3.toml"],
        &["scrub", "--config", "s3.toml"],
        &["clean", "--config", "s3.toml"],
        &["recover", "--config", "s3.toml"],
        &["import", "missing", "--config", "s3.toml"],
        &["recover", "copy", "--bucket", "b", "--dir", "out", "--config", "s3.toml"],
    ];
    let alone: &[&str] =
        &["recover", "copy", "--bucket", "b", "--dir", "out", "--ring", "ring.key"];
    // There is no bucket to import.
    let succeeds = |ran: Ran, command: &[&str]| {
        assert_eq!(ran.code, i32::from(command[0] == "import"), "{command:?}: {}", ran.err);
        assert!(!ran.err.contains("passphrase"), "{command:?}: {}", ran.err);
    };
    for command in commands.iter().chain([&alone]) {
        s3(command, &scratch).fails(2, "a passphrase is needed");
        with("other", command, &scratch).fails(1, "passphrase is wrong");
        succeeds(with("right", command, &scratch), command);
    }
    let text = std::fs::read_to_string(scratch.path("s3.toml")).unwrap();
    let named = |file: &str| {
        let entry = format!("file = \"ring.key\"\npassphrase_file = \"{file}\"");
        scratch.write("s3.toml", text.replace("file = \"ring.key\"", &entry));
    };
    for command in commands {
        named("right");
        succeeds(s3(command, &scratch), command);
        // An option comes before the configuration.
        with("other", command, &scratch).fails(1, "passphrase is wrong");
        named("other");
        succeeds(with("right", command, &scratch), command);
    }
    let rsa = text
        .replace("provider = \"ring\"\nfile = \"ring.key\"", "provider = \"rsa\"\nfiles = [\"k\"]");
    assert_ne!(rsa, text);
    scratch.write("s3.toml", rsa);
    with("right", &["clean", "--config", "s3.toml"], &scratch).fails(2, "keys have no passphrase");
}

fn served(args: &[&str], scratch: &Scratch) -> (Child, String) {
    let mut command = program();
    command.current_dir(scratch.folder()).args(["s3", "serve", "--listen", "127.0.0.1:0"]);
    let mut child =
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line)
}

fn ended(mut child: Child) -> (i32, String) {
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (child.wait().unwrap().code().unwrap(), err)
}

fn interrupt(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let kill = std::process::Command::new("kill").args([name, &pid]).status().unwrap();
    assert!(kill.success());
}

#[test]
fn a_proxy_over_a_folder_has_a_ring_under_the_passphrase() {
    let scratch = prepared();
    let given = ["--dir", "vault", "--passphrase-file", "right"];
    let (child, line) = served(&given, &scratch);
    assert!(line.starts_with("listening at "), "{line}");
    // The passphrase is still there when the ring is read again.
    interrupt(&child, "-HUP");
    std::thread::sleep(core::time::Duration::from_millis(1_500));
    interrupt(&child, "-INT");
    let (code, err) = ended(child);
    assert_eq!(code, 0, "{err}");
    assert!(!err.contains("sealed under"), "{err}");
    let text = std::fs::read_to_string(scratch.path("vault/keys.ring")).unwrap();
    assert!(text.contains("\nprotection argon2id "), "{text}");
    for (args, code, why) in [
        (&["--dir", "vault"][..], 2, "a passphrase is needed"),
        (&["--dir", "vault", "--passphrase-file", "other"], 1, "passphrase is wrong"),
    ] {
        let (child, line) = served(args, &scratch);
        assert_eq!(line, "");
        let (ended_with, err) = ended(child);
        assert!(ended_with == code && err.contains(why), "{ended_with}: {err}");
    }
}

#[test]
fn a_folder_of_a_proxy_is_no_bare_copy() {
    let scratch = prepared();
    let (child, _) = served(&["--dir", "vault", "--log", "off"], &scratch);
    interrupt(&child, "-INT");
    ended(child);
    std::fs::create_dir_all(scratch.path("vault/objects/buckets/b")).unwrap();
    for copy in ["vault", "vault/objects", "vault/objects/buckets/b"] {
        let args = ["recover", copy, "--bucket", "b", "--dir", "out", "--ring", "vault/keys.ring"];
        let ran = s3(&args, &scratch).fails(2, "is the folder of a proxy");
        assert!(ran.err.contains("endseal s3 serve --dir"), "{}", ran.err);
        assert!(!scratch.has("out"));
    }
}

#[test]
fn a_command_without_a_passphrase_refuses_one() {
    let scratch = prepared();
    for command in [
        &["s3", "names", "init", "names.secret"][..],
        &["hub", "serve"],
        &["nostr", "key", "new", "-o", "key"],
        &["inspect", "right"],
        &["completions", "bash"],
    ] {
        let given = [command, &["--passphrase-file", "right"]].concat();
        run(program().current_dir(scratch.folder()).args(&given)).fails(2, "takes no passphrase");
    }
    assert!(!scratch.has("names.secret") && !scratch.has("key"));
    // A choice against one and a source of one contradict each other.
    for command in ["join", "init"] {
        for source in [["--passphrase-file", "right"], ["--passphrase-command", "cat right"]] {
            let both = [&[command, "--no-passphrase"], &source[..]].concat();
            run(program().current_dir(scratch.folder()).arg("--home").arg("home").args(&both))
                .fails(2, "--no-passphrase");
        }
    }
}
