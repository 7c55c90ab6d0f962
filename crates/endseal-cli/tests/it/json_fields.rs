//! Fields of `--json`: the table of docs/json.md against the output of every command.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use endseal_testing::Scratch;
use serde_json::Value;

use crate::listener::Listener;
use crate::messages::{Hub, members};
use crate::nostr_app::{App, World, template};
use crate::people::{Person, Ran, program, run};
use crate::signer::Owner;
use crate::signer_running::{Running, waiting};

const DOCUMENT: &str = include_str!("../../../../docs/json.md");

const FILES: [&str; 28] = [
    "init",
    "id show",
    "id paper",
    "id export",
    "id import",
    "id passphrase",
    "contacts add",
    "contacts remove",
    "contacts rename",
    "contacts list",
    "contacts verify",
    "group create",
    "group add",
    "group remove",
    "group rotate",
    "group rename",
    "group admin add",
    "group admin remove",
    "group owner",
    "group leave",
    "group delete",
    "group show",
    "group list",
    "group export",
    "group import",
    "seal",
    "open",
    "inspect",
];
const SESSIONS: [&str; 6] = [
    "session prune",
    "store check",
    "store backup",
    "store restore",
    "store stats",
    "store export",
];
const GROUPS: [&str; 14] = [
    "session group key-package",
    "session group create",
    "session group add",
    "session group remove",
    "session group update",
    "session group accept",
    "session group discard",
    "session group send",
    "session group receive",
    "session group inbox",
    "session group leave",
    "session group forget",
    "session group list",
    "session group members",
];
const NETWORK: [&str; 6] = ["peers add", "peers remove", "peers list", "listen", "send", "ping"];
const S3: [&str; 12] = [
    "s3 serve",
    "s3 key new",
    "s3 key rotate",
    "s3 key list",
    "s3 key remove",
    "s3 key passphrase",
    "s3 names init",
    "s3 rewrap",
    "s3 recover",
    "s3 import",
    "s3 scrub",
    "s3 clean",
];
const NOSTR: [&str; 12] = [
    "nostr key new",
    "nostr key show",
    "nostr key encrypt",
    "nostr key decrypt",
    "nostr event sign",
    "nostr event verify",
    "nostr event id",
    "nostr encrypt",
    "nostr decrypt",
    "nostr wrap",
    "nostr unwrap",
    "nostr decode",
];
const SIGNER: [&str; 23] = [
    "signer init",
    "signer import",
    "signer run",
    "signer invite",
    "signer connect",
    "signer apps",
    "signer grant",
    "signer rename",
    "signer reinvite",
    "signer revoke",
    "signer remove-key",
    "signer waiting",
    "signer approve",
    "signer deny",
    "signer explain",
    "signer log",
    "signer lock",
    "signer unlock",
    "signer passphrase",
    "signer backup",
    "signer sign-in",
    "signer sign-out",
    "signer status",
];
const HUB: [&str; 12] = [
    "hub serve",
    "hub invite",
    "hub invitations",
    "hub move",
    "hub people",
    "hub quota",
    "hub remove",
    "hub stats",
    "hub backup",
    "hub restore",
    "hub migrate",
    "hub check",
];
const MESSAGES: [&str; 21] = [
    "join",
    "say",
    "sync",
    "up",
    "inbox",
    "history",
    "unsend",
    "block",
    "unblock",
    "contacts mute",
    "contacts unmute",
    "status",
    "recover",
    "devices list",
    "devices revoke",
    "devices renew",
    "devices rename",
    "devices link",
    "devices add",
    "backup",
    "restore",
];
const OTHERS: [&str; 2] = ["man", "an error"];

/// Returns the words in backticks, without those in parentheses.
fn quoted(cell: &str) -> Vec<String> {
    let mut depth = 0;
    let outside = |c: &char| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        depth == 0
    };
    let text: String = cell.chars().filter(outside).collect();
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the documented fields of each command.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let section = DOCUMENT.split("\n## Commands\n").nth(1).unwrap();
    let section = section.split("\n#").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut table = BTreeMap::new();
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').splitn(2, " | ").collect();
        let fields: BTreeSet<_> =
            quoted(cells[1]).into_iter().filter(|field| !field.starts_with('-')).collect();
        let mut commands = quoted(cells[0]);
        if commands.is_empty() {
            commands.push(cells[0].trim().to_owned());
        }
        for command in commands {
            assert!(table.insert(command.clone(), fields.clone()).is_none(), "{command} twice");
        }
    }
    table
}

