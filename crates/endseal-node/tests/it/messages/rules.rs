//! Rules about persons, which all devices of a person have.

use core::num::NonZeroU32;

use endseal_keyring::person::PersonChanges;
use endseal_node::messages::{
    Conversation, PersonRules, accept, block, person_rules, set_muted, set_verified, status,
    unblock,
};
use endseal_session::EngineError;

use super::intruders::groups_of;
use super::teams::{group, second_device, texts, write};
use super::world::{People, Person, World};

/// Alice, and a person with two devices who does not know her.
async fn outsiders(world: &World) -> (Person, Person, Person) {
    let alice = world.member("alice").await;
    let mut bob = world.member("bob").await;
    let mut second = second_device(world, &bob, "bob second");
    second.join(world).await;
    bob.record = second.record.clone();
    (bob.people, second.people) = (People::default(), People::default());
    (alice, bob, second)
}

async fn visit(world: &World, people: &mut [&mut Person]) {
    for person in people {
        person.sync(world).await;
    }
}

fn rules(person: &mut Person) -> Vec<PersonRules> {
    person_rules(&mut person.engine).unwrap()
}

fn waiting(person: &mut Person) -> u64 {
    status(&mut person.engine).unwrap().requests
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_blocked_on_one_device_is_blocked_on_all() {
    let world = World::new();
    let (mut alice, mut bob, mut second) = outsiders(&world).await;
    alice.say(&bob.identity, "first");
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    assert_eq!((waiting(&mut bob), waiting(&mut second)), (1, 1));
    assert_eq!(block(&mut bob.engine, &alice.identity).unwrap(), 1);
    visit(&world, &mut [&mut bob, &mut second]).await;
    assert_eq!(waiting(&mut second), 0);
    alice.say(&bob.identity, "while blocked");
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    for device in [&mut bob, &mut second] {
        assert_eq!((waiting(device), texts(device)), (0, Vec::new()));
        assert!(rules(device)[0].blocked.is_some());
        assert_eq!(rules(device)[0].dropped, 1);
    }
    // Both know the same, so that nothing more is sent, but once a day.
    visit(&world, &mut [&mut bob, &mut second]).await;
    for device in [&mut bob, &mut second] {
        let report = device.sync(&world).await;
        assert_eq!((report.received, report.receipts), (0, 0), "{report:?}");
    }
    assert_eq!(unblock(&mut second.engine, &alice.identity).unwrap(), Some(1));
    visit(&world, &mut [&mut second, &mut bob]).await;
    assert_eq!(rules(&mut bob), []);
    alice.say(&bob.identity, "later");
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    assert_eq!((waiting(&mut bob), waiting(&mut second)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_accepted_on_one_device_is_accepted_on_all() {
    let world = World::new();
    let (mut alice, mut bob, mut second) = outsiders(&world).await;
    alice.say(&bob.identity, "one");
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    accept(&mut bob.engine, &bob.home, &alice.identity).unwrap();
    visit(&world, &mut [&mut bob, &mut second]).await;
    assert_eq!((waiting(&mut second), texts(&mut second)), (0, vec!["one".to_owned()]));
    // What was accepted by a new contact, too.
    let mut carol = world.member("carol").await;
    carol.say(&bob.identity, "two");
    visit(&world, &mut [&mut carol, &mut bob, &mut second]).await;
    second.knows(&carol, "carol");
    visit(&world, &mut [&mut second, &mut bob]).await;
    // The first one was read on the second device.
    assert_eq!(texts(&mut bob), ["two"]);
}

/// A contact of one device is known to the others, and so are the teams of that contact.
#[tokio::test(flavor = "multi_thread")]
async fn a_contact_of_one_device_is_accepted_on_all() {
    let world = World::new();
    let (mut alice, mut bob, mut second) = outsiders(&world).await;
    bob.knows(&alice, "alice");
    visit(&world, &mut [&mut bob, &mut second]).await;
    alice.say(&bob.identity, "hello");
    let team = *group(&mut [&mut alice], &[&bob]).id();
    write(&mut alice, &team, "to all");
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    for device in [&mut bob, &mut second] {
        let mut shown = texts(device);
        shown.sort_unstable();
        assert_eq!((waiting(device), shown), (0, vec!["hello".to_owned(), "to all".to_owned()]));
    }
    // Blocking is stronger than the list of contacts.
    block(&mut second.engine, &alice.identity).unwrap();
    visit(&world, &mut [&mut second, &mut bob]).await;
    second.sync(&world).await;
    assert!(rules(&mut bob)[0].blocked.is_some());
    unblock(&mut second.engine, &alice.identity).unwrap();
    visit(&world, &mut [&mut second, &mut bob]).await;
    second.sync(&world).await;
    alice.say(&bob.identity, "again");
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    // It is a contact here, and a request there, where the user ended the block.
    assert_eq!((texts(&mut bob), waiting(&mut second)), (vec!["again".to_owned()], 1));
}

/// The team of a person is hidden until a note says that the person is accepted. No text behind the
/// note is lost, although more come than wait of a hidden team.
#[tokio::test(flavor = "multi_thread")]
async fn texts_of_a_team_behind_a_rule_are_shown() {
    let world = World::new();
    let (mut alice, mut bob, mut second) = outsiders(&world).await;
    let team = *group(&mut [&mut alice], &[&bob]).id();
    write(&mut alice, &team, "first");
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    bob.knows(&alice, "alice");
    bob.sync(&world).await;
    let all: Vec<_> = (0..150).map(|number| format!("text {number}")).collect();
    for text in &all {
        write(&mut alice, &team, text);
    }
    alice.sync(&world).await;
    // The note and all texts come in one visit.
    let report = second.sync(&world).await;
    assert!(report.no_room.is_empty() && report.teams.is_empty(), "{report:?}");
    let expected: Vec<_> = core::iter::once("first".to_owned()).chain(all).collect();
    assert_eq!(texts(&mut second), expected);
}

/// A contact is no decision of now: what the user decided before stays so.
#[tokio::test(flavor = "multi_thread")]
async fn a_contact_from_before_changes_no_decision() {
    let world = World::new();
    let (mut alice, mut bob, mut second) = outsiders(&world).await;
    alice.say(&bob.identity, "one");
    let team = *group(&mut [&mut alice], &[&bob]).id();
    write(&mut alice, &team, "to all");
    visit(&world, &mut [&mut alice, &mut bob]).await;
    // Put out on one device, while the other one, which is away, has the person as a contact.
    block(&mut bob.engine, &alice.identity).unwrap();
    unblock(&mut bob.engine, &alice.identity).unwrap();
    second.knows(&alice, "alice");
    visit(&world, &mut [&mut second, &mut bob]).await;
    visit(&world, &mut [&mut second, &mut bob]).await;
    alice.say(&bob.identity, "two");
    visit(&world, &mut [&mut alice, &mut bob]).await;
    assert_eq!((texts(&mut bob), waiting(&mut bob)), (Vec::new(), 1));
    // A blocked owner shows no team, whatever list has the owner.
    block(&mut bob.engine, &alice.identity).unwrap();
    visit(&world, &mut [&mut second, &mut bob]).await;
    write(&mut alice, &team, "again");
    visit(&world, &mut [&mut alice, &mut bob]).await;
    assert_eq!(texts(&mut bob), [""; 0]);
    assert!(rules(&mut bob)[0].blocked.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_rules_of_the_same_time_hold_both() {
    let world = World::new();
    let (mut alice, mut bob, mut second) = outsiders(&world).await;
    alice.say(&bob.identity, "text");
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    set_muted(&mut bob.engine, &alice.identity, true).unwrap();
    set_verified(&mut second.engine, &alice.identity, true).unwrap();
    block(&mut bob.engine, &alice.identity).unwrap();
    accept(&mut second.engine, &second.home, &alice.identity).unwrap();
    for _ in 0..2 {
        visit(&world, &mut [&mut bob, &mut second]).await;
    }
    for device in [&mut bob, &mut second] {
        let rules = rules(device)[0];
        assert!(rules.is_muted && rules.is_verified && rules.blocked.is_some(), "{rules:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_device_gets_the_rules() {
    let world = World::new();
    let mut bob = world.member("bob").await;
    let mut alice = world.member("alice").await;
    bob.people = People::default();
    alice.say(&bob.identity, "text");
    visit(&world, &mut [&mut alice, &mut bob]).await;
    block(&mut bob.engine, &alice.identity).unwrap();
    bob.sync(&world).await;
    let mut second = second_device(&world, &bob, "bob second");
    second.join(&world).await;
    bob.record = second.record.clone();
    // There is a group for them with the first conversation.
    let mut carol = world.member("carol").await;
    bob.say(&carol.identity, "hello");
    for _ in 0..2 {
        visit(&world, &mut [&mut bob, &mut second, &mut carol]).await;
    }
    assert_eq!(rules(&mut second).len(), 1);
    assert!(rules(&mut second)[0].blocked.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_device_makes_no_rules() {
    let world = World::new();
    let (mut alice, mut bob, mut second) = outsiders(&world).await;
    alice.say(&bob.identity, "text");
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    // Its note waits at the hub when it is revoked.
    block(&mut second.engine, &alice.identity).unwrap();
    second.sync(&world).await;
    let mut changes = PersonChanges::new();
    changes.remove(NonZeroU32::new(2).unwrap());
    bob.record = bob.record.next_epoch(&bob.root, &changes).unwrap();
    visit(&world, &mut [&mut bob, &mut alice]).await;
    assert_eq!(rules(&mut bob).iter().filter(|it| it.blocked.is_some()).count(), 0);
    assert_eq!(waiting(&mut bob), 1);
}

/// A note that was due when a device got new keys is dropped with the others.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_answers_other_rules_than_it_has() {
    const DUE: u16 = 9;
    let world = World::new();
    let (mut alice, mut bob, mut second) = outsiders(&world).await;
    alice.say(&bob.identity, "text");
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    block(&mut second.engine, &alice.identity).unwrap();
    let dropped = second.engine.transaction(|it| {
        let due = it.records_after(DUE, &[], 64)?;
        for (name, _) in &due {
            it.remove_record(DUE, name)?;
        }
        Ok::<_, EngineError>(due.len())
    });
    assert_ne!(dropped.unwrap(), 0);
    set_muted(&mut bob.engine, &alice.identity, true).unwrap();
    for _ in 0..2 {
        visit(&world, &mut [&mut bob, &mut second]).await;
    }
    for device in [&mut bob, &mut second] {
        let rules = rules(device)[0];
        assert!(rules.is_muted && rules.blocked.is_some(), "{rules:?}");
    }
}

/// The other device makes one visit, in which the rule and what follows it arrive.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_holds_for_the_texts_behind_it() {
    let world = World::new();
    let (mut alice, mut bob, mut second) = outsiders(&world).await;
    for text in ["one", "two"] {
        alice.say(&bob.identity, text);
    }
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    accept(&mut bob.engine, &bob.home, &alice.identity).unwrap();
    bob.sync(&world).await;
    for number in 0..110 {
        alice.say(&bob.identity, &number.to_string());
    }
    alice.sync(&world).await;
    let report = second.sync(&world).await;
    assert!(report.requests.is_empty() && report.no_room.is_empty(), "{report:?}");
    let read = texts(&mut second);
    assert_eq!((read[..4].join(" "), read.len()), ("one two 0 1".to_owned(), 112));
    // Blocked, and one text; not blocked any more, and another one.
    block(&mut bob.engine, &alice.identity).unwrap();
    bob.sync(&world).await;
    alice.say(&bob.identity, "while blocked");
    alice.sync(&world).await;
    unblock(&mut bob.engine, &alice.identity).unwrap();
    bob.sync(&world).await;
    alice.say(&bob.identity, "later");
    alice.sync(&world).await;
    let report = second.sync(&world).await;
    assert_eq!((report.blocked.len(), waiting(&mut second)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn blocking_ends_an_acceptance_of_another_device() {
    let world = World::new();
    let (mut alice, mut bob, mut second) = outsiders(&world).await;
    alice.say(&bob.identity, "text");
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    accept(&mut bob.engine, &bob.home, &alice.identity).unwrap();
    block(&mut second.engine, &alice.identity).unwrap();
    for _ in 0..2 {
        visit(&world, &mut [&mut bob, &mut second]).await;
    }
    unblock(&mut second.engine, &alice.identity).unwrap();
    alice.say(&bob.identity, "later");
    visit(&world, &mut [&mut second, &mut alice, &mut bob]).await;
    second.sync(&world).await;
    assert_eq!((waiting(&mut second), texts(&mut second)), (1, Vec::new()));
}

/// Members of another group could compute the keys of its notes.
#[tokio::test(flavor = "multi_thread")]
async fn rules_are_sent_in_the_group_with_oneself_alone() {
    let world = World::new();
    let (mut alice, mut bob, mut second) = outsiders(&world).await;
    alice.say(&bob.identity, "text");
    visit(&world, &mut [&mut alice, &mut bob, &mut second]).await;
    let with_oneself = Conversation::Person(bob.identity);
    assert_eq!(groups_of(&mut bob, &with_oneself).len(), 0);
    block(&mut bob.engine, &alice.identity).unwrap();
    visit(&world, &mut [&mut bob, &mut second]).await;
    assert!(rules(&mut second)[0].blocked.is_some());
    let groups = groups_of(&mut second, &with_oneself);
    assert_eq!(groups.len(), 1);
    assert_eq!(groups_of(&mut alice, &Conversation::Person(bob.identity)).len(), 1);
}
