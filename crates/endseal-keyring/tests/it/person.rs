//! Person records: signing, changing and parsing them.

use core::num::NonZeroU32;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::{OsRandom, Random, RandomError};
use endseal_keyring::PersonRecord;
use endseal_keyring::person::{
    ChangePersonError, InvalidPerson, MAX_DEVICES, MAX_LEN, PersonChanges, PersonDraft,
};
use endseal_keyring::roster::{ChangeRosterError, EpochKey, RosterChainError, SignRosterError};

use crate::people::{identity, name, short};

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

fn first() -> PersonDraft {
    let device = identity(2).public().clone();
    PersonRecord::create(&identity(1), number(7), device, &mut OsRandom).ok().unwrap()
}

fn record() -> PersonRecord {
    first().sign(&identity(1), b"sealed").unwrap()
}

fn change(
    record: &PersonRecord,
    changes: &PersonChanges,
) -> Result<PersonDraft, ChangePersonError> {
    record.next_epoch(&identity(1), changes, &mut OsRandom)
}

#[test]
fn an_epoch_has_the_user_identity_of_its_key_and_no_other() {
    let draft = first();
    let key = EpochKey::from_bytes(draft.epoch_key().expose_secret());
    let record = draft.sign(&identity(1), b"sealed").unwrap();
    let user = record.user_of(&key).ok().unwrap();
    assert_eq!(user.public(), record.user());
    assert_eq!(record.identity(), identity(1).public());
    for bit in 0..256 {
        let mut other = *key.expose_secret();
        other[bit / 8] ^= 1 << (bit % 8);
        assert!(record.user_of(&EpochKey::from_bytes(&other)).is_err());
    }
    let next = change(&record, &PersonChanges::new()).ok().unwrap();
    assert!(*next.epoch_key() != key);
    let next = next.sign(&identity(1), b"sealed").unwrap();
    assert_ne!(next.user(), record.user());
    assert!(next.user_of(&key).is_err());
    assert_eq!(next.follows(&record), Ok(()));
    assert_eq!(next.supersedes(&record), Ok(()));
    assert_eq!(record.follows(&next), Err(RosterChainError::Rollback { held: 2, offered: 1 }));
    assert_eq!(next.id(), record.id());
}

/// A random source that repeats its bytes.
struct Stuck;

impl Random for Stuck {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), RandomError> {
        out.fill(0);
        Ok(())
    }
}

#[test]
fn a_random_source_that_repeats_itself_repeats_no_key() {
    let key = |root: &Identity| {
        let device = identity(9).public().clone();
        let draft = PersonRecord::create(root, number(1), device, &mut Stuck).ok().unwrap();
        let first = *draft.epoch_key().expose_secret();
        let record = draft.sign(root, b"sealed").unwrap();
        let draft = record.next_epoch(root, &PersonChanges::new(), &mut Stuck).ok().unwrap();
        [first, *draft.epoch_key().expose_secret()]
    };
    let [a, b] = [key(&identity(1)), key(&identity(2))];
    let mut all = [a[0], a[1], b[0], b[1]];
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn devices_come_and_go_within_the_limits() {
    let record = record();
    let why = |changes: &PersonChanges| change(&record, changes).err();
    let mut gone = PersonChanges::new();
    gone.remove(number(7));
    assert_eq!(why(&gone), Some(InvalidPerson::NoDevice.into()));
    let mut unknown = PersonChanges::new();
    unknown.remove(number(8));
    let not_there = ChangeRosterError::NotAMember(name("device-8"));
    assert_eq!(why(&unknown), Some(not_there.into()));
    let mut classical = PersonChanges::new();
    classical.add(number(8), short(3));
    assert_eq!(why(&classical), Some(InvalidPerson::Short(name("device-8")).into()));
    for (at, key) in [(7, 3), (8, 2), (8, 1)] {
        let mut twice = PersonChanges::new();
        twice.add(number(at), identity(key).public().clone());
        let refused = why(&twice);
        assert!(
            matches!(refused, Some(ChangePersonError::Change(ChangeRosterError::Members(_)))),
            "{at} {key} {refused:?}"
        );
    }
    let mut full = PersonChanges::new();
    assert_eq!(MAX_DEVICES, 16);
    for n in 1..16 {
        full.add(number(u32::MAX - u32::from(n)), identity(10 + n).public().clone());
    }
    let mut over = full.clone();
    assert!(change(&record, &full).is_ok());
    over.add(number(1), identity(3).public().clone());
    assert_eq!(why(&over), Some(InvalidPerson::TooManyDevices.into()));
}

#[test]
fn only_the_root_signs() {
    assert_eq!(first().sign(&identity(2), b"sealed").err(), Some(SignRosterError::NotOwner));
    let other = record().next_epoch(&identity(3), &PersonChanges::new(), &mut OsRandom);
    let signed = other.ok().unwrap().sign(&identity(3), b"sealed");
    assert_eq!(signed.err(), Some(SignRosterError::NotOwner));
    let long = first().sign(&identity(1), &[1; MAX_LEN]);
    assert_eq!(long.err(), Some(SignRosterError::TooLong));
}

#[test]
fn every_byte_changed_or_cut_is_refused() {
    let record = record();
    let bytes = record.as_bytes();
    assert_eq!(PersonRecord::parse(bytes).as_ref(), Ok(&record));
    // Only every 7th byte is changed, because each signature takes time. 7 divides the length of no
    // field.
    for at in (0..bytes.len()).step_by(7) {
        assert!(PersonRecord::parse(&bytes[..at]).is_err(), "cut at {at}");
        let mut changed = bytes.to_vec();
        changed[at] ^= 1;
        assert!(PersonRecord::parse(&changed).is_err(), "changed at {at}");
    }
    assert!(PersonRecord::parse(&[bytes, b"\n"].concat()).is_err());
}
