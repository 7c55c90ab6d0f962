//! A hub that gets another address: `endseal hub move`, `endseal join --hub`.

use core::time::Duration;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Instant;

use endseal_hub::{HubStore as _, SqliteStore};
use endseal_testing::Scratch;
use serde_json::Value;

use crate::listener::Listener;
use crate::people::Person;

/// Time that no step takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns an address of this machine that is free.
fn free_address() -> String {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn serve(owner: &Person<'_>, address: &str) -> Listener {
    Listener::of(owner.command(&["hub", "serve", "--listen", address]))
}

fn stop(mut hub: Listener) -> String {
    hub.interrupt();
    let (code, _, log) = hub.end();
    assert_eq!(code, Some(0));
    log
}

fn join(owner: &Person<'_>, hub: &Listener, person: &Person<'_>) {
    let file = format!("{}.invite", person.name);
    owner.run(&["hub", "invite", person.name, "--at", hub.host(), "-o", &file]).ok();
    person.run(&["join", &file]).ok();
}

fn status(person: &Person<'_>) -> Value {
    person.run(&["--json", "status"]).ok().json()
}

#[track_caller]
fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !is_true() {
        assert!(Instant::now() < end, "not so after a minute: {what}");
        sleep(Duration::from_millis(100));
    }
}

