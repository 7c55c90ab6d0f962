//! Conversations over a hub: `hub serve`, `join`, `say`, `sync`, `inbox`, `history`, `status`.

use endseal_testing::Scratch;

use crate::listener::Listener;
use crate::people::{Person, Ran};

/// A running hub.
pub(crate) struct Hub<'a> {
    owner: Person<'a>,
    listener: Listener,
}

impl<'a> Hub<'a> {
    pub(crate) fn start(scratch: &'a Scratch) -> Self {
        Self::at(scratch, "127.0.0.1:0")
    }

    pub(crate) fn at(scratch: &'a Scratch, address: &str) -> Self {
        Self::with(scratch, address, &[])
    }

    pub(crate) fn with(scratch: &'a Scratch, address: &str, options: &[&str]) -> Self {
        let owner = Person { name: "owner", scratch };
        let serve = ["hub", "serve", "--listen", address, "--quiet"];
        let listener = Listener::of(owner.command(&[&serve, options].concat()));
        Self { owner, listener }
    }

    /// Stops it with an interrupt. Returns its address.
    pub(crate) fn stop(mut self) -> String {
        let address = self.listener.host().to_owned();
        self.listener.interrupt();
        assert_eq!(self.listener.end().0, Some(0));
        address
    }

    pub(crate) fn back_up(&self, file: &str) {
        self.owner.run(&["hub", "backup", file]).ok();
    }

    /// Restarts the hub with the database of a backup.
    pub(crate) fn restored(self, backup: &str) -> Self {
        let Self { owner, listener } = self;
        let address = listener.host().to_owned();
        drop(listener);
        let folder = owner.scratch.path("owner/hub");
        for end in ["", "-wal", "-shm"] {
            // The last two files may not exist.
            let _ = std::fs::remove_file(folder.join(format!("hub.db{end}")));
        }
        std::fs::rename(owner.scratch.path(backup), folder.join("hub.db")).unwrap();
        Self::at(owner.scratch, &address)
    }

    /// Writes an invitation for a person to the file NAME.invite.
    pub(crate) fn invite(&self, name: &str) -> String {
        let file = format!("{name}.invite");
        let invite = ["hub", "invite", name, "--at", self.listener.host(), "-o", &file];
        self.owner.run(&invite).ok();
        file
    }
}

/// Makes Alice and Bob, who have each other as contacts and have joined the hub.
pub(crate) fn members<'a>(scratch: &'a Scratch, hub: &Hub<'_>) -> [Person<'a>; 2] {
    let people = ["alice", "bob"].map(|name| Person::new(name, scratch));
    let [alice, bob] = &people;
    alice.knows(bob);
    bob.knows(alice);
    for person in &people {
        let ran = person.run(&["join", &hub.invite(person.name)]).ok();
        assert!(ran.confirmation().starts_with("this device is registered at 127.0.0.1:"));
    }
    people
}

/// Returns the lines without their times.
pub(crate) fn texts(ran: &Ran) -> Vec<&str> {
    ran.text().lines().map(|line| line.get(21..).unwrap_or(line)).collect()
}

#[test]
fn a_text_that_the_hub_deleted_is_sent_again_and_read_once() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    alice.run(&["say", "bob", "at noon"]).ok();
    alice.run(&["sync"]).ok();
    let address = hub.stop();
    std::thread::sleep(core::time::Duration::from_millis(1_100));
    let owner = Person { name: "owner", scratch: &scratch };
    owner.run(&["hub", "serve", "--retention", "0s"]).fails(2, "expected 1s to 52w");
    let hub = Hub::with(&scratch, &address, &["--retention", "1s"]);
    let ran = bob.run(&["--json", "sync"]).ok().json();
    // The welcome to the conversation, and the text.
    assert_eq!((&ran["received"], &ran["lost"]), (&0.into(), &2.into()));
    let problems = bob.run(&["--json", "inbox", "--problems"]).ok().json();
    assert_eq!(problems["problems"][0]["class"], "gap-expired");
    // The sender learns of it, and sends the text again. Without the welcome Bob cannot open it,
    // and begins the conversation anew, in which the text is sent once more.
    for person in [&alice, &bob, &alice, &bob, &alice] {
        person.run(&["sync"]).ok();
    }
    assert_eq!(texts(&bob.run(&["inbox"]).ok()), ["alice> at noon"]);
    let history = alice.run(&["--json", "history", "bob"]).ok().json();
    assert_eq!(history["delivery"], "delivered");
    drop(hub);
}

