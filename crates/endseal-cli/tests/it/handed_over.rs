//! Identities as people hand them over: in mails, files and pipes, as QR codes, and by the hub.

use endseal_testing::Scratch;
use serde_json::Value;

use crate::messages::Hub;
use crate::people::{Person, run};

/// Breaks a text into lines, as a mail program does.
fn wrapped(text: &str, width: usize, end: &str) -> String {
    let lines = text.as_bytes().chunks(width).map(|line| core::str::from_utf8(line).unwrap());
    lines.collect::<Vec<_>>().join(end)
}

fn long_of(person: &Person<'_>, name: &str) -> Value {
    let listed = person.run(&["--json", "contacts", "list"]).ok().json();
    let contacts = listed["contacts"].as_array().unwrap();
    contacts.iter().find(|it| it["name"] == name).unwrap()["identity_pq"].clone()
}

#[test]
fn a_contact_is_added_from_a_mail_a_file_and_a_pipe() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    let (short, long) = (bob.identity(), bob.identity_pq());
    let given = [
        format!(" {short}\n"),
        format!("\u{feff}{short}\r\n"),
        wrapped(&long, 76, "\n"),
        wrapped(&long, 72, "\r\n    "),
    ];
    for (index, text) in given.iter().enumerate() {
        let [typed, file, piped] = ["typed", "file", "piped"].map(|it| format!("{it}-{index}"));
        alice.run(&["contacts", "add", &typed, text]).ok();
        alice.run(&["contacts", "remove", &typed]).ok();
        scratch.write("bob.txt", text);
        alice.run(&["contacts", "add", &file, "bob.txt"]).ok();
        alice.run(&["contacts", "remove", &file]).ok();
        alice.feed(&["contacts", "add", &piped, "-"], text.as_bytes()).ok();
        let expected = if text.contains("endsealpq1") { long.clone().into() } else { Value::Null };
        assert_eq!(long_of(&alice, &piped), expected, "{text}");
        alice.run(&["contacts", "remove", &piped]).ok();
    }
    let cut = wrapped(&long[..2000], 76, "\n");
    alice.feed(&["contacts", "add", "bob", "-"], cut.as_bytes()).fails(2, "copied in part?");
    alice.feed(&["contacts", "add", "bob", "-"], &[b'x'; 70_000]).fails(3, "longer than");
    let peer = bob.peer_id();
    alice.run(&["contacts", "add", "bob", &peer]).fails(2, "endseal peers add NAME PEERID");
}

#[test]
fn recipients_are_read_from_mails_with_comments() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    let carol = Person::new("carol", &scratch);
    alice.knows(&bob);
    let list =
        format!("\u{feff}bob # my friend\r\n{}\r\n", wrapped(&carol.identity_pq(), 76, "\r\n"));
    scratch.write("list", &list);
    scratch.write("text", "hello");
    let sealed = ["--json", "seal", "-R", "list", "-o", "sealed", "text"];
    let sealed = alice.run(&sealed).ok().json();
    assert_eq!((&sealed["recipients"], &sealed["suite"]), (&2.into(), &"x25519-mlkem768".into()));
    let piped = ["--json", "seal", "-R", "-", "-o", "piped", "text"];
    assert_eq!(alice.feed(&piped, list.as_bytes()).ok().json()["recipients"], 2);
    let both = ["seal", "-R", "-", "-o", "both"];
    alice.feed(&both, list.as_bytes()).fails(2, "cannot both be standard input");
    let two = format!("{},{}", alice.identity(), bob.identity());
    alice.run(&["seal", "-r", &two, "text"]).fails(2, "-r alice -r bob");
    alice.run(&["group", "create", "team", "bob"]).ok();
    alice.run(&["seal", "-r", "team", "text"]).fails(2, "'team' is a group");
}

