//! Runs the commands of README.md in their order.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use endseal_testing::Scratch;
use serde_json::Value;

use crate::listener::Listener;
use crate::nostr_app::World;
use crate::people::{PROGRAM, Person, Ran, run};

const README: &str = include_str!("../../../../README.md");

const PASS: &str = "correct horse battery staple";

/// Commands of Bob. All others are Alice's.
const OF_BOB: [&str; 2] = ["group import", "# bob"];

/// Returns the lines of the command blocks.
fn lines() -> Vec<&'static str> {
    let blocks = README.split("\n```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix('\n')).flat_map(str::lines).collect()
}

/// Runs a line in a shell, with the state directory `home`.
fn shell(line: &str, home: &str, scratch: &Scratch) -> Ran {
    let folder = PROGRAM.rsplit_once('/').unwrap().0;
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(scratch.folder()).stdin(Stdio::null());
    command.env("PATH", path).env("ENDSEAL_HOME", scratch.path(home));
    run(command.env("ENDSEAL_PASSPHRASE", PASS))
}

/// Starts a line that serves until it is ended.
fn serve(line: &str, scratch: &Scratch) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(line.split(' ').skip(1)).args(["--listen", "127.0.0.1:0"]);
    command.current_dir(scratch.folder()).env("ENDSEAL_PASSPHRASE", PASS).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    assert!(first.starts_with("listening at http://127.0.0.1:"), "{line}: {first}");
    child
}

/// Starts a signer of Alice.
fn serve_apps(line: &str, scratch: &Scratch) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(line.split(' ').skip(1)).args(["--log", "off"]).env("ENDSEAL_PASSPHRASE", PASS);
    command.env("ENDSEAL_HOME", scratch.path("alice")).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "the signer runs\n", "{line}");
    child
}

#[test]
fn commands_of_the_readme_work_in_their_order() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    scratch.write(
        "proxy.toml",
        "[backend]\nfolder = \"objects\"\n[keys]\nprovider = \"ring\"\nfile = \"ring.key\"\n\
         [[client]]\naccess_key = \"alice\"\nsecret_key = \"01234567890123456789\"\n",
    );
    let world = World::new();
    let (mut hub, mut listener, mut signer) = (None, None, None);
    let mut done = 0;
    for line in lines().into_iter().filter(|line| !line.starts_with("cargo ")) {
        let line = match line.strip_suffix("endsealpq1...") {
            Some(line) => format!("{line}{}", bob.identity_pq()),
            None => line.replace("endsealpeer1...", &bob.peer_id()),
        };
        let line = line.replace("wss://relay.example", &world.url());
        done += 1;
        if line.starts_with("endseal hub serve") {
            let mut command = Command::new(PROGRAM);
            command.args(["--home", "alice", "hub", "serve", "--listen", "127.0.0.1:0"]);
            command.current_dir(scratch.folder());
            hub = Some(Listener::of(command));
            continue;
        }
        let host = hub.as_ref().map_or("", Listener::host);
        let line = line.replace("hub.example.org:4433", host);
        if line.starts_with("endseal s3 serve") {
            let mut child = serve(&line, &scratch);
            child.kill().unwrap();
            child.wait().unwrap();
            continue;
        }
        if line.starts_with("endseal signer run") {
            signer = Some(serve_apps(&line, &scratch));
            continue;
        }
        if line.starts_with("endseal listen") {
            // Bob listens, so that he must have Alice as a peer.
            let alice = shell("endseal id show --peer", "alice", &scratch).ok();
            bob.run(&["peers", "add", "alice", alice.text().trim_end()]).ok();
            let line = line.replace("0.0.0.0:4433", "127.0.0.1:0");
            let args: Vec<_> = line.split(' ').skip(1).collect();
            listener = Some(Listener::of(bob.command(&args)));
            continue;
        }
        if line.starts_with("endseal group import") {
            let alice = shell("endseal id show --pq", "alice", &scratch).ok();
            bob.run(&["contacts", "add", "alice", alice.text().trim_end()]).ok();
            for sealed in ["for-bob.es", "for-team.es"] {
                assert_eq!(bob.run(&["open", sealed]).ok().text(), "meet at noon\n");
            }
        }
        let host = listener.as_ref().map_or("", Listener::host).to_owned();
        let line = line.replace("bob@192.0.2.7", &format!("bob@{host}"));
        let home = if OF_BOB.iter().any(|own| line.contains(own)) { "bob" } else { "alice" };
        let ran = shell(&line, home, &scratch);
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
        if line.starts_with("endseal open") {
            assert_eq!(scratch.read("copy.txt"), b"meet at noon\n");
        }
        if line.starts_with("endseal nostr event sign") {
            let event: Value = serde_json::from_slice(&ran.out).unwrap();
            assert_eq!(event["content"], "meet at noon\n");
        }
        if line.starts_with("endseal send") {
            assert_eq!(scratch.read("inbox/notes.txt"), b"meet at noon\n");
        }
        if line.starts_with("endseal inbox") {
            assert!(ran.text().contains("> at noon"), "{}", ran.text());
        }
    }
    assert_eq!(done, 33);
    bob.feed(&["seal", "-g", "team"], b"at noon").ok();
    listener.expect("the README has a listener").kill();
    let mut signer = signer.expect("the README has a signer");
    signer.kill().unwrap();
    signer.wait().unwrap();
}
