//! `endseal hub`, with a running hub.

use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use endseal_keyring::Invitation;
use endseal_testing::Scratch;
use serde_json::Value;

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
    // Commands work while the hub is running.
    let ran = owner.run(&invite).ok();
    let invitation = Invitation::parse(ran.text().trim_end()).unwrap();
    assert_eq!(endseal_keyring::PeerIdText::from(invitation.hub()).to_string(), peer);
    assert!(invitation.addresses().eq(["hub.example.org:4433"]));
    assert!(ran.err.contains("lets 1 join within"), "{}", ran.err);
    owner.run(&["hub", "invite", "bob", "--at", "nowhere:"]).fails(2, "is no port");
    let url = ["hub", "invite", "bob", "--at", "https://hub.example.org:4433"];
    owner.run(&url).fails(2, "is a URL: leave https:// and the path away");
    let scoped = ["hub", "invite", "bob", "--at", "[fe80::1%eth0]:4433", "--at", "hub.example.org"];
    let invitation = Invitation::parse(owner.run(&scoped).ok().text().trim_end()).unwrap();
    assert!(invitation.addresses().eq(["[fe80::1%eth0]:4433", "hub.example.org:4433"]));
    let stats = owner.run(&["--json", "hub", "stats"]).ok().json();
    assert_eq!((&stats["people"], &stats["waiting"]), (&0.into(), &0.into()));
    assert_eq!(owner.run(&["hub", "check"]).ok().text(), "the database is whole\n");
    owner.run(&["hub", "backup", "copy.db"]).ok();
    owner.run(&["hub", "backup", "copy.db"]).fails(2, "exists");
    drop(hub);

    // The key and the invitations are still there after a restart.
    let hub = Listener::of(owner.command(&SERVE));
    assert_eq!(hub.address.split_once('@').unwrap().0, peer);
    assert!(owner.run(&["hub", "people"]).ok().text().is_empty());
}

#[test]
fn no_hub_is_made_where_another_one_serves() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    let hub = Listener::of(owner.command(&SERVE));
    let other = Person { name: "other", scratch: &scratch };
    other.run(&["hub", "serve", "--listen", hub.host()]).fails(3, "cannot use");
    assert!(!scratch.path("other/hub").exists());
}

#[test]
fn a_hub_logs_which_devices_register() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    let mut hub = Listener::of(owner.command(&SERVE[..4]));
    let alice = Person::new("alice", &scratch);
    owner.run(&["hub", "invite", "alice", "--at", hub.host(), "-o", "alice.invite"]).ok();
    alice.run(&["join", "alice.invite"]).ok();
    // The command is repeated as if the answer had been lost. The device is registered once.
    alice.run(&["join", "alice.invite"]).ok();
    hub.interrupt();
    let (_, _, log) = hub.end();
    let lines: Vec<Value> = log.lines().filter_map(|it| serde_json::from_str(it).ok()).collect();
    let [registered] = &lines[..] else { panic!("{log}") };
    assert_eq!(registered["message"], "a device registered");
    assert!(registered["device"].as_str().unwrap().starts_with("endsealpeer1"), "{log}");
}

#[test]
fn a_damaged_database_is_found() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    drop(Listener::of(owner.command(&SERVE)));
    // The log has all pages, and would repair the damage.
    std::fs::remove_file(scratch.path("owner/hub/hub.db-wal")).unwrap();
    scratch.write("owner/hub/hub.db", "no database at all, and rather short for one");
    owner.run(&["hub", "check"]).fails(3, "the hub's database cannot be used");
    owner.run(&SERVE).fails(3, "the hub's database cannot be used");
}