#[test]
fn a_short_identity_is_sealed_to_with_the_key_that_is_known() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    scratch.write("text", "hello");
    scratch.write("list", format!("{}\n", bob.identity()));
    for to in [["-r", &bob.identity()], ["-R", "list"], ["-r", &alice.identity()]] {
        let seal = ["seal", to[0], to[1], "-f", "-o", "sealed", "text"];
        let sealed = alice.run(&seal).ok();
        assert!(!sealed.err.contains("post-quantum"), "{to:?}: {}", sealed.err);
        let seal = [&["--json"], &seal[..]].concat();
        assert_eq!(alice.run(&seal).ok().json()["suite"], "x25519-mlkem768", "{to:?}");
    }
    // Without a state directory nothing is known, and sealing works all the same.
    let no_one = Person { name: "nobody", scratch: &scratch };
    let seal = ["--json", "seal", "--anonymous", "-r", &bob.identity(), "-o", "other", "text"];
    assert_eq!(no_one.run(&seal).ok().json()["suite"], "x25519");
}

#[test]
fn the_hub_gives_the_long_identity() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    let carol = Person::new("carol", &scratch);
    for person in [&alice, &bob] {
        person.run(&["join", &hub.invite(person.name)]).ok();
    }
    alice.run(&["contacts", "add", "local", "--local", &bob.identity()]).ok();
    assert_eq!(long_of(&alice, "local"), Value::Null);
    alice.run(&["contacts", "remove", "local"]).ok();
    let added = alice.run(&["contacts", "add", "bob", &bob.identity()]).ok();
    assert!(added.err.contains("the hub has the long identity of bob"), "{}", added.err);
    assert_eq!(long_of(&alice, "bob"), bob.identity_pq());
    // The hub does not know Carol, and a hub that is away keeps no contact from being added.
    let added = alice.run(&["contacts", "add", "carol", &carol.identity()]).ok();
    assert!(added.err.contains("carol is a contact, without a post-quantum key"), "{}", added.err);
    hub.stop();
    let added = bob.run(&["contacts", "add", "alice", &alice.identity()]).ok();
    assert!(added.err.contains("note: the hub was not asked"), "{}", added.err);
    assert_eq!(long_of(&bob, "alice"), Value::Null);
}

#[test]
fn a_peer_is_added_from_the_line_that_listen_prints() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    let peer = bob.peer_id();
    let added = alice.run(&["peers", "add", "bob", &format!(" {peer}@192.0.2.7:4433\n")]).ok();
    assert!(added.err.contains("endseal send bob@192.0.2.7:4433 FILE"), "{}", added.err);
    assert_eq!(alice.run(&["peers", "list"]).ok().text(), format!("bob  {peer}\n"));
    alice.run(&["peers", "add", "eve", &format!("{peer}@")]).fails(2, "there is no host");
    let identity = bob.identity();
    alice.run(&["peers", "add", "eve", &identity]).fails(2, "endseal id show --peer");
}

#[test]
fn an_identity_is_a_qr_code() {
    let scratch = Scratch::new();
    let bob = Person::new("bob", &scratch);
    let drawn = |args: &[&str]| bob.run(&[&["id", "show", "--qr"], args].concat()).ok();
    let columns = |text: &str| text.lines().next().unwrap().chars().count();
    assert_eq!(columns(drawn(&[]).text()), 41);
    // Runs of digits take less room, so that identities differ by a size.
    let columns = columns(drawn(&["--pq"]).text());
    assert!([157, 161].contains(&columns), "{columns}");
    assert!(drawn(&["--peer"]).text().contains('\u{2588}'));
    let terminal = |size: &str, args: &str| {
        let command =
            format!("stty {size}; {} --home bob id show --qr {args}", crate::people::PROGRAM);
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).current_dir(scratch.folder());
        run(&mut script)
    };
    assert_eq!(terminal("cols 80 rows 24", "").code, 0);
    let small = terminal("cols 80 rows 24", "--pq");
    let why = format!("the QR code has {columns} columns and ");
    assert!(small.text().contains(&why), "{}", small.text());
    assert!(small.text().contains("lines, and the terminal 80 and 24"), "{}", small.text());
    assert_eq!(small.code, 3);
    assert_eq!(terminal("cols 200 rows 100", "--pq").code, 0);
}
