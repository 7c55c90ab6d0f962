//! Texts to devices that are lost.

use alloc::sync::Arc;
use core::num::NonZeroU32;
use core::time::Duration;

use endseal_crypto::identity::{Identity, RootSeed};
use endseal_crypto::random::OsRandom;
use endseal_hub::HubLimits;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::DeviceId;
use endseal_keyring::person::PersonChanges;
use endseal_node::Home;
use endseal_node::messages::status;

use super::teams::texts;
use super::world::{Person, World};

/// Makes the next record of a person, and the devices that it adds, with numbers from `first` on.
pub(super) fn devices(
    world: &World,
    of: &Person,
    first: u32,
    count: u32,
    changes: &mut PersonChanges,
) -> (PersonRecord, Vec<Person>) {
    let added: Vec<_> = (first..first + count)
        .map(|number| (number, Identity::generate(&mut OsRandom).unwrap()))
        .collect();
    for (number, device) in &added {
        changes.add(NonZeroU32::new(*number).unwrap(), device.public());
    }
    let record = of.record.next_epoch(&of.root, changes).unwrap();
    let devices = added.into_iter().map(|(number, device)| {
        let folder = world.folder.path(&format!("{:?} {number}", of.key().peer_id()));
        let home = Home::create(&folder).unwrap();
        let id = DeviceId::new(number);
        let engine = home.make_sessions(&of.root, &device, id, 1, Duration::ZERO).unwrap();
        home.store_person(&record, &home.lock().unwrap()).unwrap();
        let seed = of.root.root_seed().unwrap();
        let root = Identity::from_root_seed(RootSeed::from_bytes(seed.expose_secret()));
        let (record, people) = (record.clone(), Arc::clone(&of.people));
        Person { identity: of.identity, root, device, home, engine, record, people }
    });
    let devices = devices.collect();
    (record, devices)
}

/// Limits with mailboxes in which one sender has a number of frames, half of all.
fn limits(of_sender: u64) -> HubLimits {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (1_000_000, 1_000_000);
    limits.mailbox_frames = 2 * of_sender;
    limits
}

/// Texts that wait for a lost device, here or at the hub, are sent to its replacement, in order.
#[tokio::test(flavor = "multi_thread")]
async fn texts_for_a_lost_device_go_to_the_next_one() {
    // A welcome and a text.
    let world = World::with(limits(2));
    let (mut alice, bob) = (world.member("alice").await, world.member("bob").await);
    for text in ["0", "1", "2"] {
        alice.say(&bob.identity, text);
    }
    let report = alice.sync(&world).await;
    assert!((report.sent, report.mailbox_full) == (1, true), "{report:?}");
    // The phone is lost, and the text "0" at the hub with it.
    let mut changes = PersonChanges::new();
    changes.remove(NonZeroU32::MIN);
    let (_, mut others) = devices(&world, &bob, 2, 1, &mut changes);
    let mut bob = others.pop().unwrap();
    bob.join(&world).await;
    alice.say(&bob.identity, "3");
    let mut arrived = Vec::new();
    for _ in 0..6 {
        alice.sync(&world).await;
        bob.sync(&world).await;
        arrived.extend(texts(&mut bob));
    }
    assert_eq!(arrived, ["0", "1", "2", "3"]);
    let now = status(&mut alice.engine).unwrap();
    assert_eq!((now.unsent, now.frames), (0, 0));
}

/// A text that waits for another device of the person goes to the new devices, and is shown once.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_one_device_has_is_not_doubled() {
    let world = World::with(limits(2));
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let (_, mut others) = devices(&world, &bob, 2, 1, &mut PersonChanges::new());
    let mut second = others.pop().unwrap();
    second.join(&world).await;
    alice.say(&bob.identity, "first");
    alice.sync(&world).await;
    for device in [&mut bob, &mut second] {
        device.sync(&world).await;
        assert_eq!(texts(device), ["first"]);
    }
    // The first device's mailbox is full, and that of the second one is not.
    let mut dave = world.member("dave").await;
    let (mut carol, mut erin) = (world.member("carol").await, world.member("erin").await);
    for (other, count) in [(&mut dave, 2), (&mut carol, 1), (&mut erin, 1)] {
        for _ in 0..count {
            other.say(&bob.identity, "spam");
            other.sync(&world).await;
            second.sync(&world).await;
        }
    }
    alice.say(&bob.identity, "once");
    let report = alice.sync(&world).await;
    assert_eq!((report.sent, report.mailbox_full), (1, true), "{report:?}");
    assert_eq!(status(&mut alice.engine).unwrap().frames, 1);
    let mut changes = PersonChanges::new();
    changes.remove(NonZeroU32::MIN);
    bob.record = second.record.clone();
    let (_, mut others) = devices(&world, &bob, 3, 1, &mut changes);
    let mut third = others.pop().unwrap();
    third.join(&world).await;
    let report = alice.sync(&world).await;
    assert_eq!((report.returned, report.problems), (1, 0), "{report:?}");
    for _ in 0..2 {
        second.sync(&world).await;
        third.sync(&world).await;
        alice.sync(&world).await;
    }
    for device in [&mut second, &mut third] {
        assert_eq!(texts(device).iter().filter(|it| *it == "once").count(), 1);
    }
}
