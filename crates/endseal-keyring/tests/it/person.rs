//! Person records: signing, changing and parsing them.

use core::num::NonZeroU32;

use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::random::OsRandom;
use endseal_keyring::person::{
    ChangePersonError, InvalidPerson, MAX_DEVICES, MAX_LEN, ParsePersonError, PersonChanges,
};
use endseal_keyring::roster::{
    ChangeRosterError, GroupId, Member, RosterChainError, SignRosterError,
};
use endseal_keyring::{PersonRecord, Roster};

use crate::people::{identity, name, short};

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

fn create(root: &Identity, device: &PublicIdentity) -> Result<PersonRecord, ChangePersonError> {
    PersonRecord::create(root, number(7), device, &mut OsRandom)
}

fn record() -> PersonRecord {
    create(&identity(1), identity(2).public()).unwrap()
}

fn change(
    record: &PersonRecord,
    changes: &PersonChanges,
) -> Result<PersonRecord, ChangePersonError> {
    record.next_epoch(&identity(1), changes)
}

#[test]
fn an_epoch_follows_the_one_before() {
    let record = record();
    assert_eq!(record.identity(), identity(1).public());
    let next = change(&record, &PersonChanges::new()).unwrap();
    assert_eq!(next.follows(&record), Ok(()));
    assert_eq!(next.supersedes(&record), Ok(()));
    assert_eq!(record.follows(&next), Err(RosterChainError::Rollback { held: 2, offered: 1 }));
    assert_eq!(next.id(), record.id());
    assert_ne!(create(&identity(1), identity(2).public()).unwrap().id(), record.id());
}

#[test]
fn devices_are_in_the_short_form_and_there_is_no_epoch_key() {
    let record = create(&identity(1), identity(2).public()).unwrap();
    assert_eq!(record.devices().collect::<Vec<_>>(), [(number(7), identity(2).public().ed25519())]);
    assert_eq!(record.roster().member("device-7").unwrap().identity(), &short(2));
    assert_eq!(record.roster().sealed_epoch_key(), [0]);
    let signed = |device: PublicIdentity, key: &[u8]| {
        let root = identity(1);
        let members = vec![
            Member::new(name("device-7"), device),
            Member::new(name("root"), root.public().clone()),
        ];
        let id = GroupId::from_bytes([7; 16]);
        let draft = Roster::create(name("person"), id, *root.public().ed25519(), members);
        PersonRecord::parse(draft.unwrap().sign(&root, key).unwrap().as_bytes()).err()
    };
    assert_eq!(signed(short(2), &[0]), None);
    let long = InvalidPerson::Long(name("device-7"));
    assert_eq!(signed(identity(2).public().clone(), &[0]), Some(ParsePersonError::Person(long)));
    for key in [&[1][..], &[0, 0], b"sealed"] {
        let refused = Some(ParsePersonError::Person(InvalidPerson::Key));
        assert_eq!(signed(short(2), key), refused, "{key:?}");
    }
}

/// The numbers of the longest record have as many digits as there are, and so has its epoch.
#[test]
fn the_longest_record_is_within_the_limit() {
    let mut changes = PersonChanges::new();
    changes.remove(number(7));
    for n in 0..16 {
        changes.add(number(u32::MAX - u32::from(n)), &short(10 + n));
    }
    let full = change(&record(), &changes).unwrap();
    assert!(full.as_bytes().len() + "18446744073709551615".len() <= MAX_LEN);
    assert_eq!(PersonRecord::parse(full.as_bytes()), Ok(full));
    let long = vec![b'x'; MAX_LEN + 1];
    assert_eq!(PersonRecord::parse(&long), Err(ParsePersonError::TooLong));
    assert!(matches!(PersonRecord::parse(&long[1..]), Err(ParsePersonError::Roster(_))));
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
    for (at, key) in [(7, 3), (8, 2), (8, 1)] {
        let mut twice = PersonChanges::new();
        twice.add(number(at), identity(key).public());
        let refused = why(&twice);
        assert!(
            matches!(refused, Some(ChangePersonError::Change(ChangeRosterError::Members(_)))),
            "{at} {key} {refused:?}"
        );
    }
    let mut full = PersonChanges::new();
    assert_eq!(MAX_DEVICES, 16);
    for n in 1..16 {
        full.add(number(u32::MAX - u32::from(n)), &short(10 + n));
    }
    let mut over = full.clone();
    assert!(change(&record, &full).is_ok());
    over.add(number(1), &short(3));
    assert_eq!(why(&over), Some(InvalidPerson::TooManyDevices.into()));
}

#[test]
fn only_the_root_signs() {
    let not_owner = ChangePersonError::Sign(SignRosterError::NotPermitted);
    let by_another = record().next_epoch(&identity(3), &PersonChanges::new());
    assert_eq!(by_another.err(), Some(not_owner));
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
