//! Letters: docs/spec/letter.md.

use std::path::Path;

use endseal_crypto::ed25519::Seed;
use endseal_crypto::identity::Identity;
use endseal_crypto::mlkem768;
use endseal_crypto::random::{Random, RandomError};
use endseal_envelope::{Envelope, Recipients, Sealer, Suite};
use endseal_keyring::device::{Address, DeviceId};
use endseal_keyring::roster::{GroupId, RosterDigest};
use endseal_node::messages::LetterHead;
use endseal_testing::Vector;

use super::node::{NOT_ON_CURVE, TIME, field, identity, scheme};

const GROUP: [u8; 16] = [0xc3; 16];
const ROSTER: [u8; 32] = [0xd4; 32];
/// Device of the person `identity(1)`, its number, and the members.
const DEVICE: u8 = 2;
const NUMBER: u32 = 7;
const BOB: u8 = 3;
const CAROL: u8 = 4;
const EPOCH: u64 = 0x0102_0304_0506_0708;

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

fn keys(n: u8) -> Identity {
    Identity::from_seeds(Seed::from_bytes(&[n; 32]), mlkem768::Seed::from_bytes(&[!n; 64]))
}

fn head() -> LetterHead {
    let person = endseal_crypto::ed25519::PublicKey::from_bytes(&identity(1)).unwrap();
    let sender = Address { identity: person, device: DeviceId::new(NUMBER).unwrap() };
    LetterHead::new(sender, GroupId::from_bytes(GROUP), EPOCH)
}

fn head_bytes(epoch: u64) -> Vec<u8> {
    [&identity(1)[..], &NUMBER.to_le_bytes(), &GROUP, &epoch.to_le_bytes()].concat()
}

/// A sealed letter.
struct Sealed {
    detached: Vec<u8>,
    /// Slots of the members.
    slots: [Vec<u8>; 2],
}

fn seal(signer: u8, suite: Suite, context: &[u8], content: &[u8]) -> Sealed {
    let (signer, members) = (keys(signer), [keys(BOB), keys(CAROL)]);
    let recipients = Recipients::from_identities(members.iter().map(Identity::public)).unwrap();
    let sealer = Sealer::new(&signer, &recipients, context).suite(suite).time(TIME);
    let mut envelope =
        vec![0; usize::try_from(sealer.sealed_len(content.len() as u64).unwrap()).unwrap()];
    let positions = sealer.seal_into(content, &mut envelope, &mut Counter(0)).unwrap();
    let parsed = Envelope::parse(&envelope).unwrap();
    let slots = members.each_ref().map(|member| {
        let at = recipients.keys().position(|key| key == member.public().ed25519()).unwrap();
        parsed.slot(positions[at] as usize).unwrap()
    });
    Sealed { detached: parsed.detached(), slots }
}

fn payload(head: &[u8], detached: &[u8]) -> Vec<u8> {
    [scheme(1), field(2, head), field(3, detached)].concat()
}

fn vector(
    name: &str,
    comment: &str,
    expect: &str,
    payload: &[u8],
    slot: &[u8],
    user: u8,
) -> Vector {
    Vector::new(name, comment, expect)
        .with_hex("payload", payload)
        .with_hex("slot", slot)
        .with_hex("roster", &ROSTER)
        .with_hex("device", &identity(DEVICE))
        .with_hex("user_ed25519_seed", &[user; 32])
        .with_hex("user_mlkem768_seed", &[!user; 64])
}

