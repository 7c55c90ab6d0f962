//! Tests of the user's configuration file.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use endseal_testing::Scratch;

use crate::people::{program, run};

/// Makes a command of a user whose configuration folder is `config`.
fn configured(scratch: &Scratch, args: &[&str]) -> Command {
    let mut command = program();
    command.current_dir(scratch.folder()).env("XDG_CONFIG_HOME", scratch.path("config")).args(args);
    command
}

fn write(scratch: &Scratch, text: &str) {
    std::fs::create_dir_all(scratch.path("config/endseal")).unwrap();
    scratch.write("config/endseal/config.toml", text);
}

#[test]
fn home_and_passphrase_come_from_the_configuration() {
    let scratch = Scratch::new();
    write(&scratch, "home = \"state\"\npassphrase_file = \"passphrase\"\n");
    scratch.write("config/endseal/passphrase", "correct horse\n");
    run(&mut configured(&scratch, &["init", "--protect-device"])).ok();
    assert!(scratch.has("config/endseal/state/identity.endseal"));
    run(&mut configured(&scratch, &["id", "show", "--peer"])).ok();
    // The option and the variable take precedence over the file.
    run(&mut configured(&scratch, &["--home", "other", "id", "show"])).fails(4, "other");
    run(configured(&scratch, &["id", "show"]).env("ENDSEAL_HOME", "third")).fails(4, "third");
    let mut wrong = configured(&scratch, &["id", "show", "--peer"]);
    run(wrong.env("ENDSEAL_PASSPHRASE", "battery staple")).fails(1, "passphrase");
}

#[test]
fn an_entry_that_does_not_exist_is_named() {
    let scratch = Scratch::new();
    write(&scratch, "hom = \"state\"\n");
    let ran = run(&mut configured(&scratch, &["contacts", "list"])).fails(4, "config.toml");
    assert!(ran.err.contains("there is no entry 'hom'"), "{}", ran.err);
    assert!(run(&mut configured(&scratch, &["--help"])).ok().text().contains("Usage"));
}

#[test]
fn a_configuration_that_is_no_regular_file_is_refused() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path("config/endseal")).unwrap();
    let file = scratch.path("config/endseal/config.toml");
    for maker in ["mkfifo", "mkdir"] {
        assert!(Command::new(maker).arg(&file).status().unwrap().success());
        for command in [&["contacts", "list"][..], &["init", "--no-passphrase"]] {
            let ran = run(&mut configured(&scratch, command));
            ran.fails(4, "config.toml' is not a regular file");
        }
        assert!(Command::new("rm").arg("-r").arg(&file).status().unwrap().success());
    }
}

#[test]
fn the_proxy_has_a_default_configuration() {
    let scratch = Scratch::new();
    let ran = run(&mut configured(&scratch, &["s3", "serve"])).fails(2, "no configuration");
    for given in ["--config FILE", "--dir DIR", "config/endseal/s3.toml"] {
        assert!(ran.err.contains(given), "{}", ran.err);
    }
    let ran = run(&mut configured(&scratch, &["s3", "clean"])).fails(2, "no configuration");
    assert!(!ran.err.contains("--dir"), "{}", ran.err);
    run(&mut configured(&scratch, &["s3", "key", "new", "ring.key"])).ok();
    let text = "listen = \"127.0.0.1:0\"\n[backend]\nfolder = \"objects\"\n[keys]\n\
                provider = \"ring\"\nfile = \"RING\"\n[[client]]\naccess_key = \"A\"\n\
                secret_key = \"01234567890123456789\"\n";
    let text = text.replace("RING", scratch.path("ring.key").to_str().unwrap());
    write(&scratch, "");
    scratch.write("config/endseal/s3.toml", &text);
    run(&mut configured(&scratch, &["s3", "clean"])).ok();
    write(&scratch, "[s3]\nconfig = \"other.toml\"\n");
    run(&mut configured(&scratch, &["s3", "clean"])).fails(3, "other.toml");
    scratch.write("config/endseal/other.toml", &text);
    let mut serve = configured(&scratch, &["s3", "serve", "--log", "off"]);
    let mut child = serve.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("listening at http://127.0.0.1:"), "{line}");
}
