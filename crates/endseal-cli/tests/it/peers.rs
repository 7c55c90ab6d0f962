//! The list of machines that may connect.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use endseal_testing::Scratch;

use crate::listener::Listener;
use crate::people::Person;

#[test]
fn peers_are_added_listed_replaced_and_removed() {
    let scratch = Scratch::new();
    let alice = Person::new("alice", &scratch);
    let [bob, carol] = ["bob", "carol"].map(|name| Person::new(name, &scratch).peer_id());
    assert!(bob.starts_with("endsealpeer1") && bob != carol);
    assert_eq!(alice.run(&["peers", "list"]).ok().text(), "");
    alice.run(&["peers", "add", "bob", &bob]).ok();
    alice.run(&["peers", "add", "bob", &carol]).fails(2, "the name is there already");
    alice.run(&["peers", "add", "robert", &bob]).fails(2, "it is there already, as bob");
    alice.run(&["peers", "add", "-f", "bob", &carol]).ok();
    alice.run(&["peers", "add", "alice", &bob]).ok();
    assert_eq!(
        alice.run(&["peers", "list"]).ok().text(),
        format!("alice  {bob}\nbob    {carol}\n")
    );
    let listed = alice.run(&["--json", "peers", "list"]).ok().json();
    assert_eq!(listed["peers"][1]["peer_id"], carol);
    alice.run(&["peers", "remove", "alice"]).ok();
    alice.run(&["peers", "remove", "alice"]).fails(2, "no entry of that name");
}

#[test]
fn what_is_no_peer_id_is_refused() {
    let scratch = Scratch::new();
    let alice = Person::new("alice", &scratch);
    let identity = alice.identity();
    let ran = alice.run(&["peers", "add", "bob", &identity]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("that is a public identity, not a peer id"), "{}", ran.err);
    let list = scratch.write("alice/peers", "bob\n");
    fs::set_permissions(list, Permissions::from_mode(0o600)).unwrap();
    alice.run(&["peers", "list"]).fails(4, "line 1: expected a name, a space and a peer id");
}

#[test]
fn a_running_listener_knows_peers_that_are_added_and_removed() {
    let scratch = Scratch::new();
    let [alice, bob] = Person::two_peers(&scratch);
    let carol = Person::new("carol", &scratch);
    scratch.write("text", "hello");
    let mut listener = Listener::start(&bob, &["--dir", "inbox"]);
    let at = listener.address.clone();
    carol.run(&["send", &at, "text"]).fails(1, "endseal peers add NAME PEERID");
    bob.run(&["peers", "add", "carol", &carol.peer_id()]).ok();
    carol.run(&["send", &at, "text", "--name", "one"]).ok();
    assert_eq!(listener.line(), "carol sent inbox/one (5 bytes)");
    bob.run(&["peers", "remove", "carol"]).ok();
    carol.run(&["send", &at, "text", "--name", "two"]).fails(1, "must know you");
    // A list that cannot be read leaves the last one in force.
    fs::write(scratch.path("bob/peers"), "damaged\n").unwrap();
    alice.run(&["send", &at, "text", "--name", "three"]).ok();
    assert_eq!(listener.line(), "alice sent inbox/three (5 bytes)");
    carol.run(&["send", &at, "text", "--name", "four"]).fails(1, "must know you");
}

#[test]
fn an_address_that_others_cannot_use_is_not_printed_alone() {
    let scratch = Scratch::new();
    let [_, bob] = Person::two_peers(&scratch);
    let owner = Person { name: "owner", scratch: &scratch };
    let listen = ["listen", "--listen", "0.0.0.0:0", "--dir", "inbox"];
    for (person, command) in
        [(&bob, &listen[..]), (&owner, &["hub", "serve", "--listen", "0.0.0.0:0"])]
    {
        let mut running = Listener::of(person.command(command));
        let host: core::net::SocketAddr = running.host().parse().unwrap();
        running.interrupt();
        let (_, _, notes) = running.end();
        assert!(notes.contains("note: it listens on all addresses of this machine"), "{notes}");
        // A machine without a network has no better address.
        let shown = format!("{} is the one in its network", host.ip());
        assert!(host.ip().is_unspecified() || notes.contains(&shown), "{host}: {notes}");
    }
    let args = [&["--json"], &listen[..]].concat();
    let running = Listener::of(bob.command(&args));
    assert!(running.host().starts_with("0.0.0.0:"), "{}", running.first);
}
