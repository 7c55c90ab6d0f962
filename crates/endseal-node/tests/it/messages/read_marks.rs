//! Read marks: what one device of a person has shown is read on the others.

use core::num::NonZeroU32;

use endseal_keyring::person::PersonChanges;
use endseal_node::api::Request;
use endseal_node::messages::{Conversation, history, status};

use super::service::{ask, serving};
use super::teams::{group, import, second_device, texts, write};
use super::world::{People, Person, World};

const NONE: [&str; 0] = [];

/// A person with a second device, which is registered.
async fn with_second(world: &World, name: &str) -> (Person, Person) {
    let mut first = world.member(name).await;
    let mut second = second_device(world, &first, &format!("{name} second"));
    second.join(world).await;
    first.record = second.record.clone();
    (first, second)
}

/// Returns the texts of the history in the order in which they were read.
fn rows(person: &mut Person, with: &Conversation) -> Vec<String> {
    let rows = history(&mut person.engine, with, 0, 100).unwrap();
    rows.iter().map(|row| row.text(&person.identity, with).unwrap().text.to_owned()).collect()
}

fn unread(person: &mut Person) -> u64 {
    status(&mut person.engine).unwrap().unread
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_device_has_read_is_read_on_the_others() {
    let world = World::new();
    let mut alice = world.member("alice").await;
    let (mut bob, mut second) = with_second(&world, "bob").await;
    alice.say(&bob.identity, "one");
    alice.say(&bob.identity, "two");
    alice.sync(&world).await;
    for device in [&mut bob, &mut second] {
        device.sync(&world).await;
        assert_eq!(unread(device), 2);
    }
    assert_eq!(texts(&mut bob), ["one", "two"]);
    bob.sync(&world).await;
    second.sync(&world).await;
    let with_alice = Conversation::Person(alice.identity);
    assert_eq!((unread(&mut second), texts(&mut second)), (0, Vec::new()));
    assert_eq!(rows(&mut second, &with_alice), ["one", "two"]);
    // The same in the other direction, where one of three was read.
    for text in ["three", "four", "five"] {
        alice.say(&bob.identity, text);
    }
    alice.sync(&world).await;
    bob.sync(&world).await;
    second.sync(&world).await;
    let page = endseal_node::messages::unread(&mut second.engine, 0).unwrap().0;
    assert_eq!(page[1].text(&second.identity).unwrap().text, "four");
    endseal_node::messages::mark_read(&mut second.engine, &[page[1].number]).unwrap();
    second.sync(&world).await;
    bob.sync(&world).await;
    assert_eq!(rows(&mut bob, &with_alice), ["one", "two", "four"]);
    assert_eq!(texts(&mut bob), ["three", "five"]);
    bob.say(&alice.identity, "an answer");
    bob.sync(&world).await;
    second.sync(&world).await;
    let expected = ["one", "two", "four", "an answer", "three", "five"];
    assert_eq!(rows(&mut second, &with_alice), expected);
    // What was learned from a mark makes no other one.
    bob.sync(&world).await;
    second.sync(&world).await;
    for device in [&mut bob, &mut second] {
        assert_eq!((device.sync(&world).await.sent, unread(device)), (0, 0));
    }
}

/// The second device has neither the roster nor its owner as a contact, so that it hides the text
/// that the mark names. No one has accepted the owner.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_shown_after_its_mark_is_read() {
    let world = World::new();
    let mut alice = world.member("alice").await;
    let (mut bob, mut second) = with_second(&world, "bob").await;
    (bob.people, second.people) = (People::default(), People::default());
    let roster = group(&mut [&mut alice, &mut bob], &[]);
    write(&mut alice, roster.id(), "to the team");
    alice.sync(&world).await;
    bob.sync(&world).await;
    second.sync(&world).await;
    assert_eq!(texts(&mut bob), ["to the team"]);
    bob.sync(&world).await;
    second.sync(&world).await;
    let team = Conversation::Group(*roster.id());
    assert_eq!(rows(&mut second, &team), NONE);
    import(&second, &roster);
    second.sync(&world).await;
    assert_eq!(texts(&mut second), NONE);
    assert_eq!(rows(&mut second, &team), ["to the team"]);
}

/// The group, its text and the mark arrive together, while the inbox is read all the time.
#[tokio::test(flavor = "multi_thread")]
async fn a_mark_in_a_group_that_is_compared_is_taken() {
    let world = World::new();
    let (mut bob, mut second) = with_second(&world, "bob").await;
    let mut writers = Vec::new();
    for number in 0..6 {
        let mut writer = world.member(&format!("writer{number}")).await;
        writer.say(&bob.identity, "first");
        writer.sync(&world).await;
        writers.push(writer);
    }
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob).len(), writers.len());
    bob.sync(&world).await;
    serving(&world, &mut second, async |client| {
        let mut now = ask(&client, |it| it.status()).await;
        while !now.1 {
            ask(&client, |it| it.texts(&Request::Unread { after: 0 })).await;
            now = ask(&client, |it| it.status()).await;
        }
        ask(&client, |it| it.sync(1)).await;
    })
    .await;
    for writer in writers {
        assert_eq!(rows(&mut second, &Conversation::Person(writer.identity)), ["first"]);
    }
    assert_eq!((unread(&mut second), texts(&mut second)), (0, Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_was_revoked_marks_nothing() {
    let world = World::new();
    let mut alice = world.member("alice").await;
    let (mut bob, mut second) = with_second(&world, "bob").await;
    alice.say(&bob.identity, "one");
    alice.sync(&world).await;
    bob.sync(&world).await;
    second.sync(&world).await;
    let mut changes = PersonChanges::new();
    changes.remove(NonZeroU32::new(2).unwrap());
    bob.record = bob.record.next_epoch(&bob.root, &changes).unwrap();
    assert_eq!(texts(&mut second), ["one"]);
    second.sync(&world).await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["one"]);
}
