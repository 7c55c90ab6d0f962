//! States of conversations and evidence: docs/spec/conversation.md.

use core::num::NonZeroU32;
use std::path::Path;

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::label::{CONVERSATION_NOTE, CONVERSATION_NOTE_KEY, CONVERSATION_STATE};
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::{hash, mlkem768, xchacha20poly1305};
use endseal_keyring::person::PersonChanges;
use endseal_keyring::roster::{GroupId, Member, RosterChanges};
use endseal_keyring::{Name, PersonRecord, Roster};
use endseal_testing::Vector;

use super::NOT_ON_CURVE;

/// Alice has the smaller key of the two.
const ALICE: u8 = 2;
const BOB: u8 = 1;
const CAROL: u8 = 3;

struct Counter(u8);

impl Random for Counter {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), RandomError> {
        for byte in out {
            self.0 = self.0.wrapping_add(1);
            *byte = self.0;
        }
        Ok(())
    }
}

fn identity(n: u8) -> Identity {
    Identity::from_seeds(Seed::from_bytes(&[n; 32]), mlkem768::Seed::from_bytes(&[!n; 64]))
}

fn key(n: u8) -> [u8; 32] {
    *identity(n).public().ed25519().as_bytes()
}

fn device(person: u8, number: u32) -> PublicIdentity {
    let number = u8::try_from(number % 64).unwrap();
    identity(64 * person + number).public().clone()
}

