//! Texts between persons.

use core::time::Duration;

use endseal_hub::HubLimits;
use endseal_node::messages::{
    self, Conversation, SayError, SkippedReason, SyncError, history, problems, status,
};
use endseal_node::sessions::Texts;

use super::world::{Person, World};

#[tokio::test(flavor = "multi_thread")]
async fn texts_arrive_while_their_writer_is_away() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    for text in ["one", "two", "three"] {
        alice.say(&bob.identity, text);
    }
    let report = alice.sync(&world).await;
    assert_eq!((report.encrypted, report.sent, report.problems), (3, 3, 0));
    let waits = status(&mut alice.engine).unwrap();
    assert_eq!((waits.unsent, waits.frames), (0, 0));
    // A commit and a welcome come before the texts.
    assert_eq!(waits.membership.unwrap().sequence, 5);

    assert_eq!(bob.sync(&world).await.received, 3);
    let from_alice = |text: &str| (alice.identity, text.to_owned());
    assert_eq!(bob.read(), ["one", "two", "three"].map(from_alice));
    assert_eq!(bob.read(), []);
    // The hub has nothing more, and nothing is delivered twice.
    assert_eq!(bob.sync(&world).await.received, 0);
    bob = bob.restart();
    assert_eq!(bob.sync(&world).await.received, 0);

    bob.say(&alice.identity, "four");
    assert_eq!(bob.sync(&world).await.sent, 1);
    assert_eq!(alice.sync(&world).await.received, 1);
    assert_eq!(alice.read(), [(bob.identity, "four".to_owned())]);
    let (of_alice, of_bob) = (alice.identity, bob.identity);
    for (person, other) in [(&mut alice, of_bob), (&mut bob, of_alice)] {
        let other = Conversation::Person(other);
        let rows = history(&mut person.engine, &other, 0, 10).unwrap();
        let texts = rows.iter().map(|row| row.text(&person.identity, &other).unwrap().text);
        assert_eq!(texts.collect::<Vec<_>>(), ["one", "two", "three", "four"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_waits_until_its_receiver_has_joined() {
    let world = World::new();
    let mut alice = world.member("alice").await;
    let mut bob = world.person("bob");
    for number in 1..=300 {
        alice.say(&bob.identity, &format!("text {number}"));
    }
    let report = alice.sync(&world).await;
    assert_eq!((report.encrypted, report.sent, report.skipped.len()), (0, 0, 1));
    assert_eq!(report.skipped[0].reason, SkippedReason::Unknown);
    assert_eq!(status(&mut alice.engine).unwrap().unsent, 300);
    bob.join(&world).await;
    assert_eq!(alice.sync(&world).await.sent, 300);
    assert_eq!(bob.sync(&world).await.received, 300);
    let expected = (1..=300).map(|number| (alice.identity, format!("text {number}")));
    assert_eq!(bob.read(), expected.collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn both_may_begin_at_once() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "from alice");
    bob.say(&alice.identity, "from bob");
    alice.sync(&world).await;
    bob.sync(&world).await;
    alice.sync(&world).await;
    assert_eq!(bob.read(), [(alice.identity, "from alice".to_owned())]);
    assert_eq!(alice.read(), [(bob.identity, "from bob".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_keeps_texts_at_their_writer() {
    let mut limits = HubLimits::default();
    // One sender has half of it.
    limits.mailbox_frames = 4;
    let world = World::with(limits);
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    for number in 1..=5 {
        alice.say(&bob.identity, &number.to_string());
    }
    let report = alice.sync(&world).await;
    // The welcome has one of the two places.
    assert_eq!((report.sent, report.mailbox_full, report.problems), (1, true, 0));
    assert_eq!(status(&mut alice.engine).unwrap().frames, 4);
    for (received, sent) in [(1, 2), (2, 2), (2, 0)] {
        assert_eq!(bob.sync(&world).await.received, received);
        assert_eq!(alice.sync(&world).await.sent, sent);
    }
    let texts: Vec<_> = bob.read().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["1", "2", "3", "4", "5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_waits_as_long_as_the_hub_says() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (5, 50);
    let world = World::with(limits);
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    for number in 1..=40 {
        alice.say(&bob.identity, &number.to_string());
    }
    let report = alice.sync(&world).await;
    assert_eq!(report.sent, 40, "{report:?}");
    assert_eq!(bob.sync(&world).await.received, 40);
}

/// The hub refuses a request for a key package, too, if it comes too early.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_text_waits_as_long_as_the_hub_says() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (1, 2);
    let world = World::with(limits);
    let (mut alice, bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "text");
    let report = alice.sync(&world).await;
    assert_eq!(report.sent, 1, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_restarts_costs_nothing() {
    let mut world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "before");
    alice.sync(&world).await;
    world.stop().await;
    world.start();
    alice.say(&bob.identity, "after");
    assert_eq!(alice.sync(&world).await.sent, 1);
    assert_eq!(bob.sync(&world).await.received, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_lost_its_memory_is_found_out() {
    let mut world = World::new();
    let (mut alice, bob) = (world.member("alice").await, world.member("bob").await);
    let copy = world.folder.path("copy.db");
    world.store().copy_to(&copy).unwrap();
    alice.say(&bob.identity, "lost");
    assert_eq!(alice.sync(&world).await.hub_forgot, None);
    world.stop().await;
    for file in ["hub.db", "hub.db-wal", "hub.db-shm"] {
        let _ = std::fs::remove_file(world.folder.path(file));
    }
    std::fs::rename(&copy, world.folder.path("hub.db")).unwrap();
    world.start();
    assert!(alice.sync(&world).await.hub_forgot.is_some());
    assert_eq!(alice.sync(&world).await.problems, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_store_sends_nothing() {
    let world = World::new();
    let (mut alice, bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "one");
    alice.sync(&world).await;
    let copy = world.folder.path("copy");
    alice.engine.store().backup(&copy).unwrap();
    alice.say(&bob.identity, "two");
    alice.sync(&world).await;
    let Person { identity, root, device, home, engine, record, people } = alice;
    drop(engine);
    std::fs::remove_dir_all(home.store_path()).unwrap();
    home.restore_store(&copy, &device).unwrap().close().unwrap();
    let engine = home.sessions(&device, Duration::ZERO).unwrap();
    let mut alice = Person { identity, root, device, home, engine, record, people };
    alice.say(&bob.identity, "another");
    let (_, result) = alice.try_sync(&world).await;
    assert!(matches!(result, Err(SyncError::Restored)), "{result:?}");
}

#[test]
fn texts_have_limits() {
    let world = tokio::runtime::Runtime::new().unwrap();
    let _guard = world.enter();
    let world = World::new();
    let (mut alice, bob) = (world.person("alice"), world.person("bob"));
    let to = Conversation::Person(bob.identity);
    let mut say = |bytes: &[u8]| {
        let texts = messages::read_texts(Texts::lines(bytes))?;
        messages::say(&mut alice.engine, &to, &texts)
    };
    assert_eq!(say(b"one\ntwo\n").unwrap().len(), 2);
    assert_eq!(say(&[b'x'; messages::MAX_TEXT_LEN]).unwrap().len(), 1);
    let mut long = b"short\n".to_vec();
    long.extend_from_slice(&[b'x'; messages::MAX_TEXT_LEN + 1]);
    assert!(matches!(say(&long), Err(SayError::TooLong(2))));
    assert!(matches!(say(b"one\n\xff"), Err(SayError::NotUtf8(2))));
    // No text of a refused request was stored.
    assert_eq!(status(&mut alice.engine).unwrap().unsent, 3);
    assert_eq!(problems(&mut alice.engine).unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_text_arrives() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let text = "\u{e9}".repeat(messages::MAX_TEXT_LEN / 2);
    for _ in 0..12 {
        alice.say(&bob.identity, &text);
    }
    assert_eq!(alice.sync(&world).await.sent, 12);
    assert_eq!(bob.sync(&world).await.received, 12);
    assert!(bob.read().iter().all(|(_, it)| *it == text));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_is_in_the_files_of_the_hub() {
    let mut world = World::new();
    let (mut alice, bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "canary-in-the-hub");
    alice.sync(&world).await;
    world.stop().await;
    let mut frames = 0;
    for name in world.folder.names().iter().filter(|name| name.starts_with("hub.db")) {
        let bytes = world.folder.read(name);
        assert!(!bytes.windows(17).any(|it| it == b"canary-in-the-hub"), "{name}");
        frames += bytes.windows(36).filter(|it| it.starts_with(alice.identity.as_bytes())).count();
    }
    assert!(frames > 0, "the address of the sender is there");
}
