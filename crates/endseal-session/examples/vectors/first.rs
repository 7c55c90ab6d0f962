//! Vectors of plaintext heads: the kind of the message and, for kind 1, both sides.

use std::path::Path;

use endseal_crypto::hash;
use endseal_crypto::label::SESSION_BINDING;
use endseal_testing::Vector;

use crate::{
    CERTIFICATE, MADE_AT, certificate, certificate_body, ed25519, replaced, signed, x25519,
};

const ALICE: u8 = 1;
const BOB: u8 = 2;
const MALLORY: u8 = 3;
/// Number of each person's device.
const DEVICE: u32 = 1;

/// Returns the agreement key in a person's certificate.
fn agreement(person: u8) -> [u8; 32] {
    x25519(person ^ 0x10)
}

fn binding(certificate: &[u8], recipient: u8, device: u32, agreement: &[u8; 32]) -> [u8; 32] {
    let parts: [&[u8]; 4] = [certificate, &ed25519(recipient), &device.to_le_bytes(), agreement];
    let mut digest = [0; 32];
    hash::derive_into(SESSION_BINDING, &parts, &mut digest);
    digest
}

/// Makes a certificate of Mallory for another person's agreement key.
fn borrowed(from: u8) -> Vec<u8> {
    let body = certificate_body(MALLORY, DEVICE, MADE_AT);
    signed(MALLORY, CERTIFICATE, &replaced(&body, 69, &agreement(from)))
}

/// Facts that a receiver knows after it has opened a message of kind 1.
struct First<'a> {
    from: (u8, u32),
    certificate: &'a [u8],
    identity_key: [u8; 32],
    to: u8,
    plaintext: Vec<u8>,
}

impl First<'_> {
    fn vector(&self, scenario: &'static str, comment: &str, expect: &str) -> Vector {
        Vector::new(scenario, comment, expect)
            .with("kind", "first")
            .with_hex("from_identity", &ed25519(self.from.0))
            .with_number("from_device", self.from.1.into())
            .with_hex("certificate", self.certificate)
            .with_hex("identity_key", &self.identity_key)
            .with_hex("to_identity", &ed25519(self.to))
            .with_number("to_device", DEVICE.into())
            .with_hex("to_agreement", &agreement(self.to))
            .with_hex("plaintext", &self.plaintext)
    }
}

pub(crate) fn write(dir: &Path) {
    let alice = certificate(ALICE, DEVICE, MADE_AT);
    let later = certificate(ALICE, DEVICE, MADE_AT + 1);
    let to_bob = |certificate: &[u8]| binding(certificate, BOB, DEVICE, &agreement(BOB));
    let with = |certificate, plaintext| First {
        from: (ALICE, DEVICE),
        certificate,
        identity_key: agreement(ALICE),
        to: BOB,
        plaintext,
    };
    let first = |certificate, digest: &[u8]| with(certificate, [&[1], digest, b"text"].concat());
    let good = to_bob(&alice);
    for (scenario, comment, certificate) in [
        ("first", "alice writes to bob", &alice),
        ("first-later-certificate", "under a later certificate", &later),
    ] {
        let digest = to_bob(certificate);
        first(certificate, &digest)
            .vector(scenario, comment, "ok")
            .with_hex("binding", &digest)
            .with_hex("text", b"text")
            .write(dir);
    }
    let refused = |scenario, comment: &str, first: First<'_>| {
        first.vector(scenario, comment, "authentication").write(dir);
    };
    // Both directions: a key under the certificate of a person who does not have it.
    let foreign = borrowed(ALICE);
    refused(
        "first-senders-key-is-foreign",
        "alice's message under a certificate of mallory for alice's key, from mallory",
        First { from: (MALLORY, DEVICE), ..first(&foreign, &good) },
    );
    refused(
        "first-recipients-key-is-foreign",
        "alice wrote to mallory, whose certificate is for bob's key, and bob got it",
        first(&alice, &binding(&alice, MALLORY, DEVICE, &agreement(BOB))),
    );
    refused(
        "first-other-device",
        "for another device of bob",
        first(&alice, &binding(&alice, BOB, 2, &agreement(BOB))),
    );
    refused(
        "first-other-key",
        "for another key of bob's device",
        first(&alice, &binding(&alice, BOB, DEVICE, &agreement(MALLORY))),
    );
    refused(
        "first-exchanged-certificate",
        "a later certificate of alice for the same key beside it",
        first(&later, &good),
    );
    let reversed = binding(&certificate(BOB, DEVICE, MADE_AT), ALICE, DEVICE, &agreement(ALICE));
    refused("first-reversed", "from bob to alice", first(&alice, &reversed));
    refused("first-cut", "31 bytes of the digest", with(&alice, [&[1], &good[..31]].concat()));
    refused("first-empty", "no byte", with(&alice, Vec::new()));
    refused("first-no-digest", "the first byte alone", with(&alice, vec![1]));
    refused(
        "first-head-0",
        "the head of kind 2",
        with(&alice, [&[0], &good[..], b"text"].concat()),
    );
    refused("first-head-2", "an unknown head", with(&alice, [&[2], &good[..], b"text"].concat()));
    refused(
        "first-no-head",
        "a digest without a head",
        with(&alice, [&good[..], b"text"].concat()),
    );
    let mut flipped = good;
    flipped[31] ^= 1;
    refused("first-flipped", "the last bit of the digest", first(&alice, &flipped));
    refused(
        "first-other-identity-key",
        "the identity key in the Olm message is not the certificate's",
        First { identity_key: agreement(MALLORY), ..first(&alice, &good) },
    );
    refused(
        "first-other-address",
        "under the address of another device of alice",
        First { from: (ALICE, 2), ..first(&alice, &good) },
    );
    kind_2(dir, &good);
}

/// Writes the vectors of plaintexts of kind 2.
fn kind_2(dir: &Path, digest: &[u8]) {
    let vector = |scenario, comment: &str, expect: &str, plaintext: &[u8]| {
        Vector::new(scenario, comment, expect)
            .with("kind", "later")
            .with_hex("plaintext", plaintext)
    };
    for (scenario, comment, text) in [
        ("later", "a text", &b"text"[..]),
        ("later-empty-text", "an empty text", b""),
        ("later-text-begins-with-1", "a text that begins like a head", &[&[1], digest].concat()),
    ] {
        let plaintext = [&[0], text].concat();
        vector(scenario, comment, "ok", &plaintext).with_hex("text", text).write(dir);
    }
    for (scenario, comment, plaintext) in [
        (
            "later-head-1",
            "of kind 1, taken out of its frame",
            &[&[1], digest, b"text"].concat()[..],
        ),
        ("later-head-2", "an unknown head", b"\x02text"),
        ("later-head-255", "the last head", b"\xfftext"),
        ("later-no-head", "a text without a head", b"text"),
        ("later-empty", "no byte", b""),
    ] {
        vector(scenario, comment, "authentication", plaintext).write(dir);
    }
}