/// Visits the hub until a visit tells of a move. The hub reads its note once a second.
#[track_caller]
fn sync_until_told(person: &Person<'_>) -> String {
    let end = Instant::now() + TIMEOUT;
    loop {
        let ran = person.run(&["sync"]).ok();
        if ran.err.contains("the hub ") {
            return ran.err;
        }
        assert!(Instant::now() < end, "no visit tells of the move");
        sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_hub_moves_and_its_nodes_follow() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    let hub = serve(&owner, "127.0.0.1:0");
    let (old, new) = (hub.host().to_owned(), free_address());
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    bob.knows(&alice);
    [&alice, &bob, &carol].into_iter().for_each(|person| join(&owner, &hub, person));
    let peer = hub.address.split_once('@').unwrap().0.to_owned();

    assert_eq!(owner.run(&["hub", "move"]).ok().text(), "nodes are told no other address\n");
    let ran = owner.run(&["hub", "move", &new]).ok();
    assert!(ran.err.contains(&format!("endseal join --hub {peer}@{new}")), "{}", ran.err);
    let shown = owner.run(&["hub", "move"]).ok();
    assert!(shown.text().starts_with(&format!("{new}  since ")), "{}", shown.text());

    // Alice and Bob visit while the hub is at the old address. They are told once, and go on.
    for person in [&alice, &bob] {
        let told = sync_until_told(person);
        assert!(told.contains(&format!("note: the hub moves to {new}: ")), "{told}");
        let told = person.run(&["sync"]).ok();
        assert!(!told.err.contains("the hub "), "{}", told.err);
        assert_eq!(status(person)["hub_moves_to"], new.as_str());
        assert_eq!(status(person)["hub"], format!("{old} {new}").as_str());
    }
    alice.run(&["say", "--now", "bob", "before"]).ok();
    let log = stop(hub);
    assert!(log.contains(r#""known":2"#), "{log}");

    let hub = serve(&owner, &new);
    let told = alice.run(&["--json", "sync"]).ok();
    let moves = &told.json()["hub_moves"];
    assert_eq!(
        (&moves[0]["state"], &moves[0]["addresses"]),
        (&"reached".into(), &new.as_str().into())
    );
    let told = bob.run(&["sync"]).ok().err;
    assert!(told.contains(&format!("note: the hub is at {new} now")), "{told}");
    assert!(bob.run(&["inbox"]).ok().text().contains("alice> before"));
    for person in [&alice, &bob] {
        let status = status(person);
        assert_eq!((&status["hub"], &status["hub_moves_to"]), (&new.as_str().into(), &Value::Null));
        assert!(!person.run(&["sync"]).ok().err.contains("the hub "));
    }

    // Carol did not visit. She gets the address by hand.
    carol.run(&["sync", "--once", "--timeout", "1s"]).fails(3, "cannot connect");
    let at = format!("{peer}@{new}");
    carol.run(&["join", "--hub", &at]).ok();
    assert_eq!(status(&carol)["hub"], new.as_str());
    assert!(!carol.run(&["sync"]).ok().err.contains("the hub "), "it is there already");
    drop(hub);
}

#[test]
fn an_address_that_never_answers_is_replaced_by_the_next_note() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    let hub = serve(&owner, "127.0.0.1:0");
    let (old, wrong, new) = (hub.host().to_owned(), free_address(), free_address());
    let alice = Person::new("alice", &scratch);
    join(&owner, &hub, &alice);
    owner.run(&["hub", "move", &wrong]).ok();
    sync_until_told(&alice);
    let hub = {
        stop(hub);
        serve(&owner, &old)
    };
    // The note outlives a restart. The old address goes on serving.
    alice.run(&["sync"]).ok();
    owner.run(&["hub", "move", &new, &old]).ok();
    let told = sync_until_told(&alice);
    assert!(told.contains(&format!("the hub moves to {new} {old}")), "{told}");
    // The connection that brought the note was to one of its addresses already.
    assert!(!told.contains("the hub is at"), "{told}");
    drop(hub);
}

#[test]
fn addresses_that_cannot_be_used_are_refused() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    owner.run(&["hub", "move", "hub.example.org"]).fails(4, "endseal hub serve makes a hub");
    let hub = serve(&owner, "127.0.0.1:0");
    let peer = hub.address.split_once('@').unwrap().0.to_owned();
    owner.run(&["hub", "move", "hub.example.org:0"]).fails(2, "is no port");
    owner.run(&["hub", "move", "https://hub.example.org"]).fails(2, "is a URL");
    owner.run(&["hub", "move", "a", "b", "c", "d", "e"]).fails(2, "unexpected");
    owner.run(&["hub", "move", &"h".repeat(251)]).fails(2, "at most 255 bytes");
    let alice = Person::new("alice", &scratch);
    let at = hub.address.clone();
    alice.run(&["join", "--hub", &at]).fails(2, "registered at no hub");
    join(&owner, &hub, &alice);
    // Another hub, whose key is not that of Alice's hub.
    let other = Person { name: "other", scratch: &scratch };
    let another = serve(&other, "127.0.0.1:0");
    alice.run(&["join", "--hub", &another.address]).fails(2, "another hub");
    let wrong = format!("{peer}@{}", another.host());
    alice.run(&["join", "--hub", &wrong]).fails(1, "cannot connect");
    assert_eq!(status(&alice)["hub"], hub.host());
    // A note of another hub in the folder is not given out.
    other.run(&["hub", "move", &free_address()]).ok();
    let open =
        |name: &str| SqliteStore::open(&scratch.path(&format!("{name}/hub/hub.db"))).unwrap();
    let mut note = None;
    let read = open("other").transact(&mut |it| it.address_note().map(|found| note = found));
    read.unwrap();
    let note = note.unwrap();
    open("owner").transact(&mut |it| it.set_address_note(&note)).unwrap();
    owner.run(&["hub", "move"]).fails(4, "from another hub");
    sleep(Duration::from_secs(3));
    assert!(!alice.run(&["sync"]).ok().err.contains("the hub "));
    let log = stop(hub);
    assert!(log.contains("the address note cannot be used"), "{log}");
    owner.run(&["hub", "move", "hub.example.org"]).ok();
}

#[test]
fn a_node_that_stays_up_follows_the_hub() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    let hub = serve(&owner, "127.0.0.1:0");
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    for (person, other) in [(&alice, &bob), (&bob, &alice)] {
        person.knows(other);
        join(&owner, &hub, person);
    }
    let mut up = alice.command(&["up", "--timeout", "1s"]);
    up.stdout(Stdio::piped()).stderr(fs::File::create(scratch.path("up.log")).unwrap());
    let mut up = up.spawn().unwrap();
    // Commands reach it after this line.
    BufReader::new(up.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    wait_until("it is connected", || status(&alice)["up"] == "connected");
    let new = free_address();
    owner.run(&["hub", "move", &new]).ok();
    // A visit over the connection that is there; without it, the node asks once an hour.
    let told = sync_until_told(&alice);
    assert!(told.contains(&format!("note: the hub moves to {new}: ")), "{told}");
    stop(hub);
    let hub = serve(&owner, &new);
    wait_until("it is at the new address", || status(&alice)["hub"] == new.as_str());
    let at = format!("{}@{new}", hub.address.split_once('@').unwrap().0);
    bob.run(&["join", "--hub", &at]).ok();
    bob.run(&["say", "--now", "alice", "found you"]).ok();
    wait_until("a text", || status(&alice)["unread"] == 1);
    alice.run(&["join", "--hub", &at]).fails(3, "endseal up uses the store");
    up.kill().unwrap();
    up.wait().unwrap();
    let log = fs::read_to_string(scratch.path("up.log")).unwrap();
    for line in [format!("the hub moves to {new}: "), format!("the hub is at {new} now")] {
        assert_eq!(log.matches(&line).count(), 1, "{log}");
    }
}

#[test]
fn a_backup_from_before_the_move_is_restored_at_the_new_address() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    let hub = serve(&owner, "127.0.0.1:0");
    let alice = Person { name: "alice", scratch: &scratch };
    alice.run(&["init", "--no-passphrase"]).ok();
    join(&owner, &hub, &alice);
    let words = alice.run(&["id", "paper", "--force"]).ok().out;
    alice.run(&["backup", "alice.backup"]).ok();
    stop(hub);
    let new = free_address();
    let hub = serve(&owner, &new);
    let later = Person { name: "later", scratch: &scratch };
    let restore = |more: &[&str]| {
        let args = ["restore", "--no-passphrase", "--revoke-others", "--timeout", "2s"];
        later.feed(&[&args[..], more, &["alice.backup"]].concat(), &words)
    };
    restore(&[]).fails(3, "cannot connect");
    let other = Person { name: "other", scratch: &scratch };
    let another = serve(&other, "127.0.0.1:0");
    restore(&["--hub", &another.address]).fails(2, "the backup is not from this hub");
    restore(&["--hub", &hub.address]).ok();
    later.run(&["sync"]).ok();
    assert_eq!(status(&later)["hub"], new.as_str());
}

/// In a database that was put back, the note is that of an earlier move to the same address. Nodes
/// may have a later one, beside which they drop it.
#[test]
fn a_move_that_is_repeated_has_a_later_time() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    stop(serve(&owner, "127.0.0.1:0"));
    let told = |address: &str| {
        // The time is shown in seconds.
        sleep(Duration::from_millis(1_100));
        let note = owner.run(&["--json", "hub", "move", address]).ok().json();
        note["time"].as_str().unwrap().to_owned()
    };
    let first = told("a.example.org:4433");
    owner.run(&["hub", "backup", "hub.backup"]).ok();
    let second = told("b.example.org:4433");
    owner.run(&["hub", "restore", "hub.backup"]).ok();
    let again = told("a.example.org:4433");
    assert!(first < second && second < again, "{first} {second} {again}");
}
