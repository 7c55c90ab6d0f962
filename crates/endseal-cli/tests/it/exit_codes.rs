//! Exit codes that all commands share.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use endseal_testing::Scratch;

use crate::people::{Person, program, run};

/// Commands of Alice that create a file, with its name. She has Bob and Carol as contacts.
const MAKERS: [&[&str]; 13] = [
    &["init", "--no-passphrase"],
    &["id", "export", "--secret", "-o", "made"],
    &["contacts", "rename", "bob", "carol"],
    &["peers", "add", "bob", "PEERID"],
    &["group", "create", "club", "bob"],
    &["group", "export", "club", "-o", "made"],
    &["seal", "-r", "bob", "-o", "made", "text"],
    &["session", "group", "key-package", "-o", "made"],
    &["session", "group", "create", "team"],
    &["session", "group", "send", "team", "text", "-o", "made"],
    &["store", "export", "-o", "made"],
    &["store", "backup", "copy"],
    &["store", "restore", "copy"],
];

#[test]
fn what_exists_already_has_one_code() {
    let scratch = Scratch::new();
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    alice.knows(&carol);
    let peer_ids = [bob.peer_id(), carol.peer_id()];
    alice.run(&["peers", "add", "bob", &peer_ids[0]]).ok();
    for args in [&["group", "create", "club"][..], &["session", "group", "create", "team"]] {
        alice.run(args).ok();
    }
    alice.run(&["store", "backup", "copy"]).ok();
    scratch.write("made", "as it was");
    scratch.write("text", "a text");
    for maker in MAKERS {
        let args: Vec<_> = maker
            .iter()
            .map(|arg| if *arg == "PEERID" { peer_ids[1].as_str() } else { *arg })
            .collect();
        let ran = alice.run(&args);
        assert_eq!(ran.code, 2, "{maker:?}: {}", ran.err);
        assert!(ran.err.contains("hint: ") || maker[0] == "session", "{maker:?}: {}", ran.err);
    }
    assert_eq!(scratch.read("made"), b"as it was");
    for maker in [&["s3", "key", "new"][..], &["s3", "names", "init"]] {
        let ran = run(program().args(maker).arg(scratch.path("made"))).fails(2, "already");
        assert!(ran.err.contains("hint: choose another name"), "{}", ran.err);
    }
    fs::create_dir(scratch.path("pages")).unwrap();
    scratch.write("pages/endseal.1", "as it was");
    run(program().arg("man").arg(scratch.path("pages"))).fails(2, "exists already");
}

/// A process that is ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a process of Alice that has her store open.
fn has_the_store(alice: &Person<'_>) -> (Running, ChildStdin) {
    let mut command = alice.command(&["say", "bob", "-", "--lines"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // This is more than the pipe holds: the process has started to read, and has the store open.
    stdin.write_all(&[&[b'x'; 99][..], b"\n"].concat().repeat(4_000)).unwrap();
    (Running(child), stdin)
}

/// Starts a process that serves the folder `vault`.
fn serves(scratch: &Scratch) -> (Running, BufReader<ChildStdout>) {
    let mut command = program();
    command.current_dir(scratch.folder());
    command.args(["s3", "serve", "--dir", "vault", "--listen", "127.0.0.1:0", "--log", "off"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (mut line, mut out) = (String::new(), BufReader::new(child.stdout.take().unwrap()));
    out.read_line(&mut line).unwrap();
    assert!(line.starts_with("listening"), "{line}");
    (Running(child), out)
}

#[test]
fn a_store_that_another_process_uses_has_one_code() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    let (_writer, _stdin) = has_the_store(&alice);
    for args in
        [&["session", "group", "list"][..], &["store", "check"], &["store", "backup", "copy"]]
    {
        let now = [args, &["--wait", "0s"]].concat();
        let ran = alice.run(&now).fails(3, "another process has the store open");
        assert!(ran.err.contains("hint: "), "{}", ran.err);
    }
    // An open store is not a valid backup.
    fs::rename(scratch.path("bob/store"), scratch.path("aside")).unwrap();
    bob.run(&["store", "restore", "alice/store"]).fails(3, "another process has the store open");
}

#[test]
fn a_folder_or_an_address_that_another_process_uses_has_one_code() {
    let scratch = Scratch::new();
    let _proxy = serves(&scratch);
    scratch.write(
        "s3.toml",
        "[backend]\nfolder = \"vault/objects\"\n[keys]\nprovider = \"ring\"\n\
         file = \"vault/keys.ring\"\n[[client]]\naccess_key = \"A\"\nsecret_key = \"01234567890123456789\"\n",
    );
    let s3 = |args: &[&str]| {
        run(program().current_dir(scratch.folder()).args(["s3", "--quiet"]).args(args))
    };
    for command in ["rewrap", "scrub", "clean"] {
        let ran = s3(&[command, "--config", "s3.toml"]).fails(3, "another process serves");
        assert!(ran.err.contains("hint: "), "{}", ran.err);
    }
    let any = ["--listen", "127.0.0.1:0"];
    s3(&[&["serve", "--config", "s3.toml"], &any[..]].concat()).fails(3, "another process serves");
    s3(&[&["serve", "--dir", "vault"], &any[..]].concat()).fails(3, "another process serves");

    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap().to_string();
    s3(&["serve", "--dir", "second", "--listen", &address]).fails(3, "cannot listen at");
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = udp.local_addr().unwrap().to_string();
    let [alice, _bob] = Person::two_peers(&scratch);
    alice.run(&["listen", "--listen", &address]).fails(3, "cannot use");
}
