//! Vectors of person records. Invalid ones have valid signatures, so that another check refuses
//! them.

use core::num::NonZeroU32;
use std::path::Path;

use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::random::{Random, RandomError};
use endseal_keyring::PersonRecord;
use endseal_keyring::person::{PersonChanges, PersonDraft};
use endseal_testing::{Vector, hex};

use crate::roster::signed;
use crate::{long, owner, short};

/// A random source that always returns the same byte.
struct Repeated(u8);

impl Random for Repeated {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), RandomError> {
        out.fill(self.0);
        Ok(())
    }
}

/// A record with its epoch key.
struct Epoch(PersonRecord, [u8; 32]);

impl Epoch {
    fn of(draft: PersonDraft, sealed: &[u8]) -> Self {
        let key = *draft.epoch_key().expose_secret();
        Self(draft.sign(&owner(1), sealed).unwrap(), key)
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.as_bytes().to_vec()).unwrap()
    }

    fn user(&self) -> Identity {
        let key = endseal_keyring::roster::EpochKey::from_bytes(&self.1);
        self.0.user_of(&key).unwrap()
    }
}

pub(crate) fn write(dir: &Path) {
    let [first, second] = successes(dir);
    wrong_members(dir, &first);
    wrong_key_and_chain(dir, &first, &second);
}

fn vector(scenario: &'static str, comment: &str, expect: &str, roster: &str) -> Vector {
    Vector::new(scenario, comment, expect).with("kind", "person").with("roster", roster)
}

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

fn public(n: u8) -> PublicIdentity {
    owner(n).public().clone()
}

fn successes(dir: &Path) -> [Epoch; 2] {
    let write = |scenario, comment, epoch: &Epoch, previous: Option<&Epoch>| {
        let record = &epoch.0;
        let mut own = vector(scenario, comment, "ok", &epoch.text());
        if let Some(previous) = previous {
            own = own.with("previous", &previous.text());
        }
        let device = |(number, identity): (NonZeroU32, &PublicIdentity)| {
            format!("\"{number}\": \"{}\"", hex(identity.ed25519().as_bytes()))
        };
        let devices: Vec<String> = record.devices().map(device).collect();
        let user = epoch.user();
        own.with_hex("id", record.id().as_bytes())
            .with_number("epoch", record.epoch())
            .with_hex("epoch_key", &epoch.1)
            .with_json("devices", &format!("{{ {} }}", devices.join(", ")))
            .with_hex("root", record.identity().ed25519().as_bytes())
            .with_hex("user", record.user().ed25519().as_bytes())
            .with_hex("user_seed", user.root_seed().unwrap().expose_secret())
            .with_hex("digest", record.digest().as_bytes())
            .write(dir);
    };
    let draft = PersonRecord::create(&owner(1), number(7), public(2), &mut Repeated(0xd1));
    let first = Epoch::of(draft.unwrap(), b"epoch key 1");
    write("person-first", "one device", &first, None);

    let mut changes = PersonChanges::new();
    changes.remove(number(7)).add(number(10), public(3)).add(number(u32::MAX), public(4));
    let draft = first.0.next_epoch(&owner(1), &changes, &mut Repeated(0xd2));
    let second = Epoch::of(draft.unwrap(), b"epoch key 2");
    write("person-second", "device 7 was removed, two were added", &second, Some(&first));

    let mut changes = PersonChanges::new();
    // The second record has device 10 already.
    for n in (1..=9).chain(11..=15) {
        changes.add(number(u32::from(n)), public(0x40 + n));
    }
    let draft = second.0.next_epoch(&owner(1), &changes, &mut Repeated(0xd3));
    // As long as an envelope of the hybrid suite to 18 recipients.
    let third = Epoch::of(draft.unwrap(), &[7; 20_500]);
    write("person-16-devices", "as many devices as a person can have", &third, Some(&second));
    let mut changes = PersonChanges::new();
    changes.remove(number(10)).add(number(10), public(0x50));
    let draft = second.0.next_epoch(&owner(1), &changes, &mut Repeated(0xd4));
    let replaced = Epoch::of(draft.unwrap(), b"epoch key 3");
    vector("person-other-device", "device 10 has another key", "device", &replaced.text())
        .with("previous", &second.text())
        .with_hex("epoch_key", &replaced.1)
        .write(dir);
    [first, second]
}

