//! Writes the test vectors of docs/spec/session.md, docs/spec/session-file.md and
//! docs/spec/conversation.md:
//! `cargo run -p endseal-session --example endseal-session-vectors -- vectors`.
//!
//! All bytes are written by hand here and not by the code that the vectors test; only keys,
//! signatures and digests come from the library.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a generator that fails may stop")]

#[path = "vectors/conversation.rs"]
mod conversation;
#[path = "vectors/file.rs"]
mod file;
#[path = "vectors/first.rs"]
mod first;
#[path = "vectors/olm.rs"]
mod olm;

use std::env;
use std::path::{Path, PathBuf};

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::hash;
use endseal_crypto::label::{SESSION_SAFETY_NUMBER, SESSION_TAG};
use endseal_crypto::x25519;
use endseal_testing::Vector;

const MADE_AT: u64 = 1_767_225_600_000;
/// u = p + 9, which is the base point in another encoding.
const NOT_REDUCED: [u8; 32] = {
    let mut bytes = [0xff; 32];
    (bytes[0], bytes[31]) = (0xf6, 0x7f);
    bytes
};
/// y = 1, the neutral element.
const NEUTRAL: [u8; 32] = {
    let mut bytes = [0; 32];
    bytes[0] = 1;
    bytes
};
/// y = 2: no point has it.
const NOT_ON_CURVE: [u8; 32] = {
    let mut bytes = [0; 32];
    bytes[0] = 2;
    bytes
};
/// y = p + 3, which is on the curve as y = 3.
const NOT_CANONICAL: [u8; 32] = {
    let mut bytes = [0xff; 32];
    (bytes[0], bytes[31]) = (0xf0, 0x7f);
    bytes
};

fn main() {
    let dir = PathBuf::from(env::args_os().nth(1).expect("usage: vectors <directory>"));
    conversation::write(&dir.join("conversation"));
    file::write(&dir.join("session-file"));
    let dir = dir.join("session");
    certificates(&dir);
    bundles(&dir);
    messages(&dir);
    safety_numbers(&dir);
    first::write(&dir);
    olm::write(&dir);
}

fn signing_key(n: u8) -> SigningKey {
    SigningKey::from_seed(Seed::from_bytes(&[n; 32]))
}

fn ed25519(n: u8) -> [u8; 32] {
    *signing_key(n).public_key().as_bytes()
}

fn x25519(n: u8) -> [u8; 32] {
    *x25519::SecretKey::from_bytes(&[n; 32]).public_key().as_bytes()
}

/// Makes a certificate's body. The seeds of the device's keys are derived from that of its
/// identity.
fn certificate_body(identity: u8, device: u32, made_at: u64) -> Vec<u8> {
    [
        &[1][..],
        &ed25519(identity),
        &device.to_le_bytes(),
        &[identity ^ 0xf0; 32],
        &x25519(identity ^ 0x10),
        &ed25519(identity ^ 0x20),
        &ed25519(identity ^ 0x40),
        &made_at.to_le_bytes(),
    ]
    .concat()
}

fn signed(by: u8, label: &str, body: &[u8]) -> Vec<u8> {
    let signature = signing_key(by).sign(&[label.as_bytes(), body].concat());
    [body, signature.as_bytes()].concat()
}

const CERTIFICATE: &str = "endseal/session@v1 certificate";
const PREKEY: &str = "endseal/session@v1 prekey";

fn certificate(identity: u8, device: u32, made_at: u64) -> Vec<u8> {
    signed(identity, CERTIFICATE, &certificate_body(identity, device, made_at))
}

/// Returns `bytes` with one field replaced.
fn replaced(bytes: &[u8], at: usize, field: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + field.len()].copy_from_slice(field);
    bytes
}