/// Requests a page, and returns the answer.
pub(crate) fn page(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_hub_says_where_its_metrics_are_and_keeps_to_its_rate() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    let with = ["--metrics", "127.0.0.1:0", "--rate", "1"];
    let mut hub = Listener::of(owner.command(&[&SERVE[..], &with].concat()));
    let line = hub.line();
    let url = line.strip_prefix("metrics at ").unwrap();
    assert!(page(&url.replace("metrics", "healthz")).starts_with("HTTP/1.1 200 OK\r\n"));

    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    for (one, other) in [(&alice, &bob), (&bob, &alice)] {
        one.knows(other);
        let file = format!("{}.invite", one.name);
        owner.run(&["hub", "invite", one.name, "--at", hub.host(), "-o", &file]).ok();
        one.run(&["join", &file]).ok();
    }
    // More than may be sent at once: the key packages of Alice and the commit that begins the
    // conversation have taken some 50 of 1,024 frames.
    let lines = "text\n".repeat(990);
    alice.feed(&["say", "bob", "-", "--lines"], lines.as_bytes()).ok();
    assert_eq!(alice.run(&["--json", "sync"]).ok().json()["sent"], 990);
    let text = page(url);
    let refused = text.lines().find_map(|it| it.split_once("refusals_total{code=\"rate\"} "));
    assert!(refused.unwrap().1.parse::<u64>().unwrap() >= 1, "{text}");
    // The first one is the welcome.
    assert!(text.contains("\nendseal_hub_waiting_frames 991\n"), "{text}");

    let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let other = Person { name: "other", scratch: &scratch };
    let taken = [&SERVE[..], &["--metrics", address]].concat();
    other.run(&taken).fails(3, "cannot listen at");
    owner.run(&[&SERVE[..], &["--rate", "0"]].concat()).fails(2, "--rate");
    hub.interrupt();
    assert_eq!(hub.end().0, Some(0));
    assert!(TcpStream::connect(address).is_err(), "it listens no more");
}

/// Starts a hub with two people who know each other.
fn hub_of<'a>(scratch: &'a Scratch) -> (Listener, Person<'a>, [Person<'a>; 2]) {
    let owner = Person { name: "owner", scratch };
    let hub = Listener::of(owner.command(&SERVE));
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, scratch));
    for (one, other) in [(&alice, &bob), (&bob, &alice)] {
        one.knows(other);
        join(&owner, &hub, one);
    }
    (hub, owner, [alice, bob])
}

fn join(owner: &Person<'_>, hub: &Listener, person: &Person<'_>) {
    let file = format!("{}.invite", person.name);
    owner.run(&["hub", "invite", person.name, "--at", hub.host(), "-o", &file]).ok();
    person.run(&["join", &file]).ok();
}

#[test]
fn a_person_is_put_out_and_comes_back_with_an_invitation_alone() {
    let scratch = Scratch::new();
    let (hub, owner, [alice, bob]) = hub_of(&scratch);
    let people = owner.run(&["hub", "people"]).ok();
    assert!(people.text().contains("bob  endseal1"), "{}", people.text());
    alice.run(&["say", "bob", "waits"]).ok();
    alice.run(&["sync"]).ok();
    let removed = owner.run(&["--json", "hub", "remove", "bob"]).ok().json();
    assert_eq!(removed["devices"], 1);
    bob.run(&["sync"]).fails(1, "revoked");
    owner.run(&["hub", "remove", "carol"]).fails(1, "no one has joined as 'carol'");
    // New keys do not suffice.
    bob.run(&["devices", "renew"]).fails(1, "");
    // The hub deletes what waits within a second.
    let begin = Instant::now();
    loop {
        let people = owner.run(&["--json", "hub", "people"]).ok().json();
        let rows = people["devices"].as_array().unwrap();
        let of_bob = rows.iter().find(|row| row["invitation"] == "bob").unwrap();
        assert_eq!(of_bob["state"], "revoked");
        if of_bob["waiting"] == 0 {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "{of_bob}");
    }
    drop(hub);
}

