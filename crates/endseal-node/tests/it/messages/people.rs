//! Requests of unknown senders, blocked people, and texts that are taken back.

use core::iter;
use std::fs;

use endseal_node::messages::{
    self, Conversation, ForgetError, SayError, accept, block, delete_texts, delete_texts_before,
    history, person_rules, problems, requests, settle_inbox, status, unblock, unread, unsend,
    unsend_all,
};

use super::world::{People, Person, World};

/// Makes two members. Bob does not know Alice.
async fn outsiders(world: &World) -> (Person, Person) {
    let (alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    bob.people = People::default();
    (alice, bob)
}

fn texts(person: &mut Person) -> Vec<String> {
    person.read().into_iter().map(|(_, text)| text).collect()
}

fn numbers(person: &mut Person, with: &Conversation) -> Vec<u64> {
    history(&mut person.engine, with, 0, 100).unwrap().iter().map(|row| row.number).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_an_unknown_sender_wait_until_they_are_accepted_in_order() {
    let world = World::new();
    let (mut alice, mut bob) = outsiders(&world).await;
    for text in ["one", "two"] {
        alice.say(&bob.identity, text);
        alice.sync(&world).await;
        let report = bob.sync(&world).await;
        assert_eq!((report.received, report.requests[0].texts), (0, 1));
        assert_eq!(report.requests[0].person, alice.identity);
    }
    assert_eq!(texts(&mut bob), [""; 0]);
    let now = status(&mut bob.engine).unwrap();
    assert_eq!((now.unread, now.requests), (0, 2));
    // The text that arrives with the acceptance comes behind those that wait.
    alice.say(&bob.identity, "three");
    alice.sync(&world).await;
    bob.say(&alice.identity, "hello");
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["one", "two", "three"]);
    assert_eq!(status(&mut bob.engine).unwrap().requests, 0);
    assert!(requests(&mut bob.engine).unwrap().is_empty());
    // What was accepted is confirmed.
    bob.sync(&world).await;
    alice.sync(&world).await;
    assert_eq!(status(&mut alice.engine).unwrap().undelivered, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_contact_moves_its_request_without_a_visit() {
    let world = World::new();
    let (mut alice, mut bob) = outsiders(&world).await;
    alice.say(&bob.identity, "text");
    alice.sync(&world).await;
    bob.sync(&world).await;
    let mut contacts = bob.home.contacts().unwrap();
    let name = endseal_keyring::Name::new("alice").unwrap();
    contacts.add(name, alice.root.public().clone()).unwrap();
    bob.home.store_contacts(&contacts, &bob.home.lock().unwrap()).unwrap();
    settle_inbox(&mut bob.engine, &bob.home).unwrap();
    assert_eq!(texts(&mut bob), ["text"]);
    // The acceptance outlives the contact.
    fs::remove_file(bob.home.contacts_path()).unwrap();
    alice.say(&bob.identity, "later");
    alice.sync(&world).await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["later"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_bounded_and_the_newest_person_loses() {
    let world = World::new();
    let (mut alice, mut bob) = outsiders(&world).await;
    for number in 0..101 {
        alice.say(&bob.identity, &format!("text {number}"));
    }
    alice.sync(&world).await;
    let report = bob.sync(&world).await;
    assert_eq!((report.requests[0].texts, report.no_room[0].texts), (100, 1));
    // Five others fill the rest with a text of 800 KB each, and a sixth finds no room.
    let large = "x".repeat(messages::MAX_TEXT_LEN);
    let mut others = Vec::new();
    for name in ["b", "c", "d", "e", "f", "g"] {
        let mut other = world.member(name).await;
        other.say(&bob.identity, &large);
        other.sync(&world).await;
        others.push(other);
        let report = bob.sync(&world).await;
        let is_full = name == "g";
        assert_eq!(
            (report.requests.len(), report.no_room.len()),
            match is_full {
                true => (0, 1),
                false => (1, 0),
            },
            "{name}"
        );
        assert_eq!(report.received, 0);
    }
    // An older person takes the place of the newest one.
    let medium = "y".repeat(200_000);
    others[0].say(&bob.identity, &medium);
    others[0].say(&bob.identity, "z");
    others[0].sync(&world).await;
    let report = bob.sync(&world).await;
    assert_eq!(report.requests.len(), 1, "{report:?}");
    let newest = others[4].identity;
    assert_eq!((report.no_room[0].person, report.no_room[0].texts), (newest, 1), "{report:?}");
    let stored: usize =
        requests(&mut bob.engine).unwrap().iter().map(|it| it.plaintext.len()).sum();
    assert!(stored <= 4 << 20, "{stored}");
    // What had no room was not recorded as arrived.
    accept(&mut bob.engine, &bob.home, &alice.identity).unwrap();
    assert_eq!(texts(&mut bob).len(), 100);
    bob.say(&alice.identity, "hello");
    bob.sync(&world).await;
    alice.sync(&world).await;
    bob.sync(&world).await;
    alice.sync(&world).await;
    assert_eq!(status(&mut alice.engine).unwrap().undelivered, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_person_leaves_nothing_but_a_count() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    bob.say(&alice.identity, "hello");
    bob.sync(&world).await;
    alice.sync(&world).await;
    bob.people = People::default();
    block(&mut bob.engine, &alice.identity).unwrap();
    for text in ["one", "two"] {
        alice.say(&bob.identity, text);
    }
    alice.sync(&world).await;
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.problems, report.blocked[0].texts), (0, 0, 2));
    assert_eq!(texts(&mut bob), [""; 0]);
    let rules = person_rules(&mut bob.engine).unwrap();
    assert_eq!((rules[0].person, rules[0].dropped), (alice.identity, 2));
    let to = Conversation::Person(alice.identity);
    let said = messages::say(&mut bob.engine, &to, &["no"]);
    assert!(matches!(said, Err(SayError::Blocked)), "{said:?}");
    alice.sync(&world).await;
    assert_eq!(status(&mut alice.engine).unwrap().undelivered, 2);
    assert_eq!(unblock(&mut bob.engine, &alice.identity).unwrap(), Some(2));
    alice.say(&bob.identity, "three");
    alice.sync(&world).await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["three"]);
    // The receipt confirms only what was shown.
    alice.sync(&world).await;
    assert_eq!(status(&mut alice.engine).unwrap().undelivered, 2);
}

/// 1,000 texts of a blocked person are opened. The session goes on after unblocking, as the ratchet
/// skips at most 2,000.
#[tokio::test(flavor = "multi_thread")]
async fn further_texts_of_a_blocked_person_are_not_opened() {
    let world = World::new();
    let (mut alice, mut bob) = outsiders(&world).await;
    block(&mut bob.engine, &alice.identity).unwrap();
    for count in [1_000, 500] {
        let said: Vec<_> = iter::repeat_n("text", count).collect();
        let to = Conversation::Person(bob.identity);
        messages::say(&mut alice.engine, &to, &said).unwrap();
        alice.sync(&world).await;
        let report = bob.sync(&world).await;
        assert_eq!((report.received, report.blocked[0].texts), (0, count as u64));
    }
    assert_eq!(unblock(&mut bob.engine, &alice.identity).unwrap(), Some(1_500));
    accept(&mut bob.engine, &bob.home, &alice.identity).unwrap();
    alice.say(&bob.identity, "last");
    alice.sync(&world).await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["last"]);
    assert!(problems(&mut bob.engine).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_not_left_is_taken_back_and_nothing_else() {
    let world = World::new();
    let (mut alice, bob) = (world.member("alice").await, world.member("bob").await);
    let to = Conversation::Person(bob.identity);
    alice.say(&bob.identity, "left");
    alice.sync(&world).await;
    for text in ["oops", "kept", "oops again"] {
        alice.say(&bob.identity, text);
    }
    let all = numbers(&mut alice, &to);
    let refused = unsend(&mut alice.engine, &to, &[all[1], all[0]]);
    assert!(matches!(refused, Err(ForgetError::Left(number)) if number == all[0]), "{refused:?}");
    // Nothing was changed.
    assert_eq!(numbers(&mut alice, &to), all);
    let refused = unsend(&mut alice.engine, &to, &[77]);
    assert!(matches!(refused, Err(ForgetError::Unknown(77))), "{refused:?}");
    assert_eq!(unsend(&mut alice.engine, &to, &[all[1], all[3]]).unwrap(), 2);
    assert_eq!(alice.sync(&world).await.sent, 1);
    let mut bob = bob;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["left", "kept"]);
    bob.say(&alice.identity, "hi");
    bob.sync(&world).await;
    alice.sync(&world).await;
    alice.say(&bob.identity, "after");
    alice.sync(&world).await;
    bob.sync(&world).await;
    alice.sync(&world).await;
    // Ids are not given twice, and no text that was taken back counts as undelivered.
    assert_eq!(status(&mut alice.engine).unwrap().undelivered, 0);
    assert_eq!(texts(&mut bob), ["after"]);
    assert_eq!(unsend_all(&mut alice.engine, &to).unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_texts_stay_known_and_waiting_ones_stay() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let (to_bob, to_alice) =
        (Conversation::Person(bob.identity), Conversation::Person(alice.identity));
    alice.say(&bob.identity, "one");
    alice.say(&bob.identity, "two");
    alice.sync(&world).await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["one", "two"]);
    bob.say(&alice.identity, "waits");
    assert_eq!(delete_texts_before(&mut bob.engine, &to_alice, u64::MAX).unwrap(), 2);
    let left = numbers(&mut bob, &to_alice);
    assert_eq!(left.len(), 1);
    assert_eq!(delete_texts(&mut bob.engine, &to_alice, &left).unwrap(), 1);
    assert_eq!(status(&mut bob.engine).unwrap().unsent, 0);
    // A deleted text is not sent again, and does not count as undelivered.
    assert_eq!(status(&mut alice.engine).unwrap().undelivered, 2);
    let all = numbers(&mut alice, &to_bob);
    assert_eq!(delete_texts(&mut alice.engine, &to_bob, &all[..1]).unwrap(), 1);
    assert_eq!(status(&mut alice.engine).unwrap().undelivered, 1);
    let refused = delete_texts(&mut alice.engine, &to_bob, &[all[1], all[0]]);
    assert!(matches!(refused, Err(ForgetError::Unknown(_))), "{refused:?}");
    assert_eq!(numbers(&mut alice, &to_bob), all[1..]);
    assert!(unread(&mut bob.engine, 0).unwrap().0.is_empty());
}
