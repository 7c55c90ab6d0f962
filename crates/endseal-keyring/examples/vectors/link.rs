//! Vectors of link texts.

use std::path::Path;

use endseal_testing::Vector;

use crate::{bech32m, owner};

const PREFIX: &str = "endseallink";
const SECRET: [u8; 32] = [0x5e; 32];
const PEER: [u8; 32] = [0x33; 32];
const AGREEMENT: [u8; 32] = [9; 32];

/// Version, secret, identity, ML-KEM-768 key, signature, peer id and three keys.
fn payload() -> Vec<Vec<u8>> {
    let (device, other) = (owner(1), owner(2));
    let kem = device.public().signed_kem_key().unwrap();
    Vec::from([
        Vec::from([1]),
        SECRET.to_vec(),
        device.public().ed25519().as_bytes().to_vec(),
        kem.key().as_bytes().to_vec(),
        kem.signature().as_bytes().to_vec(),
        PEER.to_vec(),
        AGREEMENT.to_vec(),
        device.public().ed25519().as_bytes().to_vec(),
        other.public().ed25519().as_bytes().to_vec(),
    ])
}

pub(crate) fn write(dir: &Path) {
    let vector = |scenario: &str, comment: &str, expect: &str, text: &str| {
        let scenario = format!("link-{scenario}");
        Vector::new(&scenario, comment, expect).with("kind", "link").with("input", text)
    };
    let good = bech32m::encode(PREFIX, &payload().concat());
    let wrapped: Vec<_> =
        good.as_bytes().chunks(76).map(|it| str::from_utf8(it).unwrap()).collect();
    for (scenario, comment, text) in [
        ("plain", "a device", good.clone()),
        ("wrapped", "line breaks and spaces, as mail makes them", wrapped.join("\r\n ")),
    ] {
        vector(scenario, comment, "ok", &text)
            .with_hex("secret", &SECRET)
            .with_hex("ed25519", &payload()[2])
            .with_hex("peer_id", &PEER)
            .with_hex("agreement", &AGREEMENT)
            .with_hex("signing", &payload()[7])
            .with_hex("group", &payload()[8])
            .with("number", NUMBER)
            .write(dir);
    }
    let with = |field: usize, bytes: &[u8]| {
        let mut payload = payload();
        payload[field] = bytes.to_vec();
        bech32m::encode(PREFIX, &payload.concat())
    };
    let (other, low_order) = (owner(2), [&[1][..], &[0; 31]].concat());
    let kem = other.public().signed_kem_key().unwrap();
    let mut replaced = good.clone();
    let at = good.len() - 9;
    replaced.replace_range(at..=at, if &good[at..=at] == "q" { "p" } else { "q" });
    for (scenario, comment, expect, text) in [
        ("version-0", "version 0", "version", with(0, &[0])),
        ("version-2", "version 2", "version", with(0, &[2])),
        ("identity-low-order", "the neutral element", "key", with(2, &low_order)),
        ("kem-not-reduced", "a coefficient of q", "key", with(3, &[0xff; 1184])),
        ("kem-of-another", "the key of another", "signature", with(3, kem.key().as_bytes())),
        ("agreement-not-canonical", "p", "key", with(6, &[0xff; 32])),
        ("signing-low-order", "the neutral element", "key", with(7, &low_order)),
        ("group-low-order", "the neutral element", "key", with(8, &low_order)),
        ("shorter", "31 bytes of the last key", "length", with(8, &[1; 31])),
        ("typing-error", "another character", "checksum", replaced),
        ("truncated", "the last character is missing", "length", good[..good.len() - 1].into()),
        ("capital", "a capital letter", "character", good.replacen("1q", "1Q", 1)),
        ("other-prefix", "a peer id", "prefix", bech32m::encode("endsealpeer", &[1; 32])),
        (
            "padding",
            "a bit of padding is set",
            "padding",
            bech32m::encode_with_padding(PREFIX, &payload().concat()),
        ),
    ] {
        vector(scenario, comment, expect, &text).write(dir);
    }
}

/// Number that people compare.
const NUMBER: &str = "72925 33073 48409 93019";
