//! Plaintexts of archives: docs/spec/archive.md.

use core::num::NonZeroU32;
use std::path::Path;

use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::{ed25519, mlkem768};
use endseal_keyring::device::{Certificate, DeviceId, DeviceKeys};
use endseal_keyring::person::PersonChanges;
use endseal_keyring::{IdentityFile, IdentityText, PersonRecord};
use endseal_testing::Vector;

use super::node::{TIME, address, identity, message, text};

const SECRET: [u8; 32] = [0x5e; 32];
const PEER: [u8; 32] = [0x33; 32];

/// A random source that always returns the same byte.
struct Repeated(u8);

impl Random for Repeated {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), RandomError> {
        out.fill(self.0);
        Ok(())
    }
}

fn owner(n: u8) -> Identity {
    Identity::from_seeds(ed25519::Seed::from_bytes(&[n; 32]), mlkem768::Seed::from_bytes(&[!n; 64]))
}

fn device(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// The person `owner(1)` with device 7, `owner(2)`, and from epoch 2 on with device 8, `owner(3)`.
fn records() -> [PersonRecord; 2] {
    let root = owner(1);
    let first = owner(2);
    let one = PersonRecord::create(&root, device(7), first.public(), &mut Repeated(5)).unwrap();
    let mut changes = PersonChanges::new();
    changes.add(device(8), owner(3).public());
    let two = one.next_epoch(&root, &changes).unwrap();
    [one, two]
}

fn entry(tag: u8, name: &[u8], value: &[u8]) -> Vec<u8> {
    let name_len = u16::try_from(name.len()).unwrap().to_le_bytes();
    let value_len = u32::try_from(value.len()).unwrap().to_le_bytes();
    [&[tag][..], &name_len, &value_len, name, value].concat()
}

fn head(version: u8, purpose: u8) -> Vec<u8> {
    entry(1, &[], &[&[version, purpose][..], &TIME.to_le_bytes()].concat())
}

fn person(record: &PersonRecord) -> Vec<u8> {
    entry(2, &[], record.as_bytes())
}

fn root_file(n: u8) -> Vec<u8> {
    let file = IdentityFile::seal_without_passphrase(&owner(n), &mut Repeated(7)).unwrap();
    entry(3, &[], file.as_bytes())
}

fn certificate(root: u8, number: u32, peer: [u8; 32]) -> Certificate {
    let keys = DeviceKeys {
        device: DeviceId::new(number).unwrap(),
        peer_id: PeerId::from_bytes(&peer),
        agreement: *owner(3).agreement().public_key(),
        signing: *owner(3).public().ed25519(),
        group: *owner(3).public().ed25519(),
    };
    Certificate::issue(owner(root).signing(), &keys, TIME)
}

fn link(certificate: &Certificate) -> Vec<u8> {
    entry(4, &[], &[&SECRET[..], certificate.as_bytes()].concat())
}

fn hub() -> Vec<u8> {
    entry(5, &[], &[&[1], &[7; 32][..], &[0; 16], b"hub.example:4433"].concat())
}

fn contacts() -> Vec<u8> {
    let bob = IdentityText::from(owner(9).public().clone()).short();
    entry(6, &[], format!("bob {bob}\n").as_bytes())
}

fn unread(number: u64) -> Vec<u8> {
    let plaintext = message(endseal_codec::Content::Rich(text("noon")));
    let from = identity(2);
    let value = [&address(&from, 1)[..], &[1], &from, &[16], &[4; 16], &plaintext].concat();
    entry(9, &number.to_be_bytes(), &value)
}

fn row(number: u64) -> Vec<u8> {
    let plaintext = message(endseal_codec::Content::Rich(text("noon")));
    let other = identity(2);
    let name = [&3_u16.to_be_bytes()[..], &[1], &other, &number.to_be_bytes()].concat();
    let value = [&[1], &address(&other, 1)[..], &TIME.to_le_bytes(), &plaintext].concat();
    entry(10, &name, &value)
}

fn record(kind: u16, name: &[u8], value: &[u8]) -> Vec<u8> {
    entry(10, &[&kind.to_be_bytes()[..], name].concat(), value)
}

fn backup(scenario: &str, comment: &str, expect: &str, plaintext: &[u8]) -> Vector {
    Vector::new(scenario, comment, expect)
        .with("kind", "backup")
        .with_hex("plaintext", plaintext)
        .with_hex("sender", owner(2).public().ed25519().as_bytes())
        .with("root", &IdentityText::from(owner(1).public().clone()).to_string())
}

fn linked(scenario: &str, comment: &str, expect: &str, plaintext: &[u8]) -> Vector {
    Vector::new(scenario, comment, expect)
        .with("kind", "link")
        .with_hex("plaintext", plaintext)
        .with_hex("sender", owner(2).public().ed25519().as_bytes())
        .with("device", &IdentityText::from(owner(3).public().clone()).to_string())
        .with_hex("peer_id", &PEER)
        .with_hex("secret", &SECRET)
}

pub(crate) fn write_all(dir: &Path) {
    backups(dir);
    refused(dir);
    links(dir);
}

fn backups(dir: &Path) {
    let [one, two] = records();
    for (name, comment, entries, epoch, hub, counts) in [
        ("least", "a person record alone", vec![head(1, 1), person(&one)], "1", "", [0, 0, 0]),
        (
            "whole",
            "each kind of entry",
            vec![
                head(1, 1),
                person(&two),
                hub(),
                contacts(),
                entry(7, &[], b""),
                unread(5),
                unread(9),
                record(0, &[], &3_u64.to_le_bytes()),
                row(1),
                record(4, &1_u64.to_be_bytes(), &[&[0][..], &identity(2)].concat()),
            ],
            "2",
            "hub.example:4433",
            [1, 0, 3],
        ),
    ] {
        let [contacts, rosters, texts] = counts.map(|it: u64| it.to_string());
        backup(&format!("backup-{name}"), comment, "ok", &entries.concat())
            .with("time", &TIME.to_string())
            .with("epoch", epoch)
            .with("hub", hub)
            .with("contacts", &contacts)
            .with("rosters", &rosters)
            .with("texts", &texts)
            .write(dir);
    }
}

fn refused(dir: &Path) {
    let [one, _] = records();
    let start = [head(1, 1), person(&one)].concat();
    let with = |rest: Vec<u8>| [start.clone(), rest].concat();
    let mut other = records()[0].as_bytes().to_vec();
    *other.last_mut().unwrap() = b'x';
    let long = [&[10][..], &0_u16.to_le_bytes(), &u32::MAX.to_le_bytes()].concat();
    let no_name = entry(8, &1_u64.to_be_bytes(), one.as_bytes());
    for (name, comment, expect, plaintext) in [
        ("empty", "nothing", "head", Vec::new()),
        ("no-head", "a person record first", "head", person(&one)),
        ("version-2", "version 2", "version", head(2, 1)),
        ("purpose-3", "purpose 3", "purpose", head(1, 3)),
        ("link", "an archive for a link", "purpose", [head(1, 2), person(&one)].concat()),
        ("cut-head", "7 bytes of the time", "head", entry(1, &[], &[1, 1, 0, 0, 0, 0, 0, 0, 0])),
        ("no-person", "no person record", "person", head(1, 1)),
        ("person-twice", "two person records", "kind", with(person(&one))),
        ("person-changed", "a changed signature", "person", {
            [head(1, 1), entry(2, &[], &other)].concat()
        }),
        ("tag-0", "tag 0", "order", with(entry(0, &[], &[]))),
        ("tag-11", "tag 11", "kind", with(entry(11, &[], &[]))),
        ("root-entry", "a root in a backup", "kind", with(root_file(1))),
        ("order", "contacts behind peers", "order", {
            with([entry(7, &[], b""), contacts()].concat())
        }),
        ("hub", "a hub without addresses", "hub", with(entry(5, &[], &[1; 49]))),
        ("contacts", "a contact without an identity", "book", with(entry(6, &[], b"bob\n"))),
        ("peers", "a peer that is none", "book", with(entry(7, &[], b"bob endsealpeer1q\n"))),
        ("roster", "a roster without a name", "roster", with(no_name)),
        ("unread", "35 bytes of an address", "unread", {
            with(entry(9, &1_u64.to_be_bytes(), &[1; 35]))
        }),
        ("record-frame", "a frame of the device", "record", with(record(5, &[0; 8], &[]))),
        ("record-former", "a former key", "record", with(record(22, &[0; 32], &[]))),
        ("record-device-name", "an empty name of a device", "record", {
            with(record(29, &7_u32.to_be_bytes(), &[]))
        }),
        ("record-history", "half a row", "record", with(record(3, &[1], &[0]))),
        ("record-name", "one byte of a kind", "record", with(entry(10, &[0], &[]))),
        ("cut-entry", "six bytes of an entry", "entry", with(vec![10; 6])),
        ("cut-value", "a value that is cut", "entry", with(row(1)[..60].to_vec())),
        ("long", "a value of 4 GiB", "length", with(long)),
    ] {
        backup(&format!("backup-refused-{name}"), comment, expect, &plaintext).write(dir);
    }
    let plaintext = start.clone();
    Vector::new("backup-refused-sender", "a device that is not in the record", "sender")
        .with("kind", "backup")
        .with_hex("plaintext", &plaintext)
        .with_hex("sender", owner(3).public().ed25519().as_bytes())
        .with("root", &IdentityText::from(owner(1).public().clone()).to_string())
        .write(dir);
    Vector::new("backup-refused-root", "a person record of another root", "person")
        .with("kind", "backup")
        .with_hex("plaintext", &plaintext)
        .with_hex("sender", owner(2).public().ed25519().as_bytes())
        .with("root", &IdentityText::from(owner(4).public().clone()).to_string())
        .write(dir);
}

fn links(dir: &Path) {
    let [_, two] = records();
    let good = certificate(1, 8, PEER);
    let start = [head(1, 2), person(&two)].concat();
    let with = |rest: [Vec<u8>; 2]| [start.clone(), rest.concat()].concat();
    linked("link-whole", "a link with an unread text", "ok", &{
        [with([root_file(1), link(&good)]), hub(), contacts(), unread(1)].concat()
    })
    .with("time", &TIME.to_string())
    .with("epoch", "2")
    .with("hub", "hub.example:4433")
    .with("contacts", "1")
    .with("rosters", "0")
    .with("texts", "1")
    .with("number", "8")
    .write(dir);
    let secret = entry(4, &[], &[&[0x5f; 32][..], good.as_bytes()].concat());
    let without_root = [start.clone(), link(&good)].concat();
    for (name, comment, expect, plaintext) in [
        ("backup", "a backup", "purpose", [head(1, 1), person(&two)].concat()),
        ("no-root", "no root", "root", without_root),
        ("no-link", "no link", "link", with([root_file(1), hub()])),
        ("other-root", "the root of another person", "link", with([root_file(4), link(&good)])),
        ("other-secret", "the secret of another text", "secret", with([root_file(1), secret])),
        ("other-peer", "a certificate for another peer", "link", {
            with([root_file(1), link(&certificate(1, 8, [0x34; 32]))])
        }),
        ("other-number", "the number of another device", "link", {
            with([root_file(1), link(&certificate(1, 7, PEER))])
        }),
        ("other-signer", "a certificate by another root", "link", {
            with([root_file(1), link(&certificate(4, 8, PEER))])
        }),
        ("cut-link", "a secret alone", "link", { with([root_file(1), entry(4, &[], &SECRET)]) }),
    ] {
        linked(&format!("link-refused-{name}"), comment, expect, &plaintext).write(dir);
    }
}