#[test]
fn a_text_that_is_kept_and_not_sent_has_an_exit_code_of_its_own() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let address = hub.stop();
    let say = ["say", "--now", "--timeout", "1s", "bob", "at noon"];
    let ran = alice.run(&say).fails(5, "did not answer in time");
    assert!(ran.err.contains("1 text for bob waits for endseal sync"), "{}", ran.err);
    assert!(ran.err.contains("do not repeat this command"), "{}", ran.err);
    let say = ["--json", "say", "--now", "--timeout", "1s", "bob", "at one"];
    let ran = alice.run(&say);
    let error: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!((&error["error"]["kind"], ran.code), (&"kept".into(), 5));
    // What is not kept has another exit code.
    alice.run(&["say", "--now", "--timeout", "1s", "bob", ""]).fails(2, "nothing was written");
    let hub = Hub::at(&scratch, &address);
    alice.run(&["sync"]).ok();
    bob.run(&["sync"]).ok();
    assert_eq!(texts(&bob.run(&["inbox"]).ok()), ["alice> at noon", "alice> at one"]);
    drop(hub);
}

#[test]
fn texts_go_over_a_hub() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let ran = alice.run(&["say", "bob", "at noon"]).ok();
    assert_eq!(ran.confirmation(), "1 text for bob waits for endseal sync");
    let ran = alice.feed(&["say", "bob", "-", "--lines"], b"one\ntwo\n").ok();
    assert_eq!(ran.confirmation(), "2 texts for bob wait for endseal sync");
    assert_eq!(alice.run(&["--json", "status"]).ok().json()["unsent"], 3);
    let shown = |person: &Person<'_>| {
        let ran = person.run(&["history", "bob"]).ok();
        texts(&ran).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let marked = |mark: &str| ["at noon", "one", "two"].map(|text| format!("me{mark}> {text}"));
    // The numbers are those that endseal unsend takes.
    let listed = alice.run(&["--json", "unsend"]).ok().json();
    let numbers = listed["unsent"].as_array().unwrap().iter().map(|row| &row["number"]);
    let rows = ["at noon", "one", "two"].iter().zip(numbers);
    let rows: Vec<_> = rows.map(|(text, no)| format!("me (not sent, {no})> {text}")).collect();
    assert_eq!(shown(&alice), rows);
    assert_eq!(alice.run(&["sync"]).ok().confirmation(), "0 received, 3 sent");
    assert_eq!(shown(&alice), marked(" (not delivered)"));
    assert_eq!(bob.run(&["sync"]).ok().confirmation(), "3 received, 0 sent");
    assert_eq!(alice.run(&["--json", "status"]).ok().json()["undelivered"], 3);
    assert_eq!(alice.run(&["sync"]).ok().confirmation(), "0 received, 0 sent");
    assert_eq!(alice.run(&["--json", "status"]).ok().json()["undelivered"], 0);
    assert_eq!(shown(&alice), marked(""));
    assert_eq!(bob.run(&["status"]).ok().text().lines().nth(2), Some("unread       3"));
    for kept in [&["inbox", "--keep"][..], &["inbox"]] {
        let ran = bob.run(kept).ok();
        assert_eq!(texts(&ran), ["alice> at noon", "alice> one", "alice> two"]);
    }
    assert_eq!(bob.run(&["inbox"]).ok().text(), "");

    bob.feed(&["say", "alice", "-"], b"a \x1b[2J line\nand another").ok();
    bob.run(&["sync"]).ok();
    assert_eq!(alice.run(&["--json", "sync"]).ok().json()["received"], 1);
    let ran = alice.run(&["--json", "inbox"]).ok().json();
    assert_eq!(
        (&ran["name"], &ran["text"]),
        (&"bob".into(), &"a \u{1b}[2J line\nand another".into())
    );
    let ran = alice.run(&["history", "bob"]).ok();
    let expected =
        ["me> at noon", "me> one", "me> two", "bob> a \u{fffd}[2J line", "    and another"];
    assert_eq!(ran.text().lines().count(), 5);
    assert!(ran.text().lines().zip(expected).all(|(line, end)| line.ends_with(end)));
    let ran = alice.run(&["history", "bob", "--search", "NOON at"]).ok();
    assert_eq!(texts(&ran), ["me> at noon"]);
    let ran = alice.run(&["history", "bob", "--search", "o", "--last", "1"]).ok();
    assert!(ran.text().contains("and another"), "{}", ran.text());
    assert_eq!(alice.run(&["inbox", "--problems"]).ok().text(), "");
}