/// Collects the paths of all values in an object.
fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let below = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                paths(value, &below, found);
            }
        }
        Value::Array(values) if values.is_empty() => drop(found.insert(format!("{at}[]"))),
        Value::Array(values) => {
            values.iter().for_each(|value| paths(value, &format!("{at}[]"), found));
        }
        _ => drop(found.insert(at.to_owned())),
    }
}

/// Returns true if a documented path is that path, or a pattern for it.
fn covers(documented: &str, path: &str) -> bool {
    match documented.strip_suffix(".*") {
        Some(map) => path.strip_prefix(map).is_some_and(|rest| rest.starts_with('.')),
        None => documented == path || documented.ends_with("[]") && path.starts_with(documented),
    }
}

/// Fields of the objects that commands printed.
#[derive(Default)]
struct Seen(BTreeMap<String, BTreeSet<String>>);

impl Seen {
    fn add(&mut self, command: &str, value: &Value) {
        paths(value, "", self.0.entry(command.to_owned()).or_default());
    }

    /// Adds the lines of JSON of a command.
    fn lines(&mut self, command: &str, text: &str) {
        for line in text.lines() {
            let value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{command}: {line}"));
            self.add(command, &value);
        }
    }

    fn ran(&mut self, args: &[&str], ran: Ran) -> Ran {
        let words: Vec<_> = args.iter().filter(|it| !it.starts_with('-')).copied().collect();
        let table = table();
        let known = (1..=3.min(words.len())).rev().map(|count| words[..count].join(" "));
        let command = known.into_iter().find(|it| table.contains_key(it));
        let command = command.unwrap_or_else(|| panic!("{args:?} is not documented"));
        let text = if ran.out.is_empty() { &ran.err } else { ran.text() };
        self.lines(&command, text);
        ran
    }

    fn run(&mut self, person: &Person<'_>, args: &[&str]) -> Ran {
        let ran = person.run(&[&["--json"], args].concat()).ok();
        self.ran(args, ran)
    }

    fn feed(&mut self, person: &Person<'_>, args: &[&str], input: &[u8]) -> Ran {
        let ran = person.feed(&[&["--json"], args].concat(), input).ok();
        self.ran(args, ran)
    }

