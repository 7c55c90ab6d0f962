//! Vectors of Olm's encoding: the valid one, and others that protobuf would accept for the same
//! message. Also the first messages of a session that libolm wrote.

use std::path::Path;

use endseal_testing::Vector;

use crate::x25519;

const MAC: [u8; 8] = [0xac; 8];

pub(crate) fn write(dir: &Path) {
    let key = [&[0x0a, 32][..], &x25519(0x61)].concat();
    let (index, text) = (&[0x10, 0][..], [&[0x22, 16][..], &[0xcc; 16]].concat());
    let good = [&[3], &key[..], index, &text, &MAC].concat();
    let with_index = |index: &[u8]| [&[3], &key[..], &[0x10], index, &text, &MAC].concat();
    let with_text = |text: &[u8]| [&[3], &key[..], index, text, &MAC].concat();

    let vector = |scenario, comment: &str, expect: &str, bytes: &[u8]| {
        Vector::new(scenario, comment, expect)
            .with("kind", "olm")
            .with_hex("body", bytes)
            .write(dir);
    };
    vector("olm-first", "the first of a chain", "ok", &good);
    vector("olm-300", "number 300", "ok", &with_index(&[0xac, 2]));
    vector("olm-two-blocks", "32 bytes", "ok", &with_text(&[&[0x22, 32][..], &[1; 32]].concat()));
    let most = [&[0xff; 9][..], &[1]].concat();
    vector("olm-2-64", "number 2^64 - 1", "ok", &with_index(&most));
    let version_4 = [&[4], &good[1..], &[0xac; 24]].concat();
    let fifteen = [&[0x22, 15][..], &[0xcc; 15]].concat();
    let failures: &[(&'static str, &str, Vec<u8>)] = &[
        ("olm-empty", "nothing", Vec::new()),
        ("olm-version-4", "a MAC of 32 bytes", version_4),
        ("olm-truncated", "the last byte is missing", good[..good.len() - 1].to_vec()),
        ("olm-trailing-byte", "a byte too many", [&good[..], &[0]].concat()),
        ("olm-no-key", "no key", [&[3], index, &text[..], &MAC].concat()),
        (
            "olm-key-31-bytes",
            "a key of 31 bytes",
            [&[3, 0x0a, 31][..], &key[2..33], index, &text, &MAC].concat(),
        ),
        ("olm-no-number", "no number", [&[3], &key[..], &text, &MAC].concat()),
        ("olm-number-overlong", "0 in two bytes", with_index(&[0x80, 0])),
        ("olm-number-2-64", "2^64", with_index(&[&[0x80; 9][..], &[2]].concat())),
        ("olm-number-twice", "two numbers", with_index(&[0, 0x10, 0])),
        ("olm-other-order", "the key last", [&[3], index, &text[..], &key, &MAC].concat()),
        (
            "olm-unknown-field",
            "a field 5",
            [&[3], &key[..], index, &text, &[0x28, 0], &MAC].concat(),
        ),
        ("olm-no-text", "no ciphertext", with_text(&[])),
        ("olm-text-empty", "a ciphertext of 0 bytes", with_text(&[0x22, 0])),
        ("olm-text-15-bytes", "not whole blocks", with_text(&fifteen)),
        ("olm-text-length-overlong", "16 in two bytes", {
            with_text(&[&[0x22, 0x90, 0][..], &[0xcc; 16]].concat())
        }),
        ("olm-text-length-2-64", "a length of 2^64 - 1", {
            with_text(&[&[0x22], &most[..], &[0xcc; 16]].concat())
        }),
    ];
    for (scenario, comment, bytes) in failures {
        vector(scenario, comment, "malformed", bytes);
    }
    prekey(dir, &good);
    session(dir);
}

fn prekey(dir: &Path, inner: &[u8]) {
    let field = |tag: u8, bytes: &[u8]| {
        let len = u8::try_from(bytes.len()).unwrap();
        [&[tag, len], bytes].concat()
    };
    let one_time = field(0x0a, &x25519(0x33));
    let base = field(0x12, &x25519(0x51));
    let identity = field(0x1a, &x25519(0x11));
    let message = field(0x22, inner);
    let good = [&[3], &one_time[..], &base, &identity, &message].concat();

    let vector = |scenario, comment: &str, expect: &str, bytes: &[u8]| {
        Vector::new(scenario, comment, expect)
            .with("kind", "olm-prekey")
            .with_hex("body", bytes)
            .write(dir);
    };
    vector("olm-prekey", "a pre-key message", "ok", &good);
    let long = [&[0x22, 0x80 | message[1], 0][..], inner].concat();
    // The length as a varint of two bytes.
    let low = u8::try_from(good.len() & 0x7f).unwrap();
    let high = u8::try_from(good.len() >> 7).unwrap();
    let failures: &[(&'static str, &str, Vec<u8>)] = &[
        ("olm-prekey-is-not", "a ratchet message", inner.to_vec()),
        ("olm-prekey-version-2", "version 2", [&[2], &good[1..]].concat()),
        ("olm-prekey-truncated", "the last byte is missing", good[..good.len() - 1].to_vec()),
        ("olm-prekey-trailing-byte", "a byte too many", [&good[..], &[0]].concat()),
        (
            "olm-prekey-no-one-time-key",
            "no one-time key",
            [&[3], &base[..], &identity, &message].concat(),
        ),
        (
            "olm-prekey-other-order",
            "the identity key first",
            [&[3], &identity[..], &one_time, &base, &message].concat(),
        ),
        ("olm-prekey-unknown-field", "a field 5", [&good[..], &[0x28, 0]].concat()),
        (
            "olm-prekey-length-overlong",
            "a length in two bytes",
            [&[3], &one_time[..], &base, &identity, &long].concat(),
        ),
        (
            "olm-prekey-in-prekey",
            "a pre-key message in another",
            [&[3][..], &one_time, &base, &identity, &[0x22, 0x80 | low, high], &good].concat(),
        ),
        ("olm-prekey-no-message", "no message", {
            [&[3], &one_time[..], &base, &identity].concat()
        }),
    ];
    for (scenario, comment, bytes) in failures {
        vector(scenario, comment, "malformed", bytes);
    }
}

/// Writes the vector of a session with known keys of the receiver.
fn session(dir: &Path) {
    let mut lines = include_str!("libolm.txt").lines().filter(|line| !line.starts_with('#'));
    let agreement = lines.next().unwrap();
    let messages: Vec<(&str, &str)> = lines.map(|line| line.split_once(' ').unwrap()).collect();
    let vector = |scenario, comment: &str, order: &[usize]| {
        let bodies: Vec<&str> = order.iter().map(|at| messages[*at].0).collect();
        let texts: Vec<&str> = order.iter().map(|at| messages[*at].1).collect();
        Vector::new(scenario, comment, "ok")
            .with("kind", "olm-session")
            .with_hex("signing_seed", &[2; 32])
            .with_hex("agreement_secret", &[2; 32])
            .with_hex("one_time_secret", &[3; 32])
            .with("agreement", agreement)
            .with("bodies", &bodies.join(","))
            .with("texts", &texts.join(","))
            .write(dir);
    };
    vector("olm-session", "libolm 3.2.15 wrote it", &[0, 1, 2, 3, 4, 5]);
    vector("olm-session-reversed", "the same, the last first", &[5, 4, 3, 2, 1, 0]);
}