#[test]
fn texts_go_to_a_group() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let carol = Person::new("carol", &scratch);
    carol.run(&["join", &hub.invite("carol")]).ok();
    carol.knows(&alice);
    alice.knows(&carol);
    alice.run(&["group", "create", "team", "bob", "carol"]).ok();
    // Carol gives the team another name. Bob gets the roster with the conversation.
    alice.run(&["group", "export", "team", "-o", "team.roster"]).ok();
    carol.run(&["group", "import", "team.roster", "--as", "our-team"]).ok();
    let ran = alice.run(&["say", "team", "to all"]).ok();
    assert_eq!(ran.confirmation(), "1 text for team waits for endseal sync");
    assert_eq!(alice.run(&["sync"]).ok().confirmation(), "0 received, 1 sent");
    bob.run(&["sync"]).ok();
    assert_eq!(texts(&bob.run(&["inbox"]).ok()), ["alice in team> to all"]);
    assert_eq!(carol.run(&["sync"]).ok().confirmation(), "1 received, 0 sent");
    let ran = carol.run(&["--json", "inbox"]).ok().json();
    assert_eq!((&ran["group"], &ran["name"]), (&"our-team".into(), &"alice".into()));
    carol.run(&["say", "our-team", "an answer"]).ok();
    carol.run(&["sync"]).ok();
    for person in [&alice, &bob] {
        person.run(&["sync"]).ok();
        person.run(&["inbox"]).ok();
    }
    carol.run(&["sync"]).ok();
    let history =
        |person: &Person<'_>, group| texts(&person.run(&["history", group]).ok()).join("|");
    assert_eq!(history(&alice, "team"), "me> to all|carol> an answer");
    assert_eq!(history(&carol, "our-team"), "alice> to all|me> an answer");
    assert_eq!(history(&bob, "team"), "alice> to all|carol (no contact)> an answer");
    // A removed member cannot write any more.
    alice.run(&["group", "remove", "team", "bob"]).ok();
    alice.run(&["group", "export", "team", "-o", "second.roster"]).ok();
    bob.run(&["say", "team", "still here"]).ok();
    bob.run(&["group", "import", "second.roster"]).ok();
    bob.run(&["say", "team", "again"]).fails(2, "you are no member of team");
    let ran = bob.run(&["sync"]).ok();
    assert!(ran.err.contains("you are no member of team"), "{}", ran.err);
    // A name of a contact and a group, which two concurrent commands can create.
    let eve = Person::new("eve", &scratch);
    eve.run(&["contacts", "add", "our-team", &bob.identity()]).ok();
    std::fs::copy(scratch.path("eve/contacts"), scratch.path("carol/contacts")).unwrap();
    carol.run(&["say", "our-team", "x"]).fails(2, "is a contact and a group");
}