#[test]
fn invitations_are_listed_and_revoked() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    let hub = Listener::of(owner.command(&SERVE));
    owner
        .run(&["hub", "invite", "bob", "--at", hub.host(), "--uses", "3", "-o", "bob.invite"])
        .ok();
    let bob = Person::new("bob", &scratch);
    bob.run(&["join", "bob.invite"]).ok();
    let listed = owner.run(&["--json", "hub", "invitations"]).ok().json();
    assert_eq!(
        (&listed["invitations"][0]["name"], &listed["invitations"][0]["uses"]),
        (&"bob".into(), &2.into())
    );
    owner.run(&["hub", "invitations", "--revoke", "bob"]).ok();
    owner.run(&["hub", "invitations", "--revoke", "bob"]).fails(1, "there is no invitation 'bob'");
    assert_eq!(owner.run(&["hub", "invitations"]).ok().text(), "");
    Person::new("carol", &scratch).run(&["join", "bob.invite"]).fails(1, "asks for an invitation");
}

#[test]
fn a_hub_that_was_put_back_gives_nothing_out_twice() {
    let scratch = Scratch::new();
    let (hub, owner, [alice, bob]) = hub_of(&scratch);
    owner.run(&["hub", "invite", "carol", "--at", hub.host(), "-o", "carol.invite"]).ok();
    owner.run(&["hub", "backup", "copy.db"]).ok();
    let carol = Person::new("carol", &scratch);
    carol.run(&["join", "carol.invite"]).ok();
    alice.run(&["say", "bob", "after the copy"]).ok();
    alice.run(&["sync"]).ok();
    owner.run(&["hub", "restore", "copy.db"]).fails(3, "the hub of this folder runs already");
    drop(hub);
    owner.scratch.write("no.db", "something else");
    owner.run(&["hub", "restore", "no.db"]).fails(1, "is no backup of a hub");
    // The log beside the file has what was written last.
    std::fs::write(scratch.path("empty.db"), b"").unwrap();
    owner.run(&["hub", "restore", "empty.db"]).fails(1, "is no backup of a hub");
    let other = Person { name: "other", scratch: &scratch };
    drop(Listener::of(other.command(&SERVE)));
    other.run(&["hub", "backup", "other.db"]).ok();
    owner.run(&["hub", "restore", "other.db"]).fails(1, "another key");
    let restored = owner.run(&["--json", "hub", "restore", "copy.db"]).ok().json();
    assert!(scratch.path("owner/hub/hub.db.old-1").exists());
    assert_eq!((&restored["devices"], &restored["dropped_invitations"]), (&2.into(), &1.into()));
    // Each device has published 20 key packages, and one of last resort, which stays.
    assert_eq!(restored["dropped_prekeys"], 40);
    let hub = Listener::of(owner.command(&[
        "hub",
        "serve",
        "--listen",
        hub_address(&alice).as_str(),
        "--quiet",
    ]));
    // What the hub forgot is sent again, and what was used is used.
    carol.run(&["sync"]).fails(1, "not registered");
    Person::new("mallory", &scratch)
        .run(&["join", "carol.invite"])
        .fails(1, "asks for an invitation");
    for person in [&alice, &bob, &alice, &bob] {
        person.run(&["sync"]).ok();
    }
    assert!(bob.run(&["inbox"]).ok().text().contains("after the copy"));
    drop(hub);
    // A folder that lost its database is not a new hub.
    std::fs::remove_file(scratch.path("owner/hub/hub.db")).unwrap();
    owner.run(&SERVE).fails(4, "endseal hub restore");
    owner.run(&["hub", "check"]).fails(4, "there is no file");
}

/// The address of a person's hub.
fn hub_address(person: &Person<'_>) -> String {
    let status = person.run(&["--json", "status"]).ok().json();
    status["hub"].as_str().unwrap().to_owned()
}

