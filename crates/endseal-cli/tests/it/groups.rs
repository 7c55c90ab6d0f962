//! Groups: members, epochs, and the rights of a removed member.

use endseal_testing::Scratch;

use crate::people::Person;

/// Makes the group "team" of Alice, Bob and Carol, which Alice owns.
fn team(scratch: &Scratch) -> [Person<'_>; 3] {
    let people = ["alice", "bob", "carol"].map(|name| Person::new(name, scratch));
    let [alice, bob, carol] = &people;
    for other in [bob, carol] {
        alice.knows(other);
        other.knows(alice);
    }
    let ran = alice.run(&["group", "create", "team", "bob", "carol", "--own-name", "alice"]).ok();
    assert_eq!(ran.confirmation(), "group team, epoch 1, 3 members");
    alice.run(&["group", "export", "team", "-o", "team-1"]).ok();
    people
}

#[test]
fn a_group_has_no_name_of_a_contact() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    alice.run(&["group", "create", "bob", "bob"]).fails(2, "bob is a contact");
    assert!(alice.run(&["group", "list"]).ok().text().is_empty());
    bob.knows(&alice);
    bob.run(&["group", "create", "bob", "alice"]).ok();
    bob.run(&["group", "export", "bob", "-o", "roster"]).ok();
    alice.run(&["group", "import", "roster"]).fails(2, "bob is a contact");
    alice.run(&["group", "import", "roster", "--as", "bobs"]).ok();
    bob.run(&["group", "rotate", "bob"]).ok();
    bob.run(&["group", "export", "bob", "-o", "next"]).ok();
    alice.run(&["group", "import", "next"]).ok();
}

#[test]
fn a_removed_member_opens_the_old_and_not_the_new() {
    let scratch = Scratch::new();
    let [alice, bob, carol] = team(&scratch);
    scratch.write("plain", b"for the team");
    alice.run(&["seal", "-g", "team", "-o", "first", "plain"]).ok();
    let ran = alice.run(&["group", "remove", "team", "carol"]).ok();
    assert_eq!(ran.confirmation(), "group team, epoch 2, 2 members");
    alice.run(&["seal", "-g", "team", "-o", "second", "plain"]).ok();
    for person in [&alice, &bob, &carol] {
        assert_eq!(person.run(&["open", "first"]).ok().text(), "for the team");
    }
    for person in [&alice, &bob] {
        assert_eq!(person.run(&["open", "second"]).ok().text(), "for the team");
    }
    carol.run(&["open", "second"]).fails(1, "not sealed to this identity");
}

#[test]
fn a_group_with_a_short_identity_is_not_post_quantum_and_that_is_told() {
    let scratch = Scratch::new();
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    alice.run(&["contacts", "add", "carol", &carol.identity()]).ok();
    let refused = "no post-quantum key is known of carol";
    let create = ["group", "create", "team", "bob", "carol"];
    alice.run(&[&create[..], &["--pq"]].concat()).fails(2, refused);
    let ran = alice.run(&create).ok();
    assert!(ran.err.starts_with("warning: the group's key is not sealed against quantum"));
    assert!(ran.err.contains("is not known of carol\n"), "{}", ran.err);

    alice.run(&["group", "rotate", "team", "--pq"]).fails(2, refused);
    let ran = alice.run(&["group", "remove", "team", "carol", "--pq"]).ok();
    assert!(!ran.err.contains("warning"), "{}", ran.err);
    alice.run(&["group", "add", "team", "carol", "--pq"]).fails(2, refused);
    alice.run(&["contacts", "add", "carol", &carol.identity_pq()]).ok();
    let ran = alice.run(&["group", "add", "team", "carol", "--pq"]).ok();
    assert!(!ran.err.contains("warning"), "{}", ran.err);
    assert_eq!(ran.confirmation(), "group team, epoch 3, 3 members");
}

#[test]
fn a_long_identity_that_came_after_the_roster_is_used() {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    alice.run(&["contacts", "add", "bob", &bob.identity()]).ok();
    alice.run(&["group", "create", "team", "bob"]).ok();
    scratch.write("plain", b"for the team");
    let seal = ["seal", "-g", "team", "-fo", "sealed", "plain"];
    let unknown = "no post-quantum key is known of bob";
    assert!(alice.run(&seal).ok().err.contains(unknown));
    alice.run(&["contacts", "add", "bob", &bob.identity_pq()]).ok();
    let ran = alice.run(&seal).ok();
    assert!(!ran.err.contains("post-quantum"), "{}", ran.err);
    bob.knows(&alice);
    assert_eq!(bob.run(&["open", "sealed"]).ok().text(), "for the team");
}

