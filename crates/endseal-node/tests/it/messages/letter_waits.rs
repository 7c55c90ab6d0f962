//! Letters that wait for the roster of their group, or for a file that can be read.

use core::time::Duration;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

use endseal_keyring::person::PersonChanges;
use endseal_keyring::roster::GroupId;
use endseal_node::messages::{LetterHead, status};
use endseal_node::service::Dialed;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::letter_faults::{peer, texts};
use super::letters::{group, import, put, used_number, write};
use super::lost_devices::devices;
use super::service::{ask, serving_at};
use super::world::World;

/// Time in which nothing is tried again.
const NEVER: Duration = Duration::from_secs(3_600);

/// The roster comes while a letter waits for it, and then another letter.
#[tokio::test(flavor = "multi_thread")]
async fn a_letter_passes_none_that_waits() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let roster = group(&mut [&mut alice], &[&bob]);
    for text in ["one", "two"] {
        write(&mut alice, roster.id(), text);
    }
    alice.sync(&world).await;
    let (home, key) = (bob.home.clone(), bob.key());
    let dial = async |_: &str| {
        let (endpoint, connection) = world.connect(&key).await;
        Ok(Dialed { endpoint, connection, addresses: String::new() })
    };
    serving_at(dial, NEVER, &mut bob, async |client| {
        while ask(&client, |it| it.status()).await.0.parked < 2 {
            sleep(Duration::from_millis(20)).await;
        }
        home.groups().import(roster.as_bytes(), None, |_| true, &home.lock().unwrap()).unwrap();
        write(&mut alice, roster.id(), "three");
        alice.sync(&world).await;
        let follow = client.clone();
        let followed = spawn_blocking(move || follow.follow(0).unwrap().next().unwrap().len());
        assert!(followed.await.unwrap() > 0);
    })
    .await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["one", "two", "three"]);
    assert_eq!(status(&mut bob.engine).unwrap().parked, 0);
}

/// A file that cannot be read says nothing about the keys in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_letter_waits_while_a_person_record_cannot_be_read() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let roster = group(&mut [&mut alice, &mut bob], &[]);
    write(&mut alice, roster.id(), "text");
    alice.sync(&world).await;
    let record = world.folder.path("bob").join("person/1.roster");
    fs::set_permissions(&record, Permissions::from_mode(0o644)).unwrap();
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.parked, report.problems), (0, 1, 0));
    fs::set_permissions(&record, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(bob.sync(&world).await.received, 1);
    assert_eq!(texts(&mut bob), ["text"]);
}

/// Arrivals of an unknown sender do not put off the time at which waiting letters are tried again.
#[tokio::test(flavor = "multi_thread")]
async fn an_outsider_keeps_no_letter_waiting() {
    const RETRY: Duration = Duration::from_millis(500);
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut mallory = world.member("mallory").await;
    let roster = group(&mut [&mut alice], &[&bob]);
    write(&mut alice, roster.id(), "to the group");
    alice.sync(&world).await;
    let (home, key, to) = (bob.home.clone(), bob.key(), bob.identity);
    let dial = async |_: &str| {
        let (endpoint, connection) = world.connect(&key).await;
        Ok(Dialed { endpoint, connection, addresses: String::new() })
    };
    serving_at(dial, RETRY, &mut bob, async |client| {
        while ask(&client, |it| it.status()).await.0.parked == 0 {
            sleep(Duration::from_millis(20)).await;
        }
        home.groups().import(roster.as_bytes(), None, |_| true, &home.lock().unwrap()).unwrap();
        let begin = Instant::now();
        while ask(&client, |it| it.status()).await.0.parked > 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "it waits still");
            mallory.say(&to, "spam");
            mallory.sync(&world).await;
            sleep(RETRY / 10).await;
        }
    })
    .await;
    assert!(texts(&mut bob).iter().any(|it| it == "to the group"));
}

/// A letter in the name of a member that waits holds up none of that member.
#[tokio::test(flavor = "multi_thread")]
async fn an_invented_letter_keeps_none_waiting() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mallory = world.member("mallory").await;
    let roster = group(&mut [&mut alice, &mut bob], &[]);
    let invented = LetterHead::new(alice.engine.address(), *roster.id(), roster.epoch() + 7);
    put(&world, &mallory, peer(&bob), &[(invented, &[1; 200], &[0; 36])]).await;
    write(&mut alice, roster.id(), "from alice");
    alice.sync(&world).await;
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.parked), (1, 1));
    assert_eq!(texts(&mut bob), ["from alice"]);
}

/// A letter that can be opened waits for an earlier one of the same writer.
#[tokio::test(flavor = "multi_thread")]
async fn letters_of_one_writer_keep_their_order() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let roster = group(&mut [&mut alice, &mut bob], &[]);
    write(&mut alice, roster.id(), "second");
    let first = LetterHead::new(alice.engine.address(), *roster.id(), roster.epoch() + 1);
    used_number(&mut alice);
    put(&world, &alice, peer(&bob), &[(first, &[1; 200], &[0; 36])]).await;
    alice.sync(&world).await;
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.parked), (0, 2), "it has passed one that waits");
}

/// A person with ten devices takes no more places of letters that wait than one with one device.
#[tokio::test(flavor = "multi_thread")]
async fn several_devices_of_a_person_keep_no_letter_away() {
    keep_none_away(3).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "nightly: a thousand letters of ten devices"]
async fn ten_devices_of_a_person_keep_no_letter_away() {
    keep_none_away(10).await;
}

async fn keep_none_away(count: u32) {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut mallory = world.member("mallory").await;
    let (record, others) = devices(&world, &mallory, 2, count, &mut PersonChanges::new());
    mallory.record = record;
    let mut all = vec![mallory];
    for mut device in others {
        device.join(&world).await;
        all.push(device);
    }
    let last = all.pop().unwrap();
    for device in &all {
        let letters: Vec<_> = (0..100_u32)
            .map(|number| {
                let mut id = [9; 16];
                id[..4].copy_from_slice(&number.to_le_bytes());
                LetterHead::new(device.engine.address(), GroupId::from_bytes(id), u64::MAX)
            })
            .map(|head| (head, &[1_u8; 200][..], &[0_u8; 36][..]))
            .collect();
        put(&world, device, peer(&bob), &letters).await;
    }
    let roster = group(&mut [&mut alice], &[&bob]);
    write(&mut alice, roster.id(), "welcome");
    alice.sync(&world).await;
    let report = bob.sync(&world).await;
    assert_eq!((report.parked, report.problems), (101, 100 * u64::from(count - 1)));
    // Counted anew.
    let mut bob = bob.restart();
    import(&bob, &roster);
    put(
        &world,
        &last,
        peer(&bob),
        &[(
            LetterHead::new(last.engine.address(), GroupId::from_bytes([7; 16]), 1),
            &[1; 200],
            &[0; 36],
        )],
    )
    .await;
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.parked, report.problems), (1, 0, 1));
    assert_eq!(texts(&mut bob), ["welcome"]);
}
