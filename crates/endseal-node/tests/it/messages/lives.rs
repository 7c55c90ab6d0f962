//! State directories that are put back from a backup, used twice, and renewed.

use alloc::sync::Arc;
use core::num::NonZeroU32;
use core::time::Duration;
use std::fs;
use std::path::Path;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_keyring::person::PersonChanges;
use endseal_keyring::{IdentityFile, PaperText};
use endseal_node::NewDeviceKeys;
use endseal_node::messages::{
    Conversation, HubClient, SyncError, TextDelivery, device_changes, history, problems,
    publish_person, recover, register, status,
};
use endseal_transport::TransportKey;

use super::world::{Person, TIMEOUT, World};

/// Copies a directory, as a backup program does.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|it| (it.path(), it.file_name())).unwrap();
        match path.is_dir() {
            true => copy(&path, &to.join(name)),
            false if path.extension().is_some_and(|it| it == "sock") => {}
            false => assert!(fs::copy(&path, to.join(name)).is_ok()),
        }
    }
}

/// Keeps a copy of a state directory beside it.
fn back_up(person: Person, name: &str) -> Person {
    let Person { identity, root, device, home, engine, record, people } = person;
    engine.into_store().close().unwrap();
    copy(home.path(), &home.path().with_extension(name));
    let engine = home.sessions(&device, Duration::ZERO).unwrap();
    Person { identity, root, device, home, engine, record, people }
}

/// Puts a copy in the place of the state directory.
fn put_back(person: Person, name: &str) -> Person {
    let Person { identity, root, device, home, engine, record, people } = person;
    engine.into_store().close().unwrap();
    fs::remove_dir_all(home.path()).unwrap();
    copy(&home.path().with_extension(name), home.path());
    let engine = home.sessions(&device, Duration::ZERO).unwrap();
    Person { identity, root, device, home, engine, record, people }
}

/// `endseal devices renew`
pub(super) async fn renew(person: Person, world: &World) -> Person {
    let Person { identity, root, device: before, home, engine, people, .. } = person;
    engine.into_store().close().unwrap();
    let device = Identity::generate(&mut OsRandom).unwrap();
    let device_file = IdentityFile::seal_without_passphrase(&device, &mut OsRandom).unwrap();
    let key = TransportKey::new(&device);
    let at_hub = {
        let (_endpoint, connection) = world.connect(&key).await;
        let hub = HubClient::new(&connection, TIMEOUT);
        recover(&hub, &root, &key.peer_id()).await.unwrap().unwrap()
    };
    let new = NewDeviceKeys {
        root: &root,
        before: &before,
        device: &device,
        device_file: &device_file,
        at_hub: &at_hub.record,
        now: 1_790_000_200_000,
    };
    home.renew_device(&new, &home.lock().unwrap()).unwrap();
    let mut engine = home.sessions(&device, Duration::ZERO).unwrap();
    let record = home.person().unwrap();
    let (_endpoint, connection) = world.connect(&key).await;
    let hub = HubClient::new(&connection, TIMEOUT);
    register(&hub, &mut engine, "127.0.0.1:1", None, &record).await.unwrap();
    Person { identity, root, device, home, engine, record, people }
}

async fn visit(people: &mut [&mut Person], world: &World) {
    for person in people {
        person.sync(world).await;
    }
}

fn texts(person: &mut Person) -> Vec<String> {
    person.read().into_iter().map(|(_, text)| text).collect()
}

fn deliveries(person: &mut Person, to: &Person) -> Vec<Option<TextDelivery>> {
    let to = Conversation::Person(to.identity);
    let rows = history(&mut person.engine, &to, 0, 1_000).unwrap();
    rows.iter().filter(|row| row.is_sent).map(|row| row.delivery).collect()
}