pub(crate) fn write_all(dir: &Path) {
    let context = head().context(&RosterDigest::from_bytes(ROSTER));
    let content = b"at noon, by the river";
    let plain = seal(DEVICE, Suite::X25519MlKem768, &context, content);
    let classical = seal(DEVICE, Suite::X25519, &context, content);
    let empty = seal(DEVICE, Suite::X25519MlKem768, &context, b"");
    let long = seal(DEVICE, Suite::X25519, &context, &[b'x'; 70_000]);
    let good = payload(&head_bytes(EPOCH), &plain.detached);
    for (name, comment, sealed, member, content) in [
        ("hybrid", "a letter of the hybrid suite", &plain, 0, &content[..]),
        ("hybrid-other", "the slot of another member", &plain, 1, content),
        ("classical", "a letter of the classical suite", &classical, 0, content),
        ("empty", "no content", &empty, 1, b""),
        ("long", "content of two chunks", &long, 0, &[b'x'; 70_000]),
    ] {
        let payload = payload(&head_bytes(EPOCH), &sealed.detached);
        let user = [BOB, CAROL][member];
        let opened = message_id(&sealed.detached, &sealed.slots[member], user, &context);
        vector(name, comment, "ok", &payload, &sealed.slots[member], user)
            .with_hex("identity", &identity(1))
            .with("number", &NUMBER.to_string())
            .with_hex("group", &GROUP)
            .with("epoch", &EPOCH.to_string())
            .with_hex("id", &[&identity(DEVICE)[..], &opened].concat())
            .with_hex("content", content)
            .write(dir);
    }
    let slot = &plain.slots[0];
    let flipped = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        bytes
    };
    let other_signer = seal(5, Suite::X25519MlKem768, &context, content);
    let other_roster = head().context(&RosterDigest::from_bytes([0xd5; 32]));
    let other_roster = seal(DEVICE, Suite::X25519MlKem768, &other_roster, content);
    let no_label = seal(DEVICE, Suite::X25519MlKem768, &context[27..], content);
    let of = |sealed: &Sealed| payload(&head_bytes(EPOCH), &sealed.detached);
    let mut other_device = head_bytes(EPOCH);
    other_device[32] ^= 1;
    let mut other_group = head_bytes(EPOCH);
    other_group[36] ^= 1;
    let last = plain.detached.len() - 1;
    for (name, comment, expect, payload, slot) in [
        ("other-signer", "another device signed it", "letter", of(&other_signer), {
            &other_signer.slots[0]
        }),
        ("other-roster", "sealed under another roster", "letter", of(&other_roster), {
            &other_roster.slots[0]
        }),
        ("no-label", "sealed under a context without the label", "letter", of(&no_label), {
            &no_label.slots[0]
        }),
        (
            "other-epoch",
            "another epoch in the head",
            "letter",
            { payload(&head_bytes(EPOCH + 1), &plain.detached) },
            slot,
        ),
        (
            "other-device",
            "another device in the head",
            "letter",
            { payload(&other_device, &plain.detached) },
            slot,
        ),
        (
            "other-group",
            "another group in the head",
            "letter",
            { payload(&other_group, &plain.detached) },
            slot,
        ),
        ("slot-of-another", "the slot of another member", "letter", good.clone(), &plain.slots[1]),
        ("slot-flipped", "a bit of the slot", "letter", good.clone(), &flipped(slot, 100)),
        (
            "body-flipped",
            "a bit of the last byte",
            "letter",
            { payload(&head_bytes(EPOCH), &flipped(&plain.detached, last)) },
            slot,
        ),
        (
            "slot-short",
            "a slot of the classical suite",
            "frame",
            good.clone(),
            &slot[..36].to_vec(),
        ),
        ("slot-empty", "no slot", "frame", good.clone(), &Vec::new()),
        (
            "envelope-short",
            "a detached envelope of 95 bytes",
            "frame",
            { payload(&head_bytes(EPOCH), &plain.detached[..95]) },
            slot,
        ),
        (
            "head-59",
            "a head of 59 bytes",
            "form",
            { payload(&head_bytes(EPOCH)[..59], &plain.detached) },
            slot,
        ),
        (
            "head-61",
            "a head of 61 bytes",
            "form",
            { payload(&[&head_bytes(EPOCH)[..], &[0]].concat(), &plain.detached) },
            slot,
        ),
        (
            "head-device-0",
            "device 0",
            "form",
            {
                let mut head = head_bytes(EPOCH);
                head[32..36].fill(0);
                payload(&head, &plain.detached)
            },
            slot,
        ),
        (
            "head-no-point",
            "an identity that is no point",
            "form",
            {
                let mut head = head_bytes(EPOCH);
                head[..32].copy_from_slice(&NOT_ON_CURVE);
                payload(&head, &plain.detached)
            },
            slot,
        ),
        (
            "scheme-2",
            "a message of a session",
            "form",
            { [&scheme(2)[..], &good[2..]].concat() },
            slot,
        ),
        (
            "cut",
            "the last byte of the message is missing",
            "form",
            good[..good.len() - 1].to_vec(),
            { slot },
        ),
    ] {
        vector(&format!("refused-{name}"), comment, expect, &payload, slot, BOB).write(dir);
    }
}

fn message_id(detached: &[u8], slot: &[u8], user: u8, context: &[u8]) -> [u8; 16] {
    let view = endseal_envelope::attach(detached, slot).unwrap();
    let (user, mut policy) = (keys(user), endseal_envelope::Policy::new());
    endseal_envelope::Opener::new(&user, context).open(&view, &mut policy).unwrap().message_id
}
