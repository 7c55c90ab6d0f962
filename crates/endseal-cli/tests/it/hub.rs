//! `endseal hub`, with a hub that runs.

use endseal_keyring::Invitation;
use endseal_testing::Scratch;

use crate::listener::Listener;
use crate::people::Person;

const SERVE: [&str; 5] = ["hub", "serve", "--listen", "127.0.0.1:0", "--quiet"];

#[test]
fn a_hub_is_made_served_and_looked_at() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    let invite = ["hub", "invite", "bob", "--at", "hub.example.org:4433"];
    owner.run(&invite).fails(4, "endseal hub serve makes a hub");
    owner.run(&["hub", "stats"]).fails(4, "there is no state directory");

    let hub = Listener::of(owner.command(&SERVE));
    let peer = hub.address.split_once('@').unwrap().0.to_owned();
    owner.run(&SERVE).fails(3, "the hub of this folder runs already");
    // Commands work beside a hub that runs.
    let ran = owner.run(&invite).ok();
    let invitation = Invitation::parse(ran.text().trim_end()).unwrap();
    assert_eq!(endseal_keyring::PeerIdText::from(invitation.hub()).to_string(), peer);
    assert!(invitation.addresses().eq(["hub.example.org:4433"]));
    assert!(ran.err.contains("lets 1 join within"), "{}", ran.err);
    owner.run(&["hub", "invite", "bob", "--at", "nowhere"]).fails(2, "HOST:PORT");
    let stats = owner.run(&["--json", "hub", "stats"]).ok().json();
    assert_eq!((&stats["people"], &stats["waiting"]), (&0.into(), &0.into()));
    assert_eq!(owner.run(&["hub", "check"]).ok().text(), "the database is whole\n");
    owner.run(&["hub", "backup", "copy.db"]).ok();
    owner.run(&["hub", "backup", "copy.db"]).fails(2, "exists");
    drop(hub);

    // The key and what was invited are there after a restart.
    let hub = Listener::of(owner.command(&SERVE));
    assert_eq!(hub.address.split_once('@').unwrap().0, peer);
    assert!(owner.run(&["hub", "people"]).ok().text().is_empty());
}

#[test]
fn a_damaged_database_is_found() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    drop(Listener::of(owner.command(&SERVE)));
    // The log has all pages, and would repair it.
    std::fs::remove_file(scratch.path("owner/hub/hub.db-wal")).unwrap();
    scratch.write("owner/hub/hub.db", "no database at all, and rather short for one");
    owner.run(&["hub", "check"]).fails(3, "the hub's database cannot be used");
    owner.run(&SERVE).fails(3, "the hub's database cannot be used");
}