/// Two people who have written to each other, so that both confirm.
pub(super) async fn friends(world: &World) -> [Person; 2] {
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "hello");
    bob.say(&alice.identity, "hi");
    for _ in 0..2 {
        visit(&mut [&mut alice, &mut bob], world).await;
    }
    assert_eq!((texts(&mut alice), texts(&mut bob)), (vec!["hi".into()], vec!["hello".into()]));
    [alice, bob]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_was_put_back_receives_and_does_not_send() {
    let world = World::new();
    let [alice, mut bob] = friends(&world).await;
    let mut alice = back_up(alice, "backup");
    for text in ["one", "two", "three"] {
        alice.say(&bob.identity, text);
    }
    visit(&mut [&mut alice, &mut bob], &world).await;
    assert_eq!(texts(&mut bob), ["one", "two", "three"]);

    let mut alice = put_back(alice, "backup");
    bob.say(&alice.identity, "an answer");
    bob.sync(&world).await;
    alice.say(&bob.identity, "after");
    let (_, result) = alice.try_sync(&world).await;
    assert!(matches!(result, Err(SyncError::Restored)), "{result:?}");
    bob.sync(&world).await;
    assert!(texts(&mut bob).is_empty());
    // It is marked, also without the hub.
    let mut alice = alice.restart();
    assert!(alice.engine.is_restored().unwrap());

    let mut alice = renew(alice, &world).await;
    for _ in 0..3 {
        visit(&mut [&mut alice, &mut bob], &world).await;
    }
    assert_eq!(texts(&mut bob), ["after"]);
    assert_eq!(status(&mut alice.engine).unwrap().undelivered, 0);
    let delivered = Some(TextDelivery::Delivered);
    assert_eq!(deliveries(&mut alice, &bob), [delivered, delivered]);
    // What it received before it was renewed comes once.
    assert_eq!(texts(&mut alice), ["an answer"]);
    assert_eq!(deliveries(&mut bob, &alice), [delivered, delivered]);
    // And people are told of the device.
    let changes = device_changes(&mut bob.engine, Some(&alice.identity)).unwrap();
    let new: Vec<_> = changes.iter().map(|it| it.is_new).collect();
    assert_eq!(new, [true, false], "{changes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_one_number_in_two_lives_are_two_texts() {
    let world = World::new();
    let [alice, mut bob] = friends(&world).await;
    let mut alice = back_up(alice, "backup");
    alice.say(&bob.identity, "of the first life");
    visit(&mut [&mut alice, &mut bob], &world).await;
    let mut alice = put_back(alice, "backup");
    alice.say(&bob.identity, "of the second life");
    let (_, result) = alice.try_sync(&world).await;
    assert!(matches!(result, Err(SyncError::Restored)), "{result:?}");
    let mut alice = renew(alice, &world).await;
    visit(&mut [&mut alice, &mut bob], &world).await;
    assert_eq!(texts(&mut bob), ["of the first life", "of the second life"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_was_put_back_is_noticed_by_what_it_acknowledged() {
    let world = World::new();
    let [mut alice, bob] = friends(&world).await;
    let mut bob = back_up(bob, "backup");
    alice.say(&bob.identity, "one");
    visit(&mut [&mut alice, &mut bob], &world).await;
    let mut bob = put_back(bob, "backup");
    let (_, result) = bob.try_sync(&world).await;
    assert!(matches!(result, Err(SyncError::Restored)), "{result:?}");
}

/// Both copies greet before either sends.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_copies_in_use_one_is_told() {
    let world = World::new();
    let [alice, mut bob] = friends(&world).await;
    let alice = back_up(alice, "clone");
    let clone_home = endseal_node::Home::open(&alice.home.path().with_extension("clone")).unwrap();
    let words = PaperText::encode(alice.root.root_seed().unwrap());
    let mut clone = Person {
        identity: alice.identity,
        root: Identity::from_root_seed(PaperText::decode(words.expose_secret()).unwrap()),
        device: clone_home.device().unwrap().open_without_passphrase().unwrap().unwrap(),
        engine: clone_home.sessions(&alice.device, Duration::ZERO).unwrap(),
        record: alice.record.clone(),
        home: clone_home,
        people: Arc::clone(&alice.people),
    };
    let mut alice = alice;
    for round in 0..3 {
        alice.say(&bob.identity, &format!("first {round}"));
        clone.say(&bob.identity, &format!("second {round}"));
        alice.sync(&world).await;
        let (_, result) = clone.try_sync(&world).await;
        assert!(matches!(result, Err(SyncError::Restored)), "{result:?}");
    }
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["first 0", "first 1", "first 2"]);
    assert!(problems(&mut bob.engine).unwrap().is_empty());
}

/// A text that the hub forgot is sent again, and shown once.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_hub_forgot_is_sent_again() {
    let mut world = World::new();
    let [mut alice, mut bob] = friends(&world).await;
    let copy = world.folder.path("copy.db");
    world.store().copy_to(&copy).unwrap();
    alice.say(&bob.identity, "forgotten");
    alice.sync(&world).await;
    world.stop().await;
    for file in ["hub.db", "hub.db-wal", "hub.db-shm"] {
        let _ = fs::remove_file(world.folder.path(file));
    }
    fs::rename(&copy, world.folder.path("hub.db")).unwrap();
    world.start();
    for _ in 0..3 {
        visit(&mut [&mut alice, &mut bob], &world).await;
    }
    assert_eq!(texts(&mut bob), ["forgotten"]);
    assert_eq!(status(&mut alice.engine).unwrap().undelivered, 0);
}

/// Restarts the hub with a copy of its database.
async fn put_back_hub(world: &mut World, copy: &Path) {
    world.stop().await;
    for file in ["hub.db", "hub.db-wal", "hub.db-shm"] {
        let _ = fs::remove_file(world.folder.path(file));
    }
    fs::copy(copy, world.folder.path("hub.db")).unwrap();
    world.start();
}

/// A hub from a backup makes no copy of a directory that has newer positions.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_was_put_back_makes_no_device_a_copy() {
    let mut world = World::new();
    let [mut alice, mut bob] = friends(&world).await;
    let copy = world.folder.path("copy.db");
    world.store().copy_to(&copy).unwrap();
    alice.say(&bob.identity, "since the backup");
    visit(&mut [&mut alice, &mut bob], &world).await;
    put_back_hub(&mut world, &copy).await;
    for round in 0..3 {
        alice.say(&bob.identity, &format!("after {round}"));
        visit(&mut [&mut alice, &mut bob], &world).await;
        visit(&mut [&mut alice, &mut bob], &world).await;
    }
    assert_eq!(texts(&mut bob), ["since the backup", "after 0", "after 1", "after 2"]);
}

