//! Runs the commands of docs/recover.md: what they promise to people who lost a device.

use std::fs;
use std::process::{Command, Stdio};

use endseal_testing::Scratch;

use crate::messages::{Hub, members};
use crate::people::{PROGRAM, Person, Ran, run};

const PAGE: &str = include_str!("../../../../docs/recover.md");

/// Runs a line in a shell, as Alice. A file has the words in the place of a terminal.
fn shell(line: &str, scratch: &Scratch) -> Ran {
    let asks = ["endseal restore", "endseal recover"].iter().any(|it| line.starts_with(it));
    let line = if asks { format!("{line} < words.txt") } else { line.to_owned() };
    let line = line.replace("endseal id paper", "endseal id paper --force > words.txt");
    let folder = PROGRAM.rsplit_once('/').unwrap().0;
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(scratch.folder()).stdin(Stdio::null());
    command.env("PATH", path).env("ENDSEAL_HOME", scratch.path("alice"));
    run(command.env("ENDSEAL_PASSPHRASE", "correct horse battery staple"))
}

/// Texts that a person has not read.
fn unread(person: &Person<'_>) -> String {
    person.run(&["inbox"]).ok().text().to_owned()
}

/// The commands below a heading.
fn commands(heading: &str) -> Vec<&'static str> {
    let found = PAGE.split("\n## ").find_map(|section| section.strip_prefix(heading));
    let section = found.unwrap_or_else(|| panic!("no section '{heading}'"));
    let lines = section.lines().filter_map(|line| line.strip_prefix("    "));
    lines.map(|line| line.split_once('#').map_or(line, |(command, _)| command)).collect()
}

/// Alice and Bob with conversations and with what the first section makes.
struct Friends<'a> {
    hub: Hub<'a>,
    alice: Person<'a>,
    bob: Person<'a>,
    /// The hub as it is on the paper.
    address: String,
}

impl<'a> Friends<'a> {
    fn prepared(scratch: &'a Scratch) -> Self {
        let hub = Hub::start(scratch);
        let [alice, bob] = members(scratch, &hub);
        alice.run(&["say", "bob", "hello"]).ok();
        bob.run(&["say", "alice", "hi"]).ok();
        for person in [&alice, &bob, &alice, &bob] {
            person.run(&["sync"]).ok();
            person.run(&["inbox"]).ok();
        }
        let status = alice.run(&["--json", "status"]).ok().json();
        let text = |name: &str| status[name].as_str().unwrap().to_owned();
        let address = format!("{}@{}", text("hub_peer_id"), text("hub"));
        let friends = Self { hub, alice, bob, address };
        friends.play("Today", scratch, &[]);
        friends
    }

    /// Runs the commands below a heading. Those at the places `refused` end with 1.
    fn play(&self, heading: &str, scratch: &Scratch, refused: &[usize]) -> Vec<Ran> {
        let line = |(at, line): (usize, &str)| {
            let line = line.replace("PEERID@hub.example.org:4433", &self.address);
            let line = line.replace("endsealpq1...", &self.bob.identity_pq());
            let ran = shell(&line, scratch);
            let code = i32::from(refused.contains(&at));
            assert_eq!(ran.code, code, "{heading}: {line}: {}", ran.err);
            ran
        };
        commands(heading).into_iter().enumerate().map(line).collect()
    }

    /// Bob writes, and Alice gets it on the device that she has now.
    fn reach_alice(&self) {
        self.bob.run(&["say", "alice", "are you there?"]).ok();
        self.bob.run(&["sync"]).ok();
        self.alice.run(&["sync"]).ok();
        let read = unread(&self.alice);
        assert!(read.contains("are you there?"), "{read}");
    }
}

#[test]
fn a_backup_and_the_words_bring_everything_back() {
    let scratch = Scratch::new();
    let friends = Friends::prepared(&scratch);
    fs::remove_dir_all(scratch.path("alice")).unwrap();
    let ran = friends.play("The disk died, and there is a backup", &scratch, &[]);
    assert!(ran[2].text().contains("hello") && ran[2].text().contains("hi"), "{}", ran[2].text());
    friends.bob.run(&["sync"]).ok();
    assert!(unread(&friends.bob).ends_with("alice> back again\n"));
    friends.reach_alice();
}

#[test]
fn the_words_alone_bring_the_person_back() {
    let scratch = Scratch::new();
    let friends = Friends::prepared(&scratch);
    fs::remove_dir_all(scratch.path("alice")).unwrap();
    friends.play("The disk died, and there is no backup", &scratch, &[]);
    friends.bob.run(&["sync"]).ok();
    assert!(unread(&friends.bob).ends_with("alice> back again\n"));
    friends.reach_alice();
}

#[test]
fn a_stolen_laptop_gets_nothing_any_more() {
    let scratch = Scratch::new();
    let friends = Friends::prepared(&scratch);
    fs::rename(scratch.path("alice"), scratch.path("thief")).unwrap();
    friends.play("The laptop was stolen, and there is no other device", &scratch, &[]);
    let thief = Person { name: "thief", scratch: &scratch };
    friends.bob.run(&["say", "alice", "the door code"]).ok();
    friends.bob.run(&["sync"]).ok();
    let ran = thief.run(&["sync"]);
    assert!(ran.code == 1 && ran.err.contains("revoked"), "{}", ran.err);
    assert_eq!(unread(&thief), "");
}

#[test]
fn a_device_is_revoked_by_its_number() {
    let scratch = Scratch::new();
    let friends = Friends::prepared(&scratch);
    fs::rename(scratch.path("alice"), scratch.path("thief")).unwrap();
    let restore = "endseal restore --keep-others --device 9 alice.backup";
    assert_eq!(shell(restore, &scratch).code, 0);
    let thief = Person { name: "thief", scratch: &scratch };
    let list = thief.run(&["--json", "devices", "list"]).ok().json();
    let stolen = list["devices"][0]["device"].to_string();
    let heading = "The laptop was stolen, and there is another device";
    for line in commands(heading) {
        let ran = shell(&line.replace("revoke 7", &format!("revoke {stolen}")), &scratch);
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
    }
    let ran = thief.run(&["sync"]);
    assert!(ran.code == 1 && ran.err.contains("revoked"), "{}", ran.err);
    friends.reach_alice();
}

#[test]
fn a_directory_that_was_put_back_is_renewed() {
    let scratch = Scratch::new();
    let friends = Friends::prepared(&scratch);
    assert_eq!(shell("cp -a alice copy", &scratch).code, 0);
    friends.alice.run(&["say", "bob", "after the copy"]).ok();
    friends.alice.run(&["sync"]).ok();
    assert_eq!(shell("rm -r alice && mv copy alice", &scratch).code, 0);
    friends.play("A state directory was put back from a copy", &scratch, &[0]);
    friends.reach_alice();
}

#[test]
fn a_forgotten_passphrase_costs_nothing_but_the_device() {
    let scratch = Scratch::new();
    let friends = Friends::prepared(&scratch);
    friends.play("The passphrase is forgotten, and the words are there", &scratch, &[]);
    assert!(friends.alice.run(&["history", "bob"]).ok().text().contains("hello"));
    friends.reach_alice();
    drop(friends.hub);
}