#[test]
fn a_member_who_is_no_contact_has_the_name_of_the_roster() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let [carol, dave] = ["carol", "dave"].map(|name| Person::new(name, &scratch));
    carol.run(&["join", &hub.invite("carol")]).ok();
    carol.knows(&alice);
    alice.knows(&carol);
    alice.knows(&dave);
    alice.run(&["group", "create", "team", "bob", "carol", "dave"]).ok();
    alice.run(&["group", "export", "team", "-o", "team.roster"]).ok();
    for person in [&bob, &carol] {
        person.run(&["group", "import", "team.roster"]).ok();
    }
    carol.run(&["say", "team", "hello"]).ok();
    carol.run(&["sync"]).ok();
    bob.run(&["say", "team", "hello"]).ok();
    let ran = bob.run(&["sync"]).ok();
    assert!(ran.err.contains("note: dave (no contact) has no device at the hub\n"), "{}", ran.err);
    // A contact with the same name is another person.
    bob.run(&["contacts", "add", "carol", &dave.identity()]).ok();
    let ran = bob.run(&["inbox", "--keep"]).ok();
    assert_eq!(texts(&ran), ["carol (no contact) in team> hello"]);
    let ran = bob.run(&["--json", "inbox"]).ok().json();
    assert_eq!((&ran["name"], &ran["member_name"]), (&serde_json::Value::Null, &"carol".into()));
    let ran = bob.run(&["history", "team", "--last", "1"]).ok();
    assert_eq!(texts(&ran), ["carol (no contact)> hello"]);
}

/// Makes a team of Bob with two different second epochs, as of an owner who changes it on two
/// devices. Alice has imported one of them, and Bob has the other one.
pub(crate) fn split_team<'a>(scratch: &'a Scratch, hub: &Hub<'_>) -> [Person<'a>; 2] {
    let [alice, bob] = members(scratch, hub);
    bob.run(&["group", "create", "team", "alice"]).ok();
    bob.run(&["group", "rotate", "team"]).ok();
    bob.run(&["group", "export", "team", "-o", "team.roster"]).ok();
    alice.run(&["group", "import", "team.roster"]).ok();
    std::fs::remove_file(scratch.path("bob/groups/team/2.roster")).unwrap();
    bob.run(&["group", "rotate", "team"]).ok();
    [alice, bob]
}

/// Line in the list of problems about a text of Bob to this team, without time and class.
pub(crate) const SPLIT: &str = "bob: two devices changed a team at once, and members have either \
    roster; its owner runs endseal group rotate and endseal sync twice, where group show has the \
    highest epoch";

#[test]
fn a_problem_names_its_person_until_it_is_cleared() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = split_team(&scratch, &hub);
    bob.run(&["say", "team", "still here"]).ok();
    bob.run(&["sync"]).ok();
    let ran = alice.run(&["sync"]).ok();
    assert!(ran.err.contains("1 problem, see endseal inbox --problems"), "{}", ran.err);
    let listed = alice.run(&["inbox", "--problems"]).ok();
    assert_eq!(texts(&listed), [format!("group {SPLIT}")]);
    let ran = alice.run(&["--json", "inbox", "--problems"]).ok().json();
    let problem = &ran["problems"][0];
    assert_eq!((&problem["name"], &problem["from"]), (&"bob".into(), &bob.identity().into()));
    alice.run(&["contacts", "remove", "bob"]).ok();
    let listed = alice.run(&["inbox", "--problems", "--clear"]).ok();
    assert!(texts(&listed)[0].starts_with("group owner (no contact): two devices"));
    assert_eq!(listed.err, "1 problem forgotten\n");
    assert_eq!(alice.run(&["inbox", "--problems", "--clear"]).ok().text(), "");
    assert_eq!(alice.run(&["--json", "status"]).ok().json()["problems"], 0);
}

#[test]
fn what_cannot_be_done_is_said() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let carol = Person::new("carol", &scratch);
    carol.run(&["sync"]).fails(4, "this device is registered at no hub");
    carol.run(&["join", "bob.invite"]).fails(1, "the hub asks for an invitation");
    carol.run(&["join", "/dev/null"]).fails(2, "holds no invitation");
    for args in [&["say", "carol", "x"][..], &["history", "carol"]] {
        let ran = alice.run(args).fails(2, "'carol' is no contact and no group");
        let hint = "endseal contacts add NAME IDENTITY adds a contact, endseal group import FILE";
        assert!(ran.err.contains(hint), "{}", ran.err);
    }
    alice.run(&["say", "bob", "x", "--lines"]).fails(2, "--lines");
    alice.run(&["say", "Bob", "x"]).fails(2, "names are written in lower case");
    alice.feed(&["say", "bob", "-"], b"\xff").fails(2, "is not UTF-8");
    alice.run(&["say", &carol.identity(), "to one who is not there"]).ok();
    let ran = alice.run(&["sync"]).ok();
    assert_eq!(ran.confirmation(), "0 received, 0 sent; 1 cannot be sent now, and waits");
    assert!(ran.err.contains("has no device at the hub"), "{}", ran.err);
    // Registering again does not use up an invitation.
    alice.run(&["join", "alice.invite"]).ok();
    drop(hub);
    bob.run(&["say", "alice", "later"]).ok();
    bob.run(&["sync", "--once", "--timeout", "1s"]).fails(3, "cannot connect");
    assert_eq!(bob.run(&["--json", "status"]).ok().json()["unsent"], 1);
}

