//! Person records: epoch keys, user identities, and changes of devices.

use core::num::NonZeroU32;
use std::fs;

use endseal_crypto::identity::{Identity, RootSeed};
use endseal_crypto::random::OsRandom;
use endseal_envelope::{Recipients, Sealer};
use endseal_keyring::person::{MAX_LEN, PersonChanges};
use endseal_keyring::roster::{EpochKey, GroupId, Member};
use endseal_keyring::{Name, PersonRecord, Roster};
use endseal_node::person::{self, PersonError};
use endseal_node::{FileError, Home};
use endseal_testing::Scratch;

fn identity() -> Identity {
    Identity::generate(&mut OsRandom).unwrap()
}

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

fn record(root: &Identity, device: &Identity) -> PersonRecord {
    let public = device.public().clone();
    let draft = PersonRecord::create(root, number(1), public, &mut OsRandom).ok().unwrap();
    person::sign(draft, root).unwrap()
}

#[test]
fn a_removed_device_opens_its_own_epochs_alone() {
    let [root, lost, new, outsider] = [(); 4].map(|()| identity());
    let first = record(&root, &lost);
    let mut changes = PersonChanges::new();
    changes.remove(number(1)).add(number(2), new.public().clone());
    let draft = first.next_epoch(&root, &changes, &mut OsRandom).ok().unwrap();
    let second = person::sign(draft, &root).unwrap();
    assert_eq!(second.follows(&first), Ok(()));
    let opens =
        |member: &Identity, record: &PersonRecord| match person::user_identity(member, record) {
            Ok(user) => user.public() == record.user(),
            Err(PersonError::Key(_)) => false,
            Err(other) => panic!("{other}"),
        };
    for (member, [in_first, in_second]) in [
        (&root, [true, true]),
        (&lost, [true, false]),
        (&new, [false, true]),
        (&outsider, [false; 2]),
    ] {
        assert_eq!([opens(member, &first), opens(member, &second)], [in_first, in_second]);
    }
}

#[test]
fn sixteen_devices_fit() {
    let root = identity();
    let first = record(&root, &identity());
    let mut changes = PersonChanges::new();
    changes.remove(number(1));
    for n in 0..16 {
        changes.add(number(u32::MAX - n), identity().public().clone());
    }
    let draft = first.next_epoch(&root, &changes, &mut OsRandom).ok().unwrap();
    let full = person::sign(draft, &root).unwrap();
    assert!(full.as_bytes().len() <= MAX_LEN, "{}", full.as_bytes().len());
    assert_eq!(PersonRecord::parse(full.as_bytes()).unwrap(), full);
    assert!(person::user_identity(&root, &full).is_ok());
}

/// The record names a user identity that is not derived from the epoch key, as a thief of the
/// root's key would make it to read what is sealed to the person.
#[test]
fn a_user_identity_that_is_not_of_the_epoch_key_is_refused() {
    let [root, device, thief] = [(); 3].map(|()| identity());
    let thief =
        Identity::from_root_seed(RootSeed::from_bytes(thief.signing().seed().expose_secret()));
    let member = |name, identity: &Identity| {
        Member::new(Name::new(name).unwrap(), identity.public().clone())
    };
    let members = vec![member("device-1", &device), member("root", &root), member("user", &thief)];
    let id = GroupId::from_bytes([7; 16]);
    let group = Name::new("person").unwrap();
    let draft = Roster::create(group, id, *root.public().ed25519(), members).unwrap();
    let key = EpochKey::generate(&mut OsRandom, &root, &draft).unwrap();
    let to = Recipients::from_identities(draft.members().iter().map(Member::identity)).unwrap();
    let context = draft.context();
    let sealer = Sealer::new(&root, &to, &context).suite(to.suite());
    let sealed = sealer.seal(key.expose_secret(), &mut OsRandom).unwrap();
    let roster = draft.sign(&root, &sealed).unwrap();
    let record = PersonRecord::parse(roster.as_bytes()).unwrap();
    for member in [&root, &device] {
        let refused = person::user_identity(member, &record);
        assert!(matches!(refused, Err(PersonError::OtherUser(_))));
    }
}

#[test]
fn records_are_added_and_a_fork_is_kept_aside() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    assert!(matches!(home.person(), Err(PersonError::Missing(_))));
    let [root, device] = [(); 2].map(|()| identity());
    let first = record(&root, &device);
    let lock = home.lock().unwrap();
    home.store_person(&first, &lock).unwrap();
    home.store_person(&first, &lock).unwrap();
    let draft = first.next_epoch(&root, &PersonChanges::new(), &mut OsRandom).ok().unwrap();
    let second = person::sign(draft, &root).unwrap();
    home.store_person(&second, &lock).unwrap();
    assert_eq!(home.person().unwrap(), second);
    assert_eq!(home.person_in_epoch(1).unwrap(), first);
    assert!(matches!(home.person_in_epoch(3), Err(PersonError::Missing(_))));
    let path = home.path().join("person/2.roster");
    // Another record of the epoch, which the hub has: the own one stays under another name.
    let mut changes = PersonChanges::new();
    changes.add(NonZeroU32::new(9).unwrap(), identity().public().clone());
    let draft = first.next_epoch(&root, &changes, &mut OsRandom).ok().unwrap();
    let other = person::sign(draft, &root).unwrap();
    home.store_person(&other, &lock).unwrap();
    assert_eq!(home.person().unwrap(), other);
    assert_eq!(fs::read(path.with_extension("roster.old-1")).unwrap(), second.as_bytes());
    fs::write(&path, &second.as_bytes()[1..]).unwrap();
    assert!(matches!(home.person(), Err(PersonError::Parse { .. })));
    fs::write(&path, vec![b'x'; MAX_LEN + 1]).unwrap();
    assert!(matches!(home.person(), Err(PersonError::File(FileError::TooLong { .. }))));
}
