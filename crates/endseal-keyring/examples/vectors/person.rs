//! Vectors of person records. Invalid ones have valid signatures, so that another check refuses
//! them.

use core::num::NonZeroU32;
use std::path::Path;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::ed25519;
use endseal_crypto::identity::PublicIdentity;
use endseal_crypto::random::{Random, RandomError};
use endseal_keyring::PersonRecord;
use endseal_keyring::person::PersonChanges;
use endseal_testing::{Vector, hex};

use crate::roster::signed;
use crate::roster_rights::{admin_in, transfer_in, with_rights};
use crate::{long, owner, short};

/// A random source that always returns the same byte.
struct Repeated(u8);

impl Random for Repeated {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), RandomError> {
        out.fill(self.0);
        Ok(())
    }
}

pub(crate) fn write(dir: &Path) {
    let [first, second] = successes(dir);
    refused(dir, &text(&first), first.id().as_bytes());
    wrong_chain(dir, &text(&first), &text(&second));
}

fn text(record: &PersonRecord) -> String {
    String::from_utf8(record.as_bytes().to_vec()).unwrap()
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

fn successes(dir: &Path) -> [PersonRecord; 2] {
    let write = |scenario, comment, record: &PersonRecord, previous: Option<&PersonRecord>| {
        let mut own = vector(scenario, comment, "ok", &text(record));
        if let Some(previous) = previous {
            own = own.with("previous", &text(previous));
        }
        let device = |(number, key): (NonZeroU32, &ed25519::PublicKey)| {
            format!("\"{number}\": \"{}\"", hex(key.as_bytes()))
        };
        let devices: Vec<String> = record.devices().map(device).collect();
        own.with_hex("id", record.id().as_bytes())
            .with_number("epoch", record.epoch())
            .with_json("devices", &format!("{{ {} }}", devices.join(", ")))
            .with_hex("root", record.identity().ed25519().as_bytes())
            .with_hex("digest", record.digest().as_bytes())
            .write(dir);
    };
    let root = owner(1);
    let first = PersonRecord::create(&root, number(7), &public(2), &mut Repeated(0xd1)).unwrap();
    write("person-first", "one device", &first, None);

    let mut changes = PersonChanges::new();
    changes.remove(number(7)).add(number(10), &public(3)).add(number(u32::MAX), &public(4));
    let second = first.next_epoch(&root, &changes).unwrap();
    write("person-second", "device 7 was removed, two were added", &second, Some(&first));

    let mut changes = PersonChanges::new();
    // The second record has device 10 already.
    for n in (1..=9).chain(11..=15) {
        changes.add(number(u32::from(n)), &public(0x40 + n));
    }
    let third = second.next_epoch(&root, &changes).unwrap();
    write("person-16-devices", "as many devices as a person can have", &third, Some(&second));
    let mut changes = PersonChanges::new();
    changes.remove(number(10)).add(number(10), &public(0x50));
    let replaced = second.next_epoch(&root, &changes).unwrap();
    vector("person-other-device", "device 10 has another key", "device", &text(&replaced))
        .with("previous", &text(&second))
        .write(dir);
    [first, second]
}

fn refused(dir: &Path, good: &str, id: &[u8]) {
    let device = format!("member device-7 {}\n", short(2));
    let root = format!("member root {}\n", long(1));
    let all = format!("members 2\n{device}{root}");
    assert!(good.contains(&all));
    let again = |members: &[&str]| {
        let count = members.concat().lines().count();
        signed(&good.replace(&all, &format!("members {count}\n{}", members.concat())), 1)
    };
    let named = |name: &str| device.replace("device-7", name);
    let mut many: Vec<_> =
        (1..=17).map(|n| format!("member device-{n} {}\n", short(0x40 + n))).collect();
    many.sort();
    let with_key = |key: &[u8]| {
        signed(&good.replace("key AA==", &format!("key {}", Base64::encode_string(key))), 1)
    };
    let cases: &[(&'static str, &str, &str, String)] = &[
        ("person-other-group", "the roster of a group", "person", {
            signed(&good.replace("group person", "group persons"), 1)
        }),
        ("person-transfer", "a former owner", "person", {
            let later = format!("epoch 2\nprevious {}", "0".repeat(64));
            let later = good.replace("epoch 1\nprevious none", &later);
            signed(&with_rights(&later, &transfer_in(id, 2, 5, 1)), 5)
        }),
        ("person-admin", "an admin", "person", {
            signed(&with_rights(good, &admin_in(id, "device-7", 1, 2, 1)), 1)
        }),
        ("person-without-root", "no member root", "root", again(&[&device])),
        ("person-root-of-another", "root is another key than the owner", "root", {
            again(&[&device, &format!("member root {}\n", long(5))])
        }),
        ("person-other-owner", "signed by another owner than root", "root", {
            signed(&good.replace(&format!("owner {}", short(1)), &format!("owner {}", short(5))), 5)
        }),
        ("person-without-device", "root alone", "devices", again(&[&root])),
        ("person-17-devices", "a device too many", "devices", again(&[&many.concat(), &root])),
        ("person-other-member", "a member that is no device", "member", {
            again(&[&device, &root, &format!("member toor {}\n", short(5))])
        }),
        ("person-device-0", "device 0", "member", again(&[&named("device-0"), &root])),
        ("person-device-2-32", "device 2^32", "member", {
            again(&[&named("device-4294967296"), &root])
        }),
        ("person-device-leading-zero", "a number with a leading zero", "member", {
            again(&[&named("device-07"), &root])
        }),
        ("person-device-without-number", "no number", "member", {
            again(&[&named("device-"), &root])
        }),
        ("person-device-not-decimal", "a hexadecimal number", "member", {
            again(&[&named("device-a"), &root])
        }),
        ("person-device-twice", "one number, two keys", "duplicate", {
            again(&[&device, &format!("member device-7 {}\n", short(3)), &root])
        }),
        ("person-device-is-root", "one key as device and root", "duplicate", {
            again(&[&format!("member device-7 {}\n", short(1)), &root])
        }),
        ("person-long-device", "a device in the long form", "long", {
            again(&[&format!("member device-7 {}\n", long(2)), &root])
        }),
        ("person-short-root", "root in the short form", "root", {
            again(&[&device, &format!("member root {}\n", short(1))])
        }),
        ("person-key-other-byte", "a key of the byte 1", "key", with_key(&[1])),
        ("person-key-two-bytes", "a key of two bytes 0", "key", with_key(&[0; 2])),
        ("person-too-long", "8,193 bytes or more", "limit", with_key(&[0; 6_000])),
        ("person-longest-key", "as long as a record may be, with a key", "key", {
            let key = (8_192 - (good.len() - 4)) / 4 * 3;
            with_key(&vec![0; key])
        }),
        ("person-unsigned", "another device, not signed", "signature", {
            good.replace(&short(2), &short(3))
        }),
    ];
    for (scenario, comment, expect, roster) in cases {
        vector(scenario, comment, expect, roster).write(dir);
    }
}

fn wrong_chain(dir: &Path, first: &str, second: &str) {
    vector("person-rollback", "epoch 1 after epoch 2", "rollback", first)
        .with("previous", second)
        .write(dir);
    vector("person-same", "the record that is held", "same", second)
        .with("previous", second)
        .write(dir);
}