#[test]
fn a_hub_that_is_away_for_a_moment_is_tried_again() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let address = hub.listener.host().to_owned();
    drop(hub);
    alice.run(&["say", "bob", "late"]).ok();
    let mut sync = alice.command(&["sync", "--timeout", "1s"]);
    let sync = sync.stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(core::time::Duration::from_millis(1_500));
    let _hub = Hub::at(&scratch, &address);
    let ended = sync.wait_with_output().unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success(), "{told}");
    assert_eq!(told.matches("note: cannot connect").count(), 1, "{told}");
    assert_eq!(bob.run(&["sync"]).ok().confirmation(), "1 received, 0 sent");
}

#[test]
fn a_restored_store_asks_for_a_new_device() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, _bob] = members(&scratch, &hub);
    alice.run(&["store", "backup", "copy"]).ok();
    alice.run(&["say", "bob", "x"]).ok();
    alice.run(&["sync"]).ok();
    std::fs::remove_dir_all(scratch.path("alice/store")).unwrap();
    alice.run(&["store", "restore", "copy"]).ok();
    alice.run(&["sync"]).fails(1, "earlier copy");
}

#[test]
fn a_hub_that_was_restored_is_found_out() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    hub.back_up("copy.db");
    for text in ["one", "two"] {
        alice.run(&["say", "bob", text]).ok();
        alice.run(&["sync"]).ok();
        if text == "one" {
            bob.run(&["sync"]).ok();
        }
    }
    let _hub = hub.restored("copy.db");
    let ran = bob.run(&["sync"]).ok();
    assert!(ran.err.contains("the hub was restored"), "{}", ran.err);
    let ran = alice.run(&["sync"]).ok();
    assert!(ran.err.contains("the hub has lost messages that it accepted until 20"), "{}", ran.err);
    let ran = bob.run(&["inbox", "--problems"]).ok();
    assert!(ran.text().contains(" gap-restored "), "{}", ran.text());
    // Later texts arrive.
    alice.run(&["say", "bob", "three"]).ok();
    alice.run(&["sync"]).ok();
    bob.run(&["sync"]).ok();
    // The one that the hub forgot was sent again.
    assert_eq!(texts(&bob.run(&["inbox"]).ok()), ["alice> one", "alice> two", "alice> three"]);
}

#[test]
fn a_sync_without_a_hub_lets_other_commands_work() {
    let scratch = Scratch::new();
    let hub = Hub::start(&scratch);
    let [alice, bob] = members(&scratch, &hub);
    let address = hub.stop();
    alice.run(&["say", "bob", "before"]).ok();
    let mut sync = alice.command(&["sync", "--timeout", "1s"]);
    let mut sync = sync.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut told = std::io::BufReader::new(sync.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut told, &mut line).unwrap();
    assert!(line.ends_with("trying again\n"), "{line}");
    alice.run(&["status", "--wait", "0s"]).ok();
    alice.run(&["say", "bob", "meanwhile", "--wait", "0s"]).ok();
    alice.run(&["inbox", "--wait", "0s"]).ok();
    let _hub = Hub::at(&scratch, &address);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut told, &mut rest).unwrap();
    assert!(sync.wait().unwrap().success(), "{rest}");
    assert_eq!(rest, "0 received, 2 sent\n");
    bob.run(&["sync"]).ok();
    assert_eq!(texts(&bob.run(&["inbox"]).ok()), ["alice> before", "alice> meanwhile"]);
}