/// Both went back to one moment: nothing is noticed, and numbers of texts are used again.
#[tokio::test(flavor = "multi_thread")]
async fn another_text_under_the_id_of_one_that_arrived_is_shown() {
    let mut world = World::new();
    let [alice, mut bob] = friends(&world).await;
    let copy = world.folder.path("copy.db");
    world.store().copy_to(&copy).unwrap();
    let mut alice = back_up(alice, "backup");
    alice.say(&bob.identity, "of the first life");
    visit(&mut [&mut alice, &mut bob], &world).await;
    let mut alice = put_back(alice, "backup");
    put_back_hub(&mut world, &copy).await;
    alice.say(&bob.identity, "of the second life");
    for _ in 0..2 {
        // A session whose keys were used twice may not open it: it is not shown as delivered then.
        alice.sync(&world).await;
        bob.sync(&world).await;
    }
    let arrived = texts(&mut bob);
    let shown = deliveries(&mut alice, &bob);
    if arrived != ["of the first life", "of the second life"] {
        assert_eq!(arrived, ["of the first life"]);
        assert_ne!(shown.last(), Some(&Some(TextDelivery::Delivered)), "{shown:?}");
    }
}

/// A text that was sent and not confirmed comes once, however often the device is renewed.
#[tokio::test(flavor = "multi_thread")]
pub(super) async fn renewals_in_a_row_repeat_no_text() {
    let world = World::new();
    let [mut alice, mut bob] = friends(&world).await;
    alice.say(&bob.identity, "sent and not confirmed");
    alice.sync(&world).await;
    bob.sync(&world).await;
    alice.say(&bob.identity, "never sent");
    let alice = renew(alice, &world).await;
    let mut alice = renew(alice, &world).await;
    for _ in 0..2 {
        visit(&mut [&mut alice, &mut bob], &world).await;
    }
    assert_eq!(texts(&mut bob), ["sent and not confirmed", "never sent"]);
    // One device is left of three.
    assert_eq!(alice.record.devices().count(), 1);
}

/// Two renewals at once: the one that the hub refuses is repeated, and leaves no device behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_the_hub_refused_leaves_no_old_device() {
    let world = World::new();
    let [alice, _bob] = friends(&world).await;
    // Another device was first: the record that this one made stays here, and is in no force.
    let with = |number| {
        let mut changes = PersonChanges::new();
        let other = Identity::generate(&mut OsRandom).unwrap();
        changes.add(NonZeroU32::new(number).unwrap(), other.public());
        alice.record.next_epoch(&alice.root, &changes).unwrap()
    };
    let (fork, at_hub) = (with(99), with(77));
    alice.home.store_person(&fork, &alice.home.lock().unwrap()).unwrap();
    {
        let (_endpoint, connection) = world.connect(&alice.key()).await;
        publish_person(&HubClient::new(&connection, TIMEOUT), &at_hub).await.unwrap();
    }
    let numbers =
        |of: &Person| of.record.devices().map(|(number, _)| number.get()).collect::<Vec<_>>();
    let mut alice = alice;
    for _ in 0..2 {
        alice = renew(alice, &world).await;
        let now = numbers(&alice);
        assert!(now.len() == 2 && now.contains(&77) && !now.contains(&1), "{now:?}");
        // Contacts who saw the fork accept what follows: its epoch is above.
        assert!(alice.record.epoch() > fork.epoch());
    }
    alice.sync(&world).await;
}