#[test]
fn members_take_the_roster_and_no_older_one() {
    let scratch = Scratch::new();
    let [alice, bob, carol] = team(&scratch);
    bob.run(&["group", "import", "team-1"]).ok();
    carol.run(&["group", "import", "team-1", "--as", "alices-team"]).ok();
    alice.run(&["group", "remove", "team", "carol"]).ok();
    alice.run(&["group", "export", "team", "-o", "team-2"]).ok();
    let ran = bob.run(&["group", "import", "team-2"]).ok();
    assert_eq!(ran.confirmation(), "group team, epoch 2, 2 members");
    bob.run(&["group", "import", "team-1"]).fails(1, "epoch 1 is older than epoch 2");
    bob.run(&["group", "import", "team-2"]).fails(1, "known already");
    // Bob may seal to the members, but not change them.
    let sealed = bob.feed(&["seal", "-g", "team"], b"bob to all").ok();
    assert_eq!(alice.feed(&["open"], &sealed.out).ok().text(), "bob to all");
    bob.run(&["group", "remove", "team", "alice"]).fails(2, "only the owner and the admins");
    let shown = bob.run(&["group", "show", "team"]).ok();
    assert!(shown.text().contains("owner  alice"), "{}", shown.text());
    assert!(shown.text().contains("(you)"), "{}", shown.text());
    let listed = carol.run(&["group", "list"]).ok();
    assert_eq!(listed.text(), "alices-team  epoch 1, 3 members\n");
    let again = ["group", "import", "team-1", "--as", "another"];
    carol.run(&again).fails(2, "the group is known as 'alices-team' here");
    let ran = carol.run(&["group", "import", "team-2"]).ok();
    assert_eq!(ran.confirmation(), "group alices-team, epoch 2, 2 members");
    carol.run(&["group", "import", "team-1"]).fails(1, "epoch 1 is older than epoch 2");
    // Another group with the same name.
    bob.run(&["group", "create", "team", "--own-name", "bob"]).fails(2, "already");
    bob.run(&["group", "create", "club", "alice", "--own-name", "bob"]).ok();
    bob.run(&["group", "export", "club", "-o", "club-1"]).ok();
    alice.run(&["group", "create", "club", "bob"]).ok();
    let ran = alice.run(&["group", "import", "club-1"]).fails(2, "a group 'club' already");
    assert!(ran.err.contains("hint: it is another group"), "{}", ran.err);
    alice.run(&["group", "import", "club-1", "--as", "bobs-club"]).ok();
}

#[test]
fn an_import_says_that_this_identity_is_no_member() {
    let scratch = Scratch::new();
    let [alice, bob, carol] = team(&scratch);
    let import = |person: &Person<'_>, file| person.run(&["group", "import", file]).ok().err;
    for person in [&bob, &carol] {
        assert_eq!(import(person, "team-1"), "group team, epoch 1, 3 members\n");
    }
    alice.run(&["group", "remove", "team", "carol"]).ok();
    alice.run(&["group", "export", "team", "-o", "team-2"]).ok();
    let imported = "group team, epoch 2, 2 members\n";
    assert_eq!(import(&bob, "team-2"), imported);
    let removed = "note: this identity is no member of the group any more\n";
    assert_eq!(import(&carol, "team-2"), format!("{removed}{imported}"));
    let dave = Person::new("dave", &scratch);
    dave.knows(&alice);
    let never = import(&dave, "team-2");
    assert!(never.contains("note: this identity is no member of the group\n"), "{never}");
}

#[test]
fn rosters_of_outsiders_and_changed_rosters_are_refused() {
    let scratch = Scratch::new();
    let [alice, bob, _carol] = team(&scratch);
    let dave = Person::new("dave", &scratch);
    let ran = dave.run(&["group", "import", "team-1"]).fails(1, "is not a contact");
    assert!(ran.err.contains(&alice.identity()), "{}", ran.err);
    let text = String::from_utf8(scratch.read("team-1")).unwrap();
    scratch.write("changed", text.replace("epoch 1", "epoch 2"));
    assert_eq!(bob.run(&["group", "import", "changed"]).code, 1);
    scratch.write("cut", &text[..text.len() / 2]);
    bob.run(&["group", "import", "cut"]).fails(1, "not a valid roster");
    bob.run(&["group", "import", "missing"]).fails(3, "cannot read");
    bob.run(&["group", "show", "team"]).fails(2, "there is no group 'team'");
}

#[test]
fn members_are_added_by_name_or_identity() {
    let scratch = Scratch::new();
    let [alice, _bob, _carol] = team(&scratch);
    let dave = Person::new("dave", &scratch);
    let member = format!("dave={}", dave.identity());
    alice.run(&["group", "add", "team", &member]).ok();
    let shown = alice.run(&["--json", "group", "show", "team"]).ok().json();
    assert_eq!(shown["epoch"], 2);
    assert_eq!(shown["owner"], alice.identity());
    let names: Vec<_> = shown["members"].as_array().unwrap().iter().map(|m| &m["name"]).collect();
    assert_eq!(names, ["alice", "bob", "carol", "dave"]);
    alice.run(&["group", "add", "team", &member]).fails(2, "two members have the name dave");
    let again = format!("again={}", dave.identity());
    alice.run(&["group", "add", "team", &again]).fails(2, "again and dave have the same key");
    alice.run(&["group", "add", "team", "eve"]).fails(2, "neither a contact");
    alice.run(&["group", "add", "team", &dave.identity()]).fails(2, "NAME=IDENTITY");
    alice.run(&["group", "remove", "team", "eve"]).fails(2, "eve is not a member");
    alice.run(&["group", "create", "team", "bob"]).fails(2, "there is a group 'team' already");
    assert_eq!(alice.run(&["group", "remove", "team"]).code, 2);
    let ran = alice.run(&["group", "rotate", "team"]).ok();
    assert_eq!(ran.confirmation(), "group team, epoch 3, 4 members");
}
