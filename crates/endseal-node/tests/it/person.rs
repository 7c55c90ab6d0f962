//! Person records of a state directory, and the next one for a hub.

use core::num::NonZeroU32;
use std::fs;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_keyring::PersonRecord;
use endseal_keyring::person::{MAX_LEN, PersonChanges};
use endseal_node::person::PersonError;
use endseal_node::{FileError, Home};
use endseal_testing::Scratch;

fn identity() -> Identity {
    Identity::generate(&mut OsRandom).unwrap()
}

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

fn record(root: &Identity) -> PersonRecord {
    PersonRecord::create(root, number(1), identity().public(), &mut OsRandom).unwrap()
}

fn with(root: &Identity, record: &PersonRecord, device: u32) -> PersonRecord {
    let mut changes = PersonChanges::new();
    changes.add(number(device), identity().public());
    record.next_epoch(root, &changes).unwrap()
}

fn numbers(record: &PersonRecord) -> Vec<u32> {
    record.devices().map(|(number, _)| number.get()).collect()
}

#[test]
fn records_are_added_and_a_fork_is_kept_aside() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    assert!(matches!(home.person(), Err(PersonError::Missing(_))));
    let root = identity();
    let first = record(&root);
    let lock = home.lock().unwrap();
    home.store_person(&first, &lock).unwrap();
    home.store_person(&first, &lock).unwrap();
    let second = first.next_epoch(&root, &PersonChanges::new()).unwrap();
    home.store_person(&second, &lock).unwrap();
    assert_eq!(home.person().unwrap(), second);
    assert_eq!(fs::read(home.path().join("person/1.roster")).unwrap(), first.as_bytes());
    let path = home.path().join("person/2.roster");
    // Another record of the epoch, which the hub has: the own one stays under another name.
    let other = with(&root, &first, 9);
    home.store_person(&other, &lock).unwrap();
    assert_eq!(home.person().unwrap(), other);
    assert_eq!(fs::read(path.with_extension("roster.old-1")).unwrap(), second.as_bytes());
    fs::write(&path, &second.as_bytes()[1..]).unwrap();
    assert!(matches!(home.person(), Err(PersonError::Parse { .. })));
    fs::write(&path, vec![b'x'; MAX_LEN + 1]).unwrap();
    assert!(matches!(home.person(), Err(PersonError::File(FileError::TooLong { .. }))));
}

/// Records that the hub does not have yet are continued if they follow from the one that it has.
/// The record of another chain is left, and the next one has an epoch above it.
#[test]
fn the_next_record_continues_the_one_at_the_hub() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    let root = identity();
    let first = record(&root);
    let [second, fork] = [2, 3].map(|device| with(&root, &first, device));
    let third = with(&root, &second, 4);
    let lock = home.lock().unwrap();
    let next = |at_hub: Option<&PersonRecord>| {
        let next = home.next_person(&root, at_hub, |_| PersonChanges::new()).unwrap();
        next.map(|it| (it.epoch(), numbers(&it)))
    };
    assert_eq!(next(None), None);
    assert_eq!(next(Some(&first)), Some((2, vec![1])));
    for own in [&first, &second, &third] {
        home.store_person(own, &lock).unwrap();
    }
    assert_eq!(next(None), Some((4, vec![1, 2, 4])));
    assert_eq!(next(Some(&first)), Some((4, vec![1, 2, 4])));
    assert_eq!(next(Some(&fork)), Some((4, vec![1, 3])));
}