fn certificates(dir: &Path) {
    let vector = |scenario, comment: &str, expect: &str, bytes: &[u8]| {
        Vector::new(scenario, comment, expect)
            .with("kind", "certificate")
            .with_hex("certificate", bytes)
    };
    for (scenario, comment, identity, device, made_at) in [
        ("certificate", "a device", 1, 1, MADE_AT),
        ("certificate-last-device", "the greatest number of a device", 2, u32::MAX, MADE_AT),
        ("certificate-1970", "made in the first millisecond", 3, 7, 0),
    ] {
        vector(scenario, comment, "ok", &certificate(identity, device, made_at))
            .with_hex("identity_seed", &[identity; 32])
            .with_hex("identity", &ed25519(identity))
            .with_number("device", device.into())
            .with_hex("peer_id", &[identity ^ 0xf0; 32])
            .with_hex("agreement", &x25519(identity ^ 0x10))
            .with_hex("signing", &ed25519(identity ^ 0x20))
            .with_hex("group", &ed25519(identity ^ 0x40))
            .with_number("made_at", made_at)
            .write(dir);
    }
    let body = certificate_body(1, 1, MADE_AT);
    let good = certificate(1, 1, MADE_AT);
    // Signed in this form, so that only the field is wrong.
    let with = |at, field: &[u8]| signed(1, CERTIFICATE, &replaced(&body, at, field));
    let mut high_s = good.clone();
    // S + L, which is below 2^256: the same number modulo L.
    add_order(&mut high_s[205..]);
    let unlabelled = [&body[..], signing_key(1).sign(&body).as_bytes()].concat();
    let failures: &[(&'static str, &str, &str, Vec<u8>)] = &[
        ("certificate-empty", "nothing", "length", Vec::new()),
        ("certificate-truncated", "the last byte is missing", "length", good[..236].to_vec()),
        ("certificate-trailing-byte", "a byte too many", "length", [&good[..], &[0]].concat()),
        ("certificate-version-0", "version 0", "version", with(0, &[0])),
        ("certificate-version-2", "version 2", "version", with(0, &[2])),
        ("certificate-device-0", "device 0", "device", with(33, &[0; 4])),
        ("certificate-identity-neutral", "an identity of low order", "key", with(1, &NEUTRAL)),
        ("certificate-identity-not-on-curve", "no point", "key", with(1, &NOT_ON_CURVE)),
        ("certificate-identity-not-canonical", "y = p + 3", "key", with(1, &NOT_CANONICAL)),
        ("certificate-agreement-not-canonical", "u = p + 9", "key", with(69, &NOT_REDUCED)),
        ("certificate-agreement-high-bit", "bit 255 set", "key", with(100, &[0x80 | body[100]])),
        ("certificate-signing-neutral", "a signing key of low order", "key", with(101, &NEUTRAL)),
        ("certificate-signing-not-canonical", "y = p + 3", "key", with(101, &NOT_CANONICAL)),
        ("certificate-group-neutral", "a group key of low order", "key", with(133, &NEUTRAL)),
        ("certificate-group-not-on-curve", "no point", "key", with(133, &NOT_ON_CURVE)),
        (
            "certificate-other-identity",
            "signed by another identity",
            "authentication",
            signed(2, CERTIFICATE, &body),
        ),
        (
            "certificate-other-label",
            "signed under the label of prekeys",
            "authentication",
            signed(1, PREKEY, &body),
        ),
        ("certificate-no-label", "signed without a label", "authentication", unlabelled),
        (
            "certificate-device-changed",
            "another device than was signed",
            "authentication",
            replaced(&good, 33, &[2]),
        ),
        (
            "certificate-time-changed",
            "a later time than was signed",
            "authentication",
            replaced(&good, 172, &[1]),
        ),
        (
            "certificate-peer-id-changed",
            "another peer id than was signed",
            "authentication",
            replaced(&good, 37, &[0]),
        ),
        ("certificate-s-not-reduced", "S + L in place of S", "authentication", high_s),
        (
            "certificate-signature-zero",
            "no signature",
            "authentication",
            replaced(&good, 173, &[0; 64]),
        ),
    ];
    for (scenario, comment, expect, bytes) in failures {
        vector(scenario, comment, expect, bytes).write(dir);
    }
}

/// Adds the order of the group, 2^252 + 27742317777372353535851937790883648493, to S.
fn add_order(s: &mut [u8]) {
    const LOW: u128 = 27_742_317_777_372_353_535_851_937_790_883_648_493;
    let mut order = [0; 32];
    order[..16].copy_from_slice(&LOW.to_le_bytes());
    order[31] = 0x10;
    let mut carry = 0;
    for (byte, more) in s.iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(more) + carry;
        [*byte, _] = sum.to_le_bytes();
        carry = sum >> 8;
    }
}