fn wrong_members(dir: &Path, first: &Epoch) {
    let good = first.text();
    let user = endseal_keyring::IdentityText::from(first.0.user().clone());
    let device = format!("member device-7 {}\n", long(2));
    let root = format!("member root {}\n", long(1));
    let user = format!("member user {user}\n");
    let all = format!("members 3\n{device}{root}{user}");
    assert!(good.contains(&all));
    let again = |members: &[&str]| {
        let count = members.concat().lines().count();
        signed(&good.replace(&all, &format!("members {count}\n{}", members.concat())), 1)
    };
    let named = |name: &str| device.replace("device-7", name);
    let mut many: Vec<_> =
        (1..=17).map(|n| format!("member device-{n} {}\n", long(0x40 + n))).collect();
    many.sort();
    let cases: &[(&'static str, &str, &str, String)] = &[
        ("person-other-group", "the roster of a group", "person", {
            signed(&good.replace("group person", "group persons"), 1)
        }),
        ("person-without-root", "no member root", "root", again(&[&device, &user])),
        ("person-root-of-another", "root is another key than the owner", "root", {
            again(&[&device, &format!("member root {}\n", long(5)), &user])
        }),
        ("person-other-owner", "signed by another owner than root", "root", {
            signed(&good.replace(&format!("owner {}", short(1)), &format!("owner {}", short(5))), 5)
        }),
        ("person-without-user", "no member user", "user", again(&[&device, &root])),
        ("person-without-device", "root and user alone", "devices", again(&[&root, &user])),
        (
            "person-17-devices",
            "a device too many",
            "devices",
            again(&[&many.concat(), &root, &user]),
        ),
        ("person-other-member", "a member that is no device", "member", {
            again(&[&device, &root, &format!("member toor {}\n", long(5)), &user])
        }),
        ("person-device-0", "device 0", "member", again(&[&named("device-0"), &root, &user])),
        ("person-device-2-32", "device 2^32", "member", {
            again(&[&named("device-4294967296"), &root, &user])
        }),
        ("person-device-leading-zero", "a number with a leading zero", "member", {
            again(&[&named("device-07"), &root, &user])
        }),
        ("person-device-without-number", "no number", "member", {
            again(&[&named("device-"), &root, &user])
        }),
        ("person-device-not-decimal", "a hexadecimal number", "member", {
            again(&[&named("device-a"), &root, &user])
        }),
        ("person-device-twice", "one number, two keys", "duplicate", {
            again(&[&device, &format!("member device-7 {}\n", long(3)), &root, &user])
        }),
        ("person-device-is-root", "one key as device and root", "duplicate", {
            again(&[&format!("member device-7 {}\n", long(1)), &root, &user])
        }),
        ("person-short-device", "a device in the short form", "short", {
            again(&[&format!("member device-7 {}\n", short(2)), &root, &user])
        }),
        ("person-short-root", "root in the short form", "short", {
            again(&[&device, &format!("member root {}\n", short(1)), &user])
        }),
        ("person-too-long", "65,537 bytes or more", "limit", {
            let key = good.lines().find(|line| line.starts_with("key ")).unwrap();
            signed(&good.replace(key, &format!("key {}", "A".repeat(60_000))), 1)
        }),
        ("person-unsigned", "another device, not signed", "signature", {
            good.replace(&long(2), &long(3))
        }),
    ];
    for (scenario, comment, expect, roster) in cases {
        vector(scenario, comment, expect, roster).write(dir);
    }
}

fn wrong_key_and_chain(dir: &Path, first: &Epoch, second: &Epoch) {
    let mut key = first.1;
    key[31] ^= 1;
    vector("person-other-key", "another epoch key than that of user", "mismatch", &first.text())
        .with_hex("epoch_key", &key)
        .write(dir);
    let user = endseal_keyring::IdentityText::from(first.0.user().clone()).to_string();
    let replaced = signed(&first.text().replace(&user, &long(9)), 1);
    vector("person-other-user", "a user of the owner's choice", "mismatch", &replaced)
        .with_hex("epoch_key", &first.1)
        .write(dir);
    vector("person-rollback", "epoch 1 after epoch 2", "rollback", &first.text())
        .with("previous", &second.text())
        .write(dir);
    vector("person-same", "the record that is held", "same", &second.text())
        .with("previous", &second.text())
        .write(dir);
}