#[test]
fn a_person_gets_another_limit_and_the_operator_sees_what_is_used() {
    let scratch = Scratch::new();
    let (hub, owner, [alice, bob]) = hub_of(&scratch);
    let of = |name: &str| {
        let listed = owner.run(&["--json", "hub", "quota"]).ok().json();
        let rows = listed["people"].as_array().unwrap();
        assert_eq!(rows.len(), 2);
        rows.iter().find(|row| row["invitation"] == name).unwrap().clone()
    };
    assert_eq!((&of("bob")["from"], &of("bob")["from_limit"]), (&0.into(), &Value::Null));
    let ran = owner.run(&["hub", "quota", "alice", "--from", "2"]).ok();
    assert!(ran.text().contains("from  0 bytes, of 2097152\n"), "{}", ran.text());
    assert!(ran.text().contains("for   0 bytes, of 268435456, as for all\n"), "{}", ran.text());
    // By identity, and one limit after the other.
    owner.run(&["hub", "quota", &alice.identity(), "--for", "8"]).ok();
    let row = of("alice");
    assert_eq!((&row["from_limit"], &row["for_limit"]), (&(2 << 20).into(), &(8 << 20).into()));
    // The hub adopts them within a second.
    std::thread::sleep(Duration::from_secs(3));
    let text = "x".repeat(799_000);
    for _ in 0..4 {
        alice.feed(&["say", "bob", "-"], text.as_bytes()).ok();
    }
    // Three texts are more than 2 MiB: the fourth waits at Alice's, who learns why.
    alice.run(&["sync", "--once"]).fails(3, "the hub has no space left for you");
    // The third as well, if the visit ended before the hub had confirmed it.
    assert!(alice.run(&["--json", "status"]).ok().json()["waiting"].as_u64().unwrap() > 0);
    assert!(of("alice")["from"].as_u64().unwrap() > 2 << 20);
    assert!(of("bob")["for"].as_u64().unwrap() > 2 << 20);
    bob.run(&["sync"]).ok();
    alice.run(&["sync"]).ok();
    bob.run(&["sync"]).ok();
    assert_eq!(of("alice")["from"], 0);

    let peer = bob.peer_id();
    assert!(owner.run(&["hub", "quota", &peer]).ok().text().starts_with("bob  endseal1"));
    owner.run(&["hub", "quota", "alice", "--unset"]).ok();
    assert_eq!(
        (&of("alice")["from_limit"], &of("alice")["for_limit"]),
        (&Value::Null, &Value::Null)
    );
    owner.run(&["hub", "quota", "carol", "--from", "2"]).fails(1, "no one has joined as 'carol'");
    owner.run(&["hub", "quota", "bob", "--from", "0"]).fails(2, "--from");
    owner.run(&["hub", "quota", "bob", "--for", "3"]).fails(2, "--for");
    owner.run(&["hub", "quota", "--from", "2"]).fails(2, "required");
    drop(hub);
}

/// In a database that was copied to another one, nothing is changed: no node would learn of it.
#[test]
fn commands_refuse_a_database_that_was_moved() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    drop(Listener::of(owner.command(&SERVE)));
    owner.run(&["hub", "migrate", "owner/hub/hub.db", "other.db"]).ok();
    let invite = ["hub", "invite", "bob", "--at", "hub.example.org"];
    for command in [&invite[..], &["hub", "people"], &["hub", "check"], &SERVE] {
        owner.run(command).fails(4, "it was moved to another database");
    }
}

/// A symbolic link leads to the file of a hub that serves. The hub would go on and confirm texts
/// that are not in the copy.
#[test]
fn a_database_behind_a_symbolic_link_is_not_moved_while_its_hub_serves() {
    let scratch = Scratch::new();
    let owner = Person { name: "owner", scratch: &scratch };
    let hub = Listener::of(owner.command(&SERVE));
    std::fs::create_dir(scratch.path("elsewhere")).unwrap();
    let link = scratch.path("elsewhere/hub.db");
    std::os::unix::fs::symlink(scratch.path("owner/hub/hub.db"), link).unwrap();
    for from in ["owner/hub/hub.db", "elsewhere/hub.db"] {
        let ran = owner.run(&["hub", "migrate", from, "other.db"]);
        ran.fails(3, "the hub of this folder runs already");
    }
    drop(hub);
    owner.run(&["hub", "migrate", "elsewhere/hub.db", "other.db"]).ok();
}