fn bundle_body(certificate: &[u8], kind: u8, key: &[u8; 32], made_at: u64) -> Vec<u8> {
    [&[1], certificate, &[kind], key, &made_at.to_le_bytes()].concat()
}

fn bundles(dir: &Path) {
    let vector = |scenario, comment: &str, expect: &str, bytes: &[u8]| {
        Vector::new(scenario, comment, expect).with("kind", "bundle").with_hex("bundle", bytes)
    };
    let holder = certificate(1, 1, MADE_AT);
    // Key that signs the prekeys of identity 1.
    let signer = 1 ^ 0x20;
    for (scenario, comment, kind, key, made_at) in [
        ("bundle-one-time", "a one-time key", 1, 0x33, MADE_AT + 1),
        ("bundle-fallback", "a fallback key", 2, 0x34, 0),
    ] {
        let body = bundle_body(&holder, kind, &x25519(key), made_at);
        vector(scenario, comment, "ok", &signed(signer, PREKEY, &body))
            .with_hex("certificate", &holder)
            .with_number("prekey_kind", kind.into())
            .with_hex("prekey", &x25519(key))
            .with_number("made_at", made_at)
            .write(dir);
    }
    let body = bundle_body(&holder, 1, &x25519(0x33), MADE_AT + 1);
    let good = signed(signer, PREKEY, &body);
    let with = |at, field: &[u8]| signed(signer, PREKEY, &replaced(&body, at, field));
    let forged = replaced(&holder, 172, &[1]);
    let failures: &[(&'static str, &str, &str, Vec<u8>)] = &[
        ("bundle-empty", "nothing", "length", Vec::new()),
        ("bundle-truncated", "the last byte is missing", "length", good[..342].to_vec()),
        ("bundle-trailing-byte", "a byte too many", "length", [&good[..], &[0]].concat()),
        ("bundle-is-a-certificate", "the certificate alone", "length", holder.clone()),
        ("bundle-version-2", "version 2", "version", with(0, &[2])),
        ("bundle-kind-0", "kind 0", "kind", with(238, &[0])),
        ("bundle-kind-3", "kind 3", "kind", with(238, &[3])),
        ("bundle-key-not-canonical", "u = p + 9", "key", with(239, &NOT_REDUCED)),
        ("bundle-certificate-version", "its certificate: version 2", "version", with(1, &[2])),
        ("bundle-certificate-device", "its certificate: device 0", "device", with(34, &[0; 4])),
        (
            "bundle-certificate-forged",
            "its certificate is forged",
            "authentication",
            with(1, &forged),
        ),
        (
            "bundle-signed-by-identity",
            "signed by the identity, not the device",
            "authentication",
            signed(1, PREKEY, &body),
        ),
        (
            "bundle-signed-by-group-key",
            "signed by the device's key for groups",
            "authentication",
            signed(1 ^ 0x40, PREKEY, &body),
        ),
        (
            "bundle-other-label",
            "signed under the label of certificates",
            "authentication",
            signed(signer, CERTIFICATE, &body),
        ),
        (
            "bundle-kind-changed",
            "a one-time key shown as a fallback key",
            "authentication",
            replaced(&good, 238, &[2]),
        ),
        (
            "bundle-other-certificate",
            "the certificate of another device of the identity",
            "authentication",
            replaced(&good, 1, &certificate(1, 2, MADE_AT)),
        ),
        (
            "bundle-key-changed",
            "another key than was signed",
            "authentication",
            replaced(&good, 239, &x25519(0x34)),
        ),
    ];
    for (scenario, comment, expect, bytes) in failures {
        vector(scenario, comment, expect, bytes).write(dir);
    }
}

fn messages(dir: &Path) {
    let vector = |scenario, comment: &str, expect: &str, bytes: &[u8]| {
        Vector::new(scenario, comment, expect).with("kind", "message").with_hex("message", bytes)
    };
    let keys = [x25519(0x11), x25519(0x51), x25519(0x33)];
    let mut tag = [0; 8];
    hash::derive_into(SESSION_TAG, &[&keys[0], &keys[1], &keys[2]], &mut tag);
    let holder = certificate(1, 1, MADE_AT);
    let prekey = [&[1, 1][..], &tag, &holder, &[0xb0, 0xd1]].concat();
    let ratchet = [&[1, 2][..], &tag, &[0xb0, 0xd1]].concat();
    vector("message-prekey", "the tag of these keys, and a body that is not Olm's", "ok", &prekey)
        .with_number("message_kind", 1)
        .with_hex("identity_key", &keys[0])
        .with_hex("base_key", &keys[1])
        .with_hex("one_time_key", &keys[2])
        .with_hex("tag", &tag)
        .with_hex("certificate", &holder)
        .with_hex("body", &[0xb0, 0xd1])
        .write(dir);
    vector("message-ratchet", "the same session", "ok", &ratchet)
        .with_number("message_kind", 2)
        .with_hex("tag", &tag)
        .with_hex("body", &[0xb0, 0xd1])
        .write(dir);
    vector("message-group", "the shortest", "ok", &[1, 3, 0])
        .with_number("message_kind", 3)
        .with_hex("body", &[0])
        .write(dir);
    let unverified = [&[1, 1][..], &tag, &[0; 237], &[0]].concat();
    vector("message-certificate-unread", "nothing is verified yet", "ok", &unverified)
        .with_number("message_kind", 1)
        .with_hex("tag", &tag)
        .with_hex("certificate", &[0; 237])
        .with_hex("body", &[0])
        .write(dir);
    let failures: &[(&'static str, &str, &str, &[u8])] = &[
        ("message-empty", "nothing", "truncated", &[]),
        ("message-version-alone", "a byte", "truncated", &[1]),
        ("message-version-0", "version 0", "version", &[0, 3, 0]),
        ("message-version-2", "version 2", "version", &[2, 3, 0]),
        ("message-kind-0", "kind 0", "kind", &[1, 0, 0]),
        ("message-kind-4", "kind 4", "kind", &[1, 4, 0]),
        ("message-ratchet-tag-cut", "a tag of 7 bytes", "truncated", &ratchet[..9]),
        ("message-ratchet-no-body", "no body", "truncated", &ratchet[..10]),
        ("message-prekey-certificate-cut", "236 bytes of it", "truncated", &prekey[..246]),
        ("message-prekey-no-body", "no body", "truncated", &prekey[..247]),
        ("message-group-no-body", "no body", "truncated", &[1, 3]),
    ];
    for (scenario, comment, expect, bytes) in failures {
        vector(scenario, comment, expect, bytes).write(dir);
    }
}

fn safety_numbers(dir: &Path) {
    let vector = |scenario, comment: &str, expect: &str, one: &[u8], other: &[u8]| {
        Vector::new(scenario, comment, expect)
            .with("kind", "safety-number")
            .with_hex("one", one)
            .with_hex("other", other)
    };
    for (scenario, comment, one, other) in [
        ("safety-number", "two identities", 1, 2),
        ("safety-number-swapped", "the same from the other side", 2, 1),
        ("safety-number-oneself", "one identity", 5, 5),
    ] {
        let (one, other) = (ed25519(one), ed25519(other));
        let mut groups = Vec::new();
        for identity in [one.min(other), one.max(other)] {
            let mut fingerprint = [0; 30];
            hash::derive_into(SESSION_SAFETY_NUMBER, &[&identity], &mut fingerprint);
            groups.extend(fingerprint.chunks(5).map(|five| {
                let number = five.iter().fold(0, |number, byte| number * 256 + u64::from(*byte));
                format!("{:05}", number % 100_000)
            }));
        }
        vector(scenario, comment, "ok", &one, &other).with("number", &groups.join(" ")).write(dir);
    }
    for (scenario, comment, other) in [
        ("safety-number-low-order", "an identity of low order", NEUTRAL),
        ("safety-number-not-on-curve", "no point", NOT_ON_CURVE),
        ("safety-number-not-canonical", "y = p + 3", NOT_CANONICAL),
    ] {
        vector(scenario, comment, "key", &ed25519(1), &other).write(dir);
    }
}
