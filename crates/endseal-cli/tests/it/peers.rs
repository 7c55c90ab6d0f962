//! The list of machines that may connect.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use endseal_testing::Scratch;

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