fn nonzero(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// The first record of a person, with one device.
fn first(person: u8, number: u32) -> PersonRecord {
    let root = identity(person);
    let device = device(person, number);
    PersonRecord::create(&root, nonzero(number), &device, &mut Counter(person)).unwrap()
}

/// The record after another one, with a further device.
fn next(record: &PersonRecord, person: u8, added: u32) -> PersonRecord {
    let root = identity(person);
    let mut changes = PersonChanges::new();
    changes.add(nonzero(added), &device(person, added));
    record.next_epoch(&root, &changes).unwrap()
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn member(text: &str, person: u8) -> Member {
    let short = PublicIdentity::short(*identity(person).public().ed25519());
    Member::new(name(text), short)
}

fn roster(owner: u8) -> Roster {
    let id = GroupId::from_bytes([0xc3; 16]);
    let owner = identity(owner);
    let members = vec![member("alice", ALICE), member("bob", BOB)];
    let draft = Roster::create(name("team"), id, *owner.public().ed25519(), members).unwrap();
    draft.sign(&owner, b"sealed").unwrap()
}

fn next_roster(added: Option<u8>, removed: Option<&str>) -> Roster {
    let mut changes = RosterChanges::new();
    if let Some(person) = added {
        changes.add(member("carol", person));
    }
    if let Some(removed) = removed {
        changes.remove(name(removed));
    }
    roster(ALICE).next_epoch(&changes).unwrap().sign(&identity(ALICE), b"sealed").unwrap()
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_le_bytes()[..], bytes].concat()
}

/// A person in a state.
fn person(record: &PersonRecord, devices: &[u32]) -> Vec<u8> {
    let numbers = devices.iter().flat_map(|it| it.to_le_bytes());
    let mut out = record.epoch().to_le_bytes().to_vec();
    out.extend_from_slice(record.digest().as_bytes());
    out.push(u8::try_from(devices.len()).unwrap());
    out.extend(numbers);
    out
}

fn state(kind: u8, members: &[u8], persons: &[Vec<u8>]) -> Vec<u8> {
    [&[1, kind], members, &persons.concat()].concat()
}

/// Both keys in ascending order.
fn pair_keys() -> [u8; 64] {
    let mut keys = [key(ALICE), key(BOB)];
    keys.sort_unstable();
    keys.as_flattened().try_into().unwrap()
}

/// Entries of Alice and Bob in the order of their keys.
fn in_order(alice: Vec<u8>, bob: Vec<u8>) -> [Vec<u8>; 2] {
    if key(ALICE) < key(BOB) { [alice, bob] } else { [bob, alice] }
}

fn evidence(roster: &[u8], records: &[&PersonRecord]) -> Vec<u8> {
    let records: Vec<_> = records.iter().map(|it| with_length(it.as_bytes())).collect();
    [&[1, 1][..], &with_length(roster), &records.concat()].concat()
}

/// Evidence by which the committer leaves.
const DEPARTURE: &[u8] = &[1, 2];
/// A person who has left a team.
fn departed() -> Vec<u8> {
    [&u64::MAX.to_le_bytes()[..], &[0; 33]].concat()
}

pub(crate) fn write(dir: &Path) {
    states(dir);
    documents(dir);
    changes(dir);
    notes(dir);
}

fn notes(dir: &Path) {
    let exported = [0xe5; 32];
    let address = |of: u8, number: u32| [&key(of)[..], &number.to_le_bytes()].concat();
    let (from, to) = (address(ALICE, 7), address(BOB, 1));
    let signer = SigningKey::from_seed(Seed::from_bytes(&[9; 32]));
    let head = |wire: [u8; 4], group: &[u8]| {
        let group = [&[u8::try_from(group.len()).unwrap()], group].concat();
        [&wire[..], &group, &5_u64.to_be_bytes(), &from, &[0x24; 24]].concat()
    };
    let sealed = |head: &[u8], signed_to: &[u8], text: &[u8]| {
        let label = CONVERSATION_NOTE.as_str().as_bytes();
        let note_key = hash::derive(CONVERSATION_NOTE_KEY, &[&exported, &from, &to]);
        let bound = hash::digest(&note_key);
        let signature = signer.sign(&[label, &[0], head, signed_to, &bound, text].concat());
        let mut out = [head, signature.as_bytes(), text].concat();
        let (data, text) = out.split_at_mut(head.len());
        let tag = xchacha20poly1305::seal(&note_key, &[0x24; 24], data, text);
        out.extend_from_slice(&tag);
        out
    };
    const WIRE: [u8; 4] = [0, 1, 0xf0, 0xe4];
    let right = head(WIRE, &[0xc3; 16]);
    let note = sealed(&right, &to, b"delivered");
    let changed = |at: usize| {
        let mut bytes = note.clone();
        bytes[at] ^= 1;
        bytes
    };
    let vector = |scenario: &str, comment, expect, note: &[u8]| {
        Vector::new(&format!("note-{scenario}"), comment, expect)
            .with("kind", "note")
            .with_hex("note", note)
            .with_hex("exported", &exported)
            .with_hex("to", &to)
            .with_hex("signer", signer.public_key().as_bytes())
    };
    let long_id = head(WIRE, &[0xc3; 63]);
    for (scenario, comment, group, note, text) in [
        ("text", "a text", &[0xc3; 16][..], note.clone(), &b"delivered"[..]),
        ("empty", "an empty text", &[0xc3; 16], sealed(&right, &to, b""), b""),
        ("long-id", "a group id of 63 bytes", &[0xc3; 63], sealed(&long_id, &to, b"x"), b"x"),
    ] {
        vector(scenario, comment, "ok", &note)
            .with_hex("group", group)
            .with("epoch", "5")
            .with_hex("from", &from)
            .with_hex("text", text)
            .write(dir);
    }
    for (scenario, comment, expect, note) in [
        ("wire", "another wire format", "malformed", {
            sealed(&head([0, 1, 0xf0, 0xe5], &[0xc3; 16]), &to, b"x")
        }),
        ("no-id", "an empty group id", "malformed", sealed(&head(WIRE, &[]), &to, b"x")),
        ("id-64", "a group id of 64 bytes", "malformed", {
            let mut head = head(WIRE, &[0xc3; 63]);
            head.splice(4..5, [0x40, 64, 0xc3]);
            sealed(&head, &to, b"x")
        }),
        ("id-length", "a length that is not the shortest", "malformed", {
            let mut head = right.clone();
            head.splice(4..5, [0x40, 16]);
            sealed(&head, &to, b"x")
        }),
        ("cut", "a ciphertext of 79 bytes", "malformed", note[..right.len() + 79].to_vec()),
        ("head", "without a ciphertext", "malformed", right.clone()),
        ("too-long", "a text of 65,537 bytes", "malformed", sealed(&right, &to, &[0; 65_537])),
        ("epoch", "another epoch", "authentication", changed(28)),
        ("from", "another sender", "authentication", changed(29)),
        ("nonce", "another nonce", "authentication", changed(65)),
        ("text-changed", "a changed byte", "authentication", changed(right.len() + 64)),
        ("tag", "a changed tag", "authentication", changed(note.len() - 1)),
        ("signed-to", "signed for another member", "authentication", {
            sealed(&right, &address(CAROL, 1), b"x")
        }),
        ("branch", "signed in another branch of the epoch", "authentication", {
            let label = CONVERSATION_NOTE.as_str().as_bytes();
            let other = hash::digest(&hash::derive(CONVERSATION_NOTE_KEY, &[&[7; 32], &from, &to]));
            let signature = signer.sign(&[label, &[0], &right, &to, &other, b"x"].concat());
            let mut out = [&right[..], signature.as_bytes(), b"x"].concat();
            let note_key = hash::derive(CONVERSATION_NOTE_KEY, &[&exported, &from, &to]);
            let (data, text) = out.split_at_mut(right.len());
            let tag = xchacha20poly1305::seal(&note_key, &[0x24; 24], data, text);
            out.extend_from_slice(&tag);
            out
        }),
        ("signature", "a signature of another group", "authentication", {
            let other = sealed(&head(WIRE, &[0xd4; 16]), &to, b"x");
            [&right[..], &other[right.len()..]].concat()
        }),
    ] {
        vector(scenario, comment, expect, &note).write(dir);
    }
}

fn states(dir: &Path) {
    let (alice, bob) = (first(ALICE, 7), first(BOB, 1));
    let second = next(&alice, ALICE, 9);
    let persons = || in_order(person(&second, &[7, 9]), person(&bob, &[1]));
    let pair = state(2, &pair_keys(), &persons());
    let own = state(1, &key(ALICE), &[person(&second, &[7, 9])]);
    let team = state(3, &with_length(roster(ALICE).as_bytes()), &persons());
    let one_left = in_order(person(&second, &[7, 9]), departed());
    let left = state(3, &with_length(roster(ALICE).as_bytes()), &one_left);
    let devices_of = |of: u8, numbers: &[u32]| {
        let address = |number: &u32| {
            let bytes = [&key(of)[..], &number.to_le_bytes()].concat();
            endseal_testing::hex(&bytes)
        };
        numbers.iter().map(address).collect::<Vec<_>>().join(" ")
    };
    let both = {
        let (of_alice, of_bob) = (devices_of(ALICE, &[7, 9]), devices_of(BOB, &[1]));
        if key(ALICE) < key(BOB) {
            format!("{of_alice} {of_bob}")
        } else {
            format!("{of_bob} {of_alice}")
        }
    };
    for (scenario, comment, bytes, devices) in [
        ("state-oneself", "two devices of one person", &own, devices_of(ALICE, &[7, 9])),
        ("state-pair", "two persons, the smaller key first", &pair, both.clone()),
        ("state-team", "the members of a roster", &team, both),
        ("state-departed", "a member has left", &left, devices_of(ALICE, &[7, 9])),
    ] {
        Vector::new(scenario, comment, "ok")
            .with("kind", "state")
            .with_hex("state", bytes)
            .with_hex("digest", &hash::derive(CONVERSATION_STATE, &[bytes]))
            .with("devices", &devices)
            .write(dir);
    }
    let changed = |at: usize, byte: u8| {
        let mut bytes = pair.clone();
        bytes[at] = byte;
        bytes
    };
    let mut backwards = pair_keys();
    backwards.rotate_left(32);
    let mut forged = roster(ALICE).as_bytes().to_vec();
    let at = forged.windows(4).position(|it| it == b"bob ").unwrap();
    forged[at] = b'c';
    let one = |entry: Vec<u8>| state(1, &key(ALICE), &[entry]);
    let mut epoch_0 = person(&alice, &[7]);
    epoch_0[..8].fill(0);
    for (scenario, comment, bytes) in [
        ("state-version", "another version", changed(0, 2)),
        ("state-kind", "an unknown kind", changed(1, 4)),
        ("state-cut", "the last byte is missing", pair[..pair.len() - 1].to_vec()),
        ("state-longer", "a byte follows", [&pair[..], &[0]].concat()),
        ("state-no-record", "a person of a pair without a record", {
            state(2, &pair_keys(), &in_order(person(&second, &[7, 9]), vec![0; 41]))
        }),
        ("state-departed-pair", "one of two persons has left", state(2, &pair_keys(), &one_left)),
        ("state-order", "the greater key first", state(2, &backwards, &persons())),
        (
            "state-twice",
            "a pair of one person",
            state(2, &[key(ALICE), key(ALICE)].concat(), &persons()),
        ),
        (
            "state-key",
            "a member whose key is on no curve",
            state(1, &NOT_ON_CURVE, &[person(&alice, &[7])]),
        ),
        ("state-epoch-0", "a record of epoch 0", one(epoch_0)),
        ("state-no-device", "a person without a device", one(person(&alice, &[]))),
        ("state-device-0", "a device with the number 0", one(person(&alice, &[0, 7]))),
        ("state-device-order", "devices in descending order", one(person(&alice, &[9, 7]))),
        ("state-device-twice", "a device twice", one(person(&alice, &[7, 7]))),
        (
            "state-roster",
            "a roster whose signature is wrong",
            state(3, &with_length(&forged), &persons()),
        ),
    ] {
        let vector = Vector::new(scenario, comment, "format").with("kind", "state");
        vector.with_hex("state", &bytes).write(dir);
    }
}

fn documents(dir: &Path) {
    let (alice, carol) = (first(ALICE, 7), first(CAROL, 1));
    let both = evidence(next_roster(Some(CAROL), None).as_bytes(), &[&carol]);
    let record = evidence(&[], &[&alice]);
    let ok = [
        ("evidence-record", "one person record", &record),
        ("evidence-roster", "a roster and a person record", &both),
        ("evidence-departure", "the committer leaves", &DEPARTURE.to_vec()),
    ];
    for (scenario, comment, bytes) in ok {
        let vector = Vector::new(scenario, comment, "ok").with("kind", "evidence");
        vector.with_hex("evidence", bytes).write(dir);
    }
    let mut forged = record.clone();
    let at = forged.windows(6).position(|it| it == b"epoch ").unwrap() + 6;
    forged[at] = b'2';
    for (scenario, comment, bytes) in [
        ("evidence-nothing", "neither a roster nor a record", evidence(&[], &[])),
        ("evidence-version", "another version", [&[2], &record[1..]].concat()),
        ("evidence-kind", "an unknown kind", [&[1, 3], &record[2..]].concat()),
        ("evidence-departure-longer", "a departure with a record", {
            [DEPARTURE, &record[2..]].concat()
        }),
        ("evidence-cut", "the last byte is missing", record[..record.len() - 1].to_vec()),
        ("evidence-longer", "a length without a record", [&record[..], &[0; 3]].concat()),
        ("evidence-empty-record", "a record of no bytes", [&record[..], &[0; 4]].concat()),
        ("evidence-forged", "a record whose signature is wrong", forged),
        ("evidence-no-record", "a roster in the place of a record", {
            let roster = with_length(roster(ALICE).as_bytes());
            [&[1, 1, 0, 0, 0, 0][..], &roster].concat()
        }),
    ] {
        let vector = Vector::new(scenario, comment, "format").with("kind", "evidence");
        vector.with_hex("evidence", &bytes).write(dir);
    }
}

fn changes(dir: &Path) {
    let (alice, bob, carol) = (first(ALICE, 7), first(BOB, 1), first(CAROL, 1));
    let (second, fork) = (next(&alice, ALICE, 9), next(&alice, ALICE, 8));
    let third = next(&second, ALICE, 10);
    let persons = |of_alice| in_order(of_alice, person(&bob, &[1]));
    let pair = |of_alice| state(2, &pair_keys(), &persons(of_alice));
    let before = pair(person(&second, &[7, 9]));
    let of_team = |roster: &Roster, persons: &[(u8, Vec<u8>)]| {
        let mut persons = persons.to_vec();
        persons.sort_unstable_by_key(|it| key(it.0));
        let persons: Vec<_> = persons.into_iter().map(|it| it.1).collect();
        state(3, &with_length(roster.as_bytes()), &persons)
    };
    let (a, b, c) = (person(&second, &[7, 9]), person(&bob, &[1]), person(&carol, &[1]));
    let team = of_team(&roster(ALICE), &[(ALICE, a.clone()), (BOB, b.clone())]);
    let (with_carol, for_bob) =
        (next_roster(Some(CAROL), None), next_roster(Some(CAROL), Some("bob")));
    let all = |carol: Vec<u8>| {
        of_team(&with_carol, &[(ALICE, a.clone()), (BOB, b.clone()), (CAROL, carol)])
    };
    let (without_carol, with_all) = (all(vec![0; 41]), all(c.clone()));
    let later = evidence(&[], &[&third]);
    let ok = [
        (
            "change-record",
            "a later record of one of two",
            &before,
            later.clone(),
            pair(person(&third, &[7, 9, 10])),
        ),
        (
            "change-gap",
            "a record whose predecessor was not seen",
            &pair(person(&alice, &[7])),
            later.clone(),
            pair(person(&third, &[7, 9, 10])),
        ),
        (
            "change-member",
            "a new member takes the place of another",
            &team,
            evidence(for_bob.as_bytes(), &[&carol]),
            of_team(&for_bob, &[(ALICE, a.clone()), (CAROL, c)]),
        ),
        (
            "change-without-record",
            "a new member of a team, without a record",
            &team,
            evidence(with_carol.as_bytes(), &[]),
            without_carol.clone(),
        ),
        (
            "change-first-record",
            "the first record of such a member",
            &without_carol,
            evidence(&[], &[&carol]),
            with_all,
        ),
        (
            "change-departure",
            "a member leaves",
            &team,
            DEPARTURE.to_vec(),
            of_team(&roster(ALICE), &[(ALICE, a.clone()), (BOB, departed())]),
        ),
        (
            "change-departed-stays",
            "a roster that still has a member who left",
            &of_team(&roster(ALICE), &[(ALICE, a.clone()), (BOB, departed())]),
            evidence(with_carol.as_bytes(), &[]),
            of_team(&with_carol, &[(ALICE, a.clone()), (BOB, departed()), (CAROL, vec![0; 41])]),
        ),
        (
            "change-departed-goes",
            "a roster without a member who left",
            &of_team(&roster(ALICE), &[(ALICE, a.clone()), (BOB, departed())]),
            evidence(next_roster(None, Some("bob")).as_bytes(), &[]),
            of_team(&next_roster(None, Some("bob")), &[(ALICE, a.clone())]),
        ),
    ];
    for (scenario, comment, state, evidence, after) in ok {
        Vector::new(scenario, comment, "ok")
            .with("kind", "change")
            .with_hex("state", state)
            .with_hex("committer", &key(BOB))
            .with_hex("evidence", &evidence)
            .with_hex("after", &after)
            .write(dir);
    }
    for (scenario, comment, expect, state, evidence) in [
        ("change-older", "an earlier record", "record", &before, evidence(&[], &[&alice])),
        ("change-same", "the record that is there", "record", &before, evidence(&[], &[&second])),
        (
            "change-fork",
            "a record that follows another one",
            "record",
            &pair(person(&fork, &[7, 8])),
            later,
        ),
        (
            "change-twice",
            "two records of one person",
            "record",
            &before,
            evidence(&[], &[&third, &third]),
        ),
        (
            "change-no-member",
            "a record of someone who is no member",
            "record",
            &before,
            evidence(&[], &[&carol]),
        ),
        (
            "change-removed",
            "a record of a member who leaves",
            "record",
            &team,
            evidence(next_roster(None, Some("bob")).as_bytes(), &[&next(&bob, BOB, 2)]),
        ),
        (
            "change-departed-back",
            "a record of a member who left",
            "record",
            &of_team(&roster(ALICE), &[(ALICE, a.clone()), (BOB, departed())]),
            evidence(&[], &[&next(&bob, BOB, 2)]),
        ),
        (
            "change-departure-twice",
            "a member leaves who has left",
            "departure",
            &of_team(&roster(ALICE), &[(ALICE, a.clone()), (BOB, departed())]),
            DEPARTURE.to_vec(),
        ),
        (
            "change-departure-owner",
            "the owner leaves",
            "departure",
            &of_team(&roster(BOB), &[(ALICE, a.clone()), (BOB, b.clone())]),
            DEPARTURE.to_vec(),
        ),
        (
            "change-departure-pair",
            "one of two persons leaves",
            "roster",
            &before,
            DEPARTURE.to_vec(),
        ),
        (
            "change-roster-owner",
            "a roster of another owner",
            "roster",
            &team,
            evidence(roster(BOB).as_bytes(), &[]),
        ),
        (
            "change-roster-same",
            "the roster that is there",
            "roster",
            &team,
            evidence(roster(ALICE).as_bytes(), &[]),
        ),
        (
            "change-roster-of-pair",
            "a roster for two persons",
            "roster",
            &before,
            evidence(roster(ALICE).as_bytes(), &[]),
        ),
    ] {
        Vector::new(scenario, comment, expect)
            .with("kind", "change")
            .with_hex("state", state)
            .with_hex("committer", &key(BOB))
            .with_hex("evidence", &evidence)
            .write(dir);
    }
}