    /// Checks that the commands print exactly the documented fields.
    fn check(&self, commands: &[&str]) {
        let table = table();
        let mut wrong = Vec::new();
        for command in commands {
            let none = BTreeSet::new();
            let (fields, seen) = (&table[*command], self.0.get(*command).unwrap_or(&none));
            for path in seen {
                let is_null = fields.iter().any(|it| it.starts_with(&format!("{path}.")));
                if !is_null && !fields.iter().any(|field| covers(field, path)) {
                    wrong.push(format!("{command}: {path} is not documented"));
                }
            }
            for field in fields {
                if !seen.iter().any(|path| covers(field, path)) {
                    wrong.push(format!("{command}: {field} is not printed"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn every_row_is_compared_with_a_command() {
    let compared =
        [&FILES[..], &SESSIONS, &GROUPS, &NETWORK, &S3, &NOSTR, &SIGNER, &HUB, &MESSAGES, &OTHERS]
            .concat();
    let compared: BTreeSet<_> = compared.into_iter().map(str::to_owned).collect();
    assert_eq!(table().into_keys().collect::<BTreeSet<_>>(), compared);
}

#[test]
fn fields_of_files_and_people_are_documented() {
    let scratch = Scratch::new();
    let mut seen = Seen::default();
    let alice = Person { name: "alice", scratch: &scratch };
    seen.run(&alice, &["init", "--no-passphrase"]);
    seen.run(&alice, &["init", "--no-passphrase", "--force"]);
    seen.run(&alice, &["id", "show"]);
    seen.run(&alice, &["id", "show", "--peer"]);
    seen.run(&alice, &["id", "paper", "--force"]);
    seen.run(&alice, &["id", "export", "--secret"]);
    seen.run(&alice, &["id", "passphrase", "--no-passphrase"]);
    seen.run(&alice, &["id", "export", "--secret", "-o", "secret"]);
    let carol = Person { name: "carol", scratch: &scratch };
    seen.run(&carol, &["id", "import", "--no-passphrase", "secret"]);
    let bob = Person::new("bob", &scratch);
    seen.run(&alice, &["contacts", "add", "bob", &bob.identity_pq()]);
    seen.run(&alice, &["contacts", "rename", "bob", "robert"]);
    seen.run(&alice, &["contacts", "verify", "robert", "--confirm"]);
    seen.run(&alice, &["contacts", "list"]);
    seen.run(&alice, &["group", "create", "team", "robert"]);
    seen.run(&alice, &["group", "remove", "team", "robert"]);
    seen.run(&alice, &["group", "add", "team", "robert"]);
    seen.run(&alice, &["group", "rotate", "team"]);
    seen.run(&alice, &["group", "show", "team"]);
    seen.run(&alice, &["group", "list"]);
    seen.run(&alice, &["group", "export", "team", "-o", "roster"]);
    bob.knows(&alice);
    seen.run(&bob, &["group", "import", "roster"]);
    seen.run(&bob, &["group", "leave", "team"]);
    seen.run(&bob, &["group", "delete", "team"]);
    seen.run(&alice, &["group", "admin", "add", "team", "robert"]);
    seen.run(&alice, &["group", "admin", "remove", "team", "robert"]);
    seen.run(&alice, &["group", "rename", "team", "crew"]);
    seen.run(&alice, &["group", "owner", "crew", "robert"]);
    scratch.write("notes", "at noon");
    seen.run(&alice, &["seal", "-r", "robert", "-o", "notes.es", "notes"]);
    seen.run(&bob, &["open", "-o", "opened", "notes.es"]);
    seen.run(&bob, &["inspect", "notes.es"]);
    seen.run(&alice, &["contacts", "remove", "robert"]);
    seen.check(&FILES);
}

/// Makes persons who have each other as contacts.
fn people<'a, const N: usize>(names: [&'static str; N], scratch: &'a Scratch) -> [Person<'a>; N] {
    let people = names.map(|name| Person::new(name, scratch));
    for one in &people {
        people.iter().filter(|it| it.name != one.name).for_each(|other| one.knows(other));
    }
    people
}

#[test]
fn fields_of_sessions_are_documented() {
    let scratch = Scratch::new();
    let mut seen = Seen::default();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    alice.run(&["say", "bob", "hello"]).ok();
    alice.run(&["sync"]).ok();
    bob.run(&["sync"]).ok();
    seen.run(&bob, &["store", "export", "-o", "texts"]);
    seen.run(&bob, &["session", "prune"]);
    seen.run(&bob, &["store", "check"]);
    seen.run(&bob, &["store", "stats"]);
    seen.run(&bob, &["store", "backup", "copy"]);
    fs::remove_dir_all(scratch.path("bob/store")).unwrap();
    seen.run(&bob, &["store", "restore", "copy"]);
    seen.check(&SESSIONS);
}

#[test]
fn fields_of_groups_of_sessions_are_documented() {
    let scratch = Scratch::new();
    let mut seen = Seen::default();
    let [alice, bob, carol] = people(["alice", "bob", "carol"], &scratch);
    seen.run(&bob, &["session", "group", "key-package", "-o", "bob.package"]);
    carol.run(&["session", "group", "key-package", "-o", "carol.package"]).ok();
    let mut group = |args: &[&str]| {
        seen.run(&alice, &[&["session", "group"], args].concat());
    };
    group(&["create", "team"]);
    group(&["add", "team", "bob", "bob.package", "-o", "welcome"]);
    group(&["add", "team", "carol", "carol.package", "-o", "commit"]);
    group(&["accept", "team", "-o", "carol.welcome"]);
    group(&["update", "team", "-fo", "commit"]);
    group(&["discard", "team"]);
    group(&["remove", "team", "carol", "-fo", "commit"]);
    group(&["list"]);
    group(&["members", "team"]);
    group(&["discard", "team"]);
    scratch.write("text", "hello");
    group(&["send", "team", "text", "-o", "text.msgs"]);
    group(&["leave", "team", "-o", "leave"]);
    group(&["forget", "team", "--yes"]);
    // One welcome is from an inviter who is not a contact, and one is from a contact.
    let dave = Person::new("dave", &scratch);
    dave.knows(&bob);
    for person in [&dave, &alice] {
        bob.run(&["session", "group", "key-package", "-fo", "package"]).ok();
        person.run(&["session", "group", "create", person.name]).ok();
        person.run(&["session", "group", "add", person.name, "bob", "package", "-fo", "w"]).ok();
        let ran = bob.run(&["--json", "session", "group", "receive", "w"]);
        assert_eq!(ran.code, i32::from(person.name == "dave"), "{}", ran.err);
        seen.lines("session group receive", ran.text());
    }
    alice.run(&["session", "group", "send", "alice", "text", "-fo", "text.msgs"]).ok();
    seen.run(&bob, &["session", "group", "receive", "text.msgs"]);
    seen.run(&bob, &["session", "group", "inbox"]);
    seen.run(&bob, &["session", "group", "inbox", "-o", "inbox"]);
    seen.check(&GROUPS);
}

#[test]
fn fields_of_nostr_are_documented() {
    let scratch = Scratch::new();
    let mut seen = Seen::default();
    let alice = Person { name: "alice", scratch: &scratch };
    scratch.write("pass", "correct horse");
    seen.run(&alice, &["nostr", "key", "new", "-o", "key"]);
    seen.run(&alice, &["nostr", "key", "new"]);
    let pass = scratch.path("pass").display().to_string();
    let pass = ["--passphrase-file", &pass];
    seen.run(
        &alice,
        &[&["nostr", "key", "encrypt", "-k", "key", "-o", "sealed"], &pass[..]].concat(),
    );
    seen.run(
        &alice,
        &[&["nostr", "key", "decrypt", "-k", "sealed", "-o", "open"], &pass[..]].concat(),
    );
    for command in [["key", "encrypt", "-k", "key"], ["key", "decrypt", "-k", "sealed"]] {
        seen.run(&alice, &[&["nostr"], &command[..], &pass].concat());
    }
    let shown = seen.run(&alice, &["nostr", "key", "show", "-k", "open"]);
    let shown: Value = serde_json::from_str(shown.text()).unwrap();
    let npub = shown["npub"].as_str().unwrap();
    scratch.write("text", "at noon");
    let sign = ["nostr", "event", "sign", "-k", "key", "--kind", "1", "-o", "event", "text"];
    seen.run(&alice, &sign);
    seen.run(&alice, &["nostr", "event", "verify", "event"]);
    seen.run(&alice, &["nostr", "event", "id", "event"]);
    seen.run(&alice, &["nostr", "encrypt", "-k", "key", "--to", npub, "-o", "payload", "text"]);
    seen.run(&alice, &["nostr", "decrypt", "-k", "key", "--from", npub, "-o", "back", "payload"]);
    seen.run(&alice, &["nostr", "wrap", "-k", "key", "--to", npub, "-o", "wrap", "text"]);
    seen.run(&alice, &["nostr", "unwrap", "-k", "key", "-o", "rumor", "wrap"]);
    seen.run(&alice, &["nostr", "decode", npub]);
    seen.check(&NOSTR);
}

#[test]
fn fields_of_the_signer_are_documented() {
    let (scratch, world) = (Scratch::new(), World::new());
    let mut seen = Seen::default();
    scratch.write("pass", "correct horse\n");
    let alice = Person { name: "alice", scratch: &scratch };
    let pass = ["--passphrase-file", "pass"];
    seen.run(&alice, &[&["signer", "init", "--relay", &world.url()], &pass[..]].concat());
    let key = format!("{:064x}", 1);
    seen.feed(&alice, &[&["signer", "import"], &pass[..]].concat(), key.as_bytes());
    let change = ["signer", "passphrase", "--new-passphrase-file", "pass"];
    seen.run(&alice, &[&change, &pass[..]].concat());
    let owner = Owner(Person { name: "alice", scratch: &scratch });
    let args = ["--json", "--allow-private", "--listen", "127.0.0.1:0", "--page", "127.0.0.1:0"];
    let signer = Running::start(&owner, &args);
    seen.lines("signer run", &signer.first);
    let invite = ["signer", "invite", "mail", "--allow", "sign:1", "--rate", "9/1h"];
    let invited = seen.run(&alice, &invite).json();
    seen.run(&alice, &["signer", "grant", "mail", "--ask", "sign:4"]);
    seen.run(&alice, &["signer", "explain", "mail", "sign:4"]);
    seen.run(&alice, &["signer", "invite", "news", "-o", "url"]);
    let mut app = App::of_bunker(&world, invited["uri"].as_str().unwrap());
    App::send_unconnected(&world, invited["uri"].as_str().unwrap());
    for decision in ["approve", "deny"] {
        app.start("sign_event", &template(4));
        let found = waiting(&owner);
        seen.run(&alice, &["signer", "waiting"]);
        seen.run(&alice, &["signer", decision, &found[0]["id"].to_string()]);
    }
    let connect = ["signer", "connect", "-", "--allow-private", "--name", "blog"];
    seen.feed(&alice, &connect, App::new(&world).uri("0123456789").as_bytes());
    seen.run(&alice, &["signer", "grant", "mail", "--remove", "2"]);
    seen.run(&alice, &["signer", "apps"]);
    seen.run(&alice, &["signer", "rename", "news", "letters"]);
    seen.run(&alice, &["signer", "reinvite", "letters", "-o", "another-url"]);
    seen.run(&alice, &["signer", "reinvite", "letters"]);
    seen.run(&alice, &["signer", "revoke", "letters"]);
    seen.run(&alice, &["signer", "log"]);
    seen.run(&alice, &["signer", "log", "--verify"]);
    seen.run(&alice, &["signer", "lock"]);
    seen.run(&alice, &[&["signer", "unlock"], &pass[..]].concat());
    seen.run(&alice, &["signer", "backup", "copy"]);
    seen.run(&alice, &["signer", "sign-in"]);
    seen.run(&alice, &["signer", "sign-out"]);
    seen.run(&alice, &["signer", "invite", "far", "--relay", "ws://127.0.0.1:9"]);
    seen.run(&alice, &["signer", "status"]);
    drop(signer);
    let other = Person { name: "carol", scratch: &scratch };
    seen.run(&other, &[&["signer", "init", "--relay", &world.url()], &pass[..]].concat());
    seen.feed(&other, &[&["signer", "import"], &pass[..]].concat(), key.as_bytes());
    seen.run(&other, &[&["signer", "log", "--archive", "old"], &pass[..]].concat());
    let npub = "npub10xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqpkge6d";
    let remove = ["signer", "remove-key", npub, "--copy", "kept"];
    seen.run(&other, &[&remove, &pass[..]].concat());
    seen.check(&SIGNER);
}

#[test]
fn fields_of_the_network_are_documented() {
    let scratch = Scratch::new();
    let mut seen = Seen::default();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    seen.run(&alice, &["peers", "add", "bob", &bob.peer_id()]);
    seen.run(&alice, &["peers", "list"]);
    bob.run(&["peers", "add", "alice", &alice.peer_id()]).ok();
    let listen = ["--json", "listen", "--listen", "127.0.0.1:0", "--dir", "inbox"];
    let mut listener = Listener::of(bob.command(&listen));
    let at = listener.address.clone();
    seen.lines("listen", &listener.first);
    scratch.write("notes", "at noon");
    seen.run(&alice, &["send", &at, "notes"]);
    seen.lines("listen", &listener.line());
    for name in ["first", "second"] {
        scratch.write(name, name);
    }
    seen.run(&alice, &["send", &at, "first", "second"]);
    for _ in 0..2 {
        seen.lines("listen", &listener.line());
    }
    seen.feed(&alice, &["send", &at, "--lines"], b"hello\n");
    let message = listener.line();
    let time = serde_json::from_str::<Value>(&message).unwrap()["time"].clone();
    assert!(
        ("2024".."2200").contains(&time.as_str().unwrap()) && time.as_str().unwrap().ends_with('Z')
    );
    seen.lines("listen", &message);
    seen.lines("listen", &listener.line());
    seen.run(&alice, &["ping", &at, "--count", "3"]);
    listener.interrupt();
    seen.run(&alice, &["peers", "remove", "bob"]);
    seen.check(&NETWORK);
}

#[test]
fn fields_of_the_hub_are_documented() {
    use endseal_hub::{HubStore as _, SqliteStore};
    let scratch = Scratch::new();
    let mut seen = Seen::default();
    let owner = Person { name: "owner", scratch: &scratch };
    let serve = ["--json", "hub", "serve", "--listen", "127.0.0.1:0", "--quiet"];
    let hub = Listener::of(owner.command(&serve));
    seen.lines("hub serve", &hub.first);
    drop(hub);
    seen.run(&owner, &["hub", "invite", "bob", "--at", "hub.example.org:4433"]);
    seen.run(&owner, &["hub", "invite", "bob", "--at", "hub.example.org:4433", "-o", "bob.invite"]);
    let peer = endseal_transport::PeerId::from_bytes(&[1; 32]);
    let add = SqliteStore::open(&scratch.path("owner/hub/hub.db")).unwrap().transact(&mut |it| {
        it.put_person(&[2; 32], b"a record")?;
        it.add_device(&peer, &[2; 32], b"a certificate", "bob").map(drop)
    });
    add.unwrap();
    seen.run(&owner, &["hub", "people"]);
    seen.run(&owner, &["hub", "invitations"]);
    seen.run(&owner, &["hub", "invitations", "--revoke", "bob"]);
    seen.run(&owner, &["hub", "move", "hub.example.org"]);
    seen.run(&owner, &["hub", "quota"]);
    seen.run(&owner, &["hub", "stats"]);
    seen.run(&owner, &["hub", "backup", "copy.db"]);
    seen.run(&owner, &["hub", "check"]);
    seen.run(&owner, &["hub", "remove", "bob"]);
    seen.run(&owner, &["hub", "restore", "copy.db"]);
    seen.run(&owner, &["hub", "migrate", "owner/hub/hub.db", "other.db"]);
    seen.check(&HUB);
}

#[test]
fn fields_of_conversations_are_documented() {
    let scratch = Scratch::new();
    let mut seen = Seen::default();
    let hub = Hub::start(&scratch);
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    for (one, other) in [(&alice, &bob), (&bob, &alice)] {
        one.knows(other);
        seen.run(one, &["join", &hub.invite(one.name)]);
    }
    hub.back_up("empty.db");
    seen.run(&alice, &["say", "bob", "text"]);
    seen.run(&alice, &["sync"]);
    seen.run(&bob, &["sync"]);
    seen.run(&bob, &["inbox"]);
    seen.run(&bob, &["history", "alice"]);
    seen.run(&bob, &["history", "alice", "--delete", "--force"]);
    for command in ["block", "unblock"] {
        seen.run(&bob, &[command, "alice"]);
        seen.run(&bob, &["block"]);
    }
    seen.run(&bob, &["contacts", "mute", "alice"]);
    seen.run(&bob, &["contacts", "mute"]);
    seen.run(&bob, &["contacts", "unmute", "alice"]);
    bob.run(&["say", "alice", "oops"]).ok();
    seen.run(&bob, &["unsend"]);
    seen.run(&bob, &["unsend", "alice", "--all"]);
    seen.run(&bob, &["status"]);
    seen.lines("up", &Running::of(bob.command(&["--json", "up", "--log", "off"])).first);
    let status = alice.run(&["--json", "status"]).ok().json();
    let text = |name: &str| status[name].as_str().unwrap().to_owned();
    let address = format!("{}@{}", text("hub_peer_id"), text("hub"));
    let words = alice.run(&["id", "paper", "--force"]).ok().out;
    let phone = Person { name: "phone", scratch: &scratch };
    let args = ["--json", "devices", "link", "--no-passphrase", &address];
    let mut link = Running::of(phone.command(&args));
    seen.lines("devices link", &link.first);
    let first: Value = serde_json::from_str(&link.first).unwrap();
    scratch.write("link.txt", first["link"].as_str().unwrap());
    seen.run(&alice, &["devices", "add", "--yes", "link.txt"]);
    seen.lines("devices link", &link.line());
    seen.run(&alice, &["backup", "alice.backup"]);
    let third = Person { name: "third", scratch: &scratch };
    let restore = ["--json", "restore", "--no-passphrase", "--keep-others", "alice.backup"];
    seen.ran(&["restore"], third.feed(&restore, &words).ok());
    fs::rename(scratch.path("alice"), scratch.path("old")).unwrap();
    let recover = ["--json", "recover", "--no-passphrase", "--keep-others", &address];
    seen.ran(&["recover"], alice.feed(&recover, &words).ok());
    seen.run(&alice, &["devices", "list"]);
    let listed = alice.run(&["--json", "devices", "list"]).ok().json();
    let mut devices = listed["devices"].as_array().unwrap().iter();
    let other = devices.find(|it| it["is_this"] == false).unwrap()["device"].to_string();
    seen.run(&alice, &["devices", "revoke", &other]);
    seen.run(&alice, &["devices", "renew"]);
    let renewed = alice.run(&["--json", "devices", "list"]).ok().json();
    let number = renewed["devices"][0]["device"].to_string();
    seen.run(&alice, &["devices", "rename", &number, "laptop"]);
    let owner = Person { name: "owner", scratch: &scratch };
    let _hub = hub.restored("empty.db");
    owner.run(&["hub", "move", "hub.example.org"]).ok();
    // The hub adopts the note within a second.
    let mut told = (0..100).map(|_| seen.run(&bob, &["sync"]).json()["hub_moves"].clone());
    assert!(told.any(|it| it != Value::Array(Vec::new())));
    seen.run(&bob, &["inbox", "--problems"]);
    seen.check(&MESSAGES);
}

#[test]
fn fields_of_the_s3_proxy_are_documented() {
    let scratch = Scratch::new();
    let mut seen = Seen::default();
    scratch.write(
        "s3.toml",
        "[backend]\nfolder = \"objects\"\n[keys]\nprovider = \"ring\"\nfile = \"ring.key\"\n\
         [[client]]\naccess_key = \"A\"\nsecret_key = \"01234567890123456789\"\n",
    );
    let mut s3 = |args: &[&str], code| {
        let args = [&["s3"], args].concat();
        let ran = run(program().current_dir(scratch.folder()).arg("--json").args(&args));
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        seen.ran(&args, ran).json()
    };
    s3(&["key", "new", "ring.key"], 0);
    let keys = s3(&["key", "rotate", "ring.key"], 0);
    s3(&["key", "list", "ring.key"], 0);
    s3(&["key", "remove", "ring.key", keys["keys"][0]["id"].as_str().unwrap()], 0);
    scratch.write("word", "a long passphrase");
    s3(&["key", "passphrase", "ring.key", "--new-passphrase-file", "word"], 0);
    s3(&["key", "passphrase", "ring.key", "--no-passphrase", "--passphrase-file", "word"], 0);
    s3(&["names", "init", "names.secret"], 0);
    for command in ["rewrap", "recover", "scrub", "clean"] {
        s3(&[command, "--config", "s3.toml"], 0);
        s3(&[command, "--config", "s3.toml", "--bucket", "missing"], 1);
    }
    let bucket = scratch.folder().join("objects/buckets/mine");
    fs::create_dir_all(bucket.join("objects")).unwrap();
    fs::create_dir_all(bucket.join("uploads")).unwrap();
    s3(&["import", "mine", "--config", "s3.toml"], 0);
    s3(&["import", "missing", "--config", "s3.toml"], 1);
    fs::create_dir(scratch.folder().join("copy")).unwrap();
    scratch.write("copy/plain", "not sealed");
    s3(&["recover", "copy", "--bucket", "b", "--dir", "opened", "--config", "s3.toml"], 1);
    let mut serve = program();
    serve.current_dir(scratch.folder()).args(["s3", "serve", "--config", "s3.toml", "--json"]);
    let mut child = serve.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    seen.lines("s3 serve", &line);
    seen.check(&S3);
}

#[test]
fn fields_of_other_commands_are_documented() {
    let scratch = Scratch::new();
    let mut seen = Seen::default();
    let alice = Person { name: "alice", scratch: &scratch };
    seen.run(&alice, &["man", "pages"]);
    let error = alice.run(&["--json", "contacts", "list"]);
    assert_eq!(error.code, 4);
    seen.lines("an error", &error.err);
    seen.check(&OTHERS);
}
