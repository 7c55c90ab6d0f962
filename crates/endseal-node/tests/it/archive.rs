//! Archives that were changed, forged or cut (docs/spec/archive.md, "Reading").

use core::time::Duration;

use endseal_crypto::identity::{Identity, RootSeed};
use endseal_crypto::random::OsRandom;
use endseal_envelope::{Recipients, Sealer};
use endseal_keyring::IdentityFile;
use endseal_node::{
    Archive, ArchiveKeys, Existing, Home, NewIdentity, OtherDevices, ReadArchiveError,
    write_archive,
};
use endseal_testing::Scratch;

/// A state directory with a root and a device.
struct Person {
    home: Home,
    root: Identity,
    device: Identity,
}

fn identity() -> Identity {
    Identity::from_root_seed(RootSeed::generate(&mut OsRandom).unwrap())
}

fn person(scratch: &Scratch, name: &str) -> Person {
    let home = Home::create(&scratch.path(name)).unwrap();
    let (root, device) = (identity(), Identity::generate(&mut OsRandom).unwrap());
    let file = |it| IdentityFile::seal_without_passphrase(it, &mut OsRandom).unwrap();
    let new = NewIdentity {
        root: &root,
        root_file: &file(&root),
        device: &device,
        device_file: &file(&device),
        number: None,
        at_hub: None,
        others: OtherDevices::Keep,
        now: 1,
    };
    home.install(&new, Existing::Keep, &home.lock().unwrap()).unwrap();
    Person { home, root, device }
}

fn backup(person: &Person) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut engine = person.home.sessions(&person.device, Duration::ZERO).unwrap();
    let record = person.home.person().unwrap();
    let keys = ArchiveKeys { device: &person.device, person: &record, link: None };
    write_archive(&person.home, keys, &mut engine, 7, &mut archive).unwrap();
    engine.into_store().close().unwrap();
    archive
}

fn entry(tag: u8, name: &[u8], value: &[u8]) -> Vec<u8> {
    let lens = [
        &u16::try_from(name.len()).unwrap().to_le_bytes()[..],
        &u32::try_from(value.len()).unwrap().to_le_bytes(),
    ];
    [&[tag][..], lens[0], lens[1], name, value].concat()
}

/// An archive with this plaintext for a root.
fn sealed(sender: &Identity, to: &Identity, plaintext: &[u8]) -> Vec<u8> {
    let to = Recipients::from_identities([to.public()]).unwrap();
    let sealer = Sealer::new(sender, &to, b"endseal/archive@v1 content").suite(to.suite());
    sealer.seal(plaintext, &mut OsRandom).unwrap()
}

fn read(root: &Identity, archive: &[u8]) -> Result<(), ReadArchiveError> {
    Archive::open(root, archive)?.check().map(|_| ())
}

fn head(version: u8, purpose: u8) -> Vec<u8> {
    entry(1, &[], &[&[version, purpose][..], &[0; 8]].concat())
}

#[test]
fn an_archive_opens_for_its_root_alone() {
    let scratch = Scratch::new();
    let (alice, bob) = (person(&scratch, "alice"), person(&scratch, "bob"));
    let archive = backup(&alice);
    let content = Archive::open(&alice.root, &archive[..]).unwrap().check().unwrap();
    assert_eq!((content.time, content.texts, content.contacts), (7, 0, 0));
    assert_eq!(content.person, alice.home.person().unwrap());
    for other in [&bob.root, &alice.device] {
        assert!(matches!(read(other, &archive), Err(ReadArchiveError::Envelope(_))));
    }
    for at in [0, archive.len() / 2, archive.len() - 1] {
        let mut changed = archive.clone();
        changed[at] ^= 1;
        assert!(matches!(read(&alice.root, &changed), Err(ReadArchiveError::Envelope(_))), "{at}");
        let cut = &archive[..at];
        assert!(matches!(read(&alice.root, cut), Err(ReadArchiveError::Envelope(_))), "{at}");
    }
}

#[test]
fn an_archive_of_an_unlisted_device_is_refused() {
    let scratch = Scratch::new();
    let alice = person(&scratch, "alice");
    let record = alice.home.person().unwrap();
    let plaintext = [head(1, 1), entry(2, &[], record.as_bytes())].concat();
    let unlisted = Identity::generate(&mut OsRandom).unwrap();
    let forged = sealed(&unlisted, &alice.root, &plaintext);
    assert!(matches!(read(&alice.root, &forged), Err(ReadArchiveError::Sender)));
    for own in [&alice.device, &alice.root] {
        read(&alice.root, &sealed(own, &alice.root, &plaintext)).unwrap();
    }
    // The record of a person who has that device.
    let mallory = person(&scratch, "mallory");
    let other = mallory.home.person().unwrap();
    let plaintext = [head(1, 1), entry(2, &[], other.as_bytes())].concat();
    let forged = sealed(&mallory.device, &alice.root, &plaintext);
    let refused = read(&alice.root, &forged);
    assert!(matches!(refused, Err(ReadArchiveError::Damaged("person record"))));
}

#[test]
fn each_part_of_an_archive_that_is_not_valid_is_named() {
    let scratch = Scratch::new();
    let alice = person(&scratch, "alice");
    let record = alice.home.person().unwrap();
    let epoch = record.epoch().to_be_bytes();
    let good = [head(1, 1), entry(2, &[], record.as_bytes())].concat();
    let with = |rest: Vec<u8>| [good.clone(), rest].concat();
    let name = |kind: u16, rest: &[u8]| [&kind.to_be_bytes()[..], rest].concat();
    let long = [&[10][..], &0_u16.to_le_bytes(), &u32::MAX.to_le_bytes()].concat();
    for (what, plaintext) in [
        ("head", Vec::new()),
        ("head", entry(2, &[], record.as_bytes())),
        ("purpose", head(1, 9)),
        ("person record", head(1, 1)),
        ("person record", [head(1, 1), entry(2, &[], &record.as_bytes()[1..])].concat()),
        ("kind of an entry", with(entry(2, &[], record.as_bytes()))),
        ("kind of an entry", with(entry(11, &[], &[]))),
        ("kind of an entry", with(entry(3, &[], &[]))),
        ("order of the entries", with([entry(7, &[], &[]), entry(6, &[], &[])].concat())),
        ("hub", with(entry(5, &[], &[1]))),
        ("address book", with(entry(6, &[], b"bob\n"))),
        ("roster", with(entry(8, &epoch, &[]))),
        ("unread text", with(entry(9, &epoch, &[0; 36]))),
        // The frames and the former keys of the device, and a row of the history.
        ("record", with(entry(10, &name(5, &[]), &[]))),
        ("record", with(entry(10, &name(22, &[]), &[]))),
        ("record", with(entry(10, &name(3, &[1]), &[0]))),
        ("record", with(entry(10, &[0], &[]))),
        ("entry", with(vec![10])),
        ("entry", with(entry(10, &name(0, &[]), &[0; 8])[..12].to_vec())),
        ("length of an entry", with(long)),
    ] {
        match read(&alice.root, &sealed(&alice.device, &alice.root, &plaintext)) {
            Err(ReadArchiveError::Damaged(named)) => assert_eq!(named, what),
            other => panic!("{what}: {other:?}"),
        }
    }
    let later = sealed(&alice.device, &alice.root, &head(2, 1));
    assert!(matches!(read(&alice.root, &later), Err(ReadArchiveError::Version(2))));
}
