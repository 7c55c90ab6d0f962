//! Vectors of public identities, secrets and contacts.

use std::path::Path;

use endseal_crypto::label::{IDENTITY_KEM_KEY, IDENTITY_STORE};
use endseal_crypto::{ed25519, hash};
use endseal_testing::Vector;

use crate::{
    LOW_ORDER, NOT_CANONICAL, NOT_ON_CURVE, bech32m, kem_key_of_another, long, long_payload,
    mixed_order, owner, payload, short,
};

pub(crate) fn write(dir: &Path) {
    public_text(dir);
    wrong_signatures(dir);
    secret_text(dir);
    contacts(dir);
}

fn public_text(dir: &Path) {
    let vector = |scenario, comment: &str, expect: &str, text: &str| {
        Vector::new(scenario, comment, expect).with("kind", "public-text").with("input", text)
    };
    let own = owner(1);
    let key = own.public().ed25519().as_bytes();
    let kem = own.public().mlkem768().unwrap().as_bytes();
    vector("public-short", "Ed25519 key alone", "ok", &short(1))
        .with_hex("ed25519", key)
        .write(dir);
    vector("public-long", "Ed25519 and ML-KEM-768 key, signed", "ok", &long(1))
        .with_hex("ed25519", key)
        .with_hex("mlkem768_blake3", &hash::digest(kem))
        .write(dir);

    let good = short(1);
    let mut replaced = good.clone();
    replaced.replace_range(20..21, if &good[20..21] == "q" { "p" } else { "q" });
    let mut other_case = good.clone();
    other_case.replace_range(8..9, &good[8..9].to_uppercase());
    other_case.replace_range(11..12, &good[11..12].to_uppercase());
    let mut wide = long_payload(own.public());
    // The first coefficient becomes 3329 = q.
    (wide[32], wide[33]) = (0x01, wide[33] & 0xf0 | 0x0d);
    let text = |prefix, payload: &[u8]| bech32m::encode(prefix, payload);

    let failures: &[(&'static str, &str, &str, String)] = &[
        ("public-one-character-replaced", "a typing error", "checksum", replaced),
        (
            "public-bech32",
            "checksum of Bech32 instead of Bech32m",
            "checksum",
            bech32m::encode_without_m("endseal", key),
        ),
        (
            "public-long-key-under-short-prefix",
            "1,280 bytes under the short prefix",
            "length",
            text("endseal", &long_payload(own.public())),
        ),
        (
            "public-short-key-under-long-prefix",
            "32 bytes under the long prefix",
            "length",
            text("endsealpq", key),
        ),
        (
            "public-long-without-signature",
            "both keys without a signature",
            "length",
            text("endsealpq", &long_payload(own.public())[..1216]),
        ),
        ("public-31-bytes", "a key of 31 bytes", "length", text("endseal", &key[..31])),
        ("public-truncated", "the last character is missing", "length", good[..65].into()),
        ("public-prefix-only", "nothing after the prefix", "length", "endseal1".into()),
        ("public-upper-case", "all in upper case", "character", good.to_uppercase()),
        ("public-mixed-case", "some letters in upper case", "character", other_case),
        (
            "public-letter-b",
            "the letter b is not in the alphabet",
            "character",
            good.replacen(&good[30..31], "b", 64),
        ),
        ("public-line-feed", "a line feed at the end", "character", format!("{good}\n")),
        (
            "public-not-ascii",
            "a letter beyond ASCII",
            "character",
            format!("{}\u{e9}", &good[..65]),
        ),
        (
            "public-padding",
            "a bit of padding is set",
            "padding",
            bech32m::encode_with_padding("endseal", key),
        ),
        ("public-empty", "no text", "prefix", String::new()),
        ("public-space-in-front", "a space in front", "prefix", format!(" {good}")),
        ("public-age-key", "a key of age", "prefix", text("age", key)),
        (
            "public-is-a-secret",
            "a secret where a public identity should be",
            "prefix",
            bech32m::encode("endseal-secret-", &[1; 96]).to_uppercase(),
        ),
        ("public-low-order", "the neutral element", "key", text("endseal", &LOW_ORDER)),
        ("public-not-on-curve", "y = 2", "key", text("endseal", &NOT_ON_CURVE)),
        ("public-not-canonical", "y = p + 3", "key", text("endseal", &NOT_CANONICAL)),
        ("public-mixed-order", "a key and a point of order 8", "key", mixed_order()),
        (
            "public-kem-not-reduced",
            "a coefficient of the ML-KEM-768 key is 3329",
            "key",
            text("endsealpq", &wide),
        ),
    ];
    for (scenario, comment, expect, text) in failures {
        vector(scenario, comment, expect, text).write(dir);
    }
}

/// Writes long forms without a valid signature of the Ed25519 key over the ML-KEM-768 key.
fn wrong_signatures(dir: &Path) {
    let (own, other) = (owner(1), owner(2));
    let key = own.public().ed25519().as_bytes();
    let kem = own.public().signed_kem_key().unwrap();
    let (kem, signature) = (kem.key().as_bytes(), kem.signature().as_bytes());
    let digest = hash::digest(kem);
    let sign =
        |owner: &ed25519::SigningKey, parts: &[&[u8]]| *owner.sign(&parts.concat()).as_bytes();
    let label = IDENTITY_KEM_KEY.as_str().as_bytes();
    let changed = |at: usize| {
        let mut changed = *signature;
        changed[at] ^= 1;
        changed
    };
    // S + L, which satisfies the same equation.
    let mut not_reduced = *signature;
    let mut carry = 0;
    for (s, l) in not_reduced[32..].iter_mut().zip(ORDER) {
        carry += u16::from(*s) + u16::from(l);
        *s = carry.to_le_bytes()[0];
        carry >>= 8;
    }
    let other_kem = other.public().mlkem768().unwrap().as_bytes();
    let text =
        |kem: &[u8], signature: &[u8]| bech32m::encode("endsealpq", &payload(key, kem, signature));
    let cases: &[(&'static str, &str, String)] = &[
        (
            "public-kem-of-another",
            "somebody else's ML-KEM-768 key with a signature by its owner",
            kem_key_of_another(),
        ),
        (
            "public-kem-replaced",
            "somebody else's ML-KEM-768 key with the signature over the right one",
            text(other_kem, signature),
        ),
        (
            "public-kem-signed-by-another",
            "the right key, signed by somebody else",
            text(kem, &sign(other.signing(), &[label, &[0], &digest])),
        ),
        ("public-kem-signature-r", "a bit of R is changed", text(kem, &changed(0))),
        ("public-kem-signature-s", "a bit of S is changed", text(kem, &changed(32))),
        ("public-kem-signature-not-reduced", "S + L", text(kem, &not_reduced)),
        ("public-kem-signature-zero", "64 zero bytes", text(kem, &[0; 64])),
        (
            "public-kem-signature-without-label",
            "the digest is signed alone",
            text(kem, &sign(own.signing(), &[&digest])),
        ),
        (
            "public-kem-signature-without-digest",
            "the key itself is signed in the place of its digest",
            text(kem, &sign(own.signing(), &[label, &[0], kem])),
        ),
    ];
    for (scenario, comment, text) in cases {
        Vector::new(scenario, comment, "signature")
            .with("kind", "public-text")
            .with("input", text)
            .write(dir);
    }
}

/// L = 2^252 + 27742317777372353535851937790883648493, little-endian.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

fn secret_text(dir: &Path) {
    let vector = |scenario, comment: &str, expect: &str, text: &str| {
        Vector::new(scenario, comment, expect).with("kind", "secret-text").with("input", text)
    };
    let seeds = [[7; 32], [8; 32], [9; 32]].concat();
    let good = bech32m::encode("endseal-secret-", &seeds).to_uppercase();
    vector("secret", "two seeds", "ok", &good)
        .with_hex("ed25519_seed", &seeds[..32])
        .with_hex("mlkem768_seed", &seeds[32..])
        .with_hex("store_key", &hash::derive(IDENTITY_STORE, &[&seeds]))
        .write(dir);
    let swapped = good.replacen('R', "S", 1);
    let padding = bech32m::encode_with_padding("endseal-secret-", &seeds).to_uppercase();
    let failures: &[(&'static str, &str, &str, &str)] = &[
        ("secret-lower-case", "in lower case", "character", &good.to_lowercase()),
        ("secret-line-feed", "a line feed at the end", "character", &format!("{good}\n")),
        ("secret-truncated", "the last ten characters are missing", "length", &good[..166]),
        (
            "secret-checksum",
            "one character replaced",
            "checksum",
            &format!("{}{}", &good[..16], swapped[16..].replacen('Q', "P", 1)),
        ),
        ("secret-padding", "a bit of padding is set", "padding", &padding),
        ("secret-is-public", "a public identity where a secret should be", "prefix", &short(1)),
    ];
    for (scenario, comment, expect, text) in failures {
        vector(scenario, comment, expect, text).write(dir);
    }
}

fn contacts(dir: &Path) {
    let vector = |scenario, comment: &str, expect: &str, text: &str| {
        Vector::new(scenario, comment, expect).with("kind", "contacts").with("input", text)
    };
    let (alice, bob, carol) = (short(1), long(2), short(3));
    let header = "# endseal contacts: one \"name identity\" a line. Comments are not kept.\n";
    let canonical = format!("{header}alice {alice}\nbob {bob}\n");
    vector("contacts-canonical", "as it is written", "ok", &canonical)
        .with("output", &canonical)
        .write(dir);
    let edited = format!("\n# friends\r\n  bob\t{bob}  \r\n\nalice   {alice}");
    vector("contacts-edited", "comments, blanks, carriage returns, another order", "ok", &edited)
        .with("output", &canonical)
        .write(dir);
    vector("contacts-empty", "no entry", "ok", "").with("output", header).write(dir);

    let (_, minus) = negated(1);
    let failures: &[(&'static str, &str, &str, String)] = &[
        (
            "contacts-duplicate-name",
            "one name, two identities",
            "duplicate",
            format!("alice {alice}\nalice {carol}\n"),
        ),
        (
            "contacts-duplicate-identity",
            "two names, one identity",
            "duplicate",
            format!("alice {alice}\ncarol {alice}\n"),
        ),
        (
            "contacts-duplicate-key-other-form",
            "the short and the long form of one",
            "duplicate",
            format!("alice {alice}\nalice2 {}\n", long(1)),
        ),
        (
            "contacts-duplicate-key-other-sign",
            "A and -A",
            "duplicate",
            format!("alice {alice}\nalice2 {minus}\n"),
        ),
        ("contacts-name-upper-case", "capital letters in a name", "name", format!("Bob {alice}\n")),
        (
            "contacts-name-not-ascii",
            "a Cyrillic letter in a name",
            "name",
            format!("b\u{43e}b {alice}\n"),
        ),
        ("contacts-name-dash", "a name that looks like an option", "name", format!("-r {alice}\n")),
        ("contacts-name-dot", "a hidden file", "name", format!(".bob {alice}\n")),
        (
            "contacts-name-65",
            "a name of 65 characters",
            "name",
            format!("{} {alice}\n", "x".repeat(65)),
        ),
        ("contacts-swapped", "identity before name", "name", format!("{alice} alice\n")),
        ("contacts-one-word", "a name without an identity", "form", String::from("alice\n")),
        (
            "contacts-three-words",
            "a comment behind an entry",
            "form",
            format!("alice {alice} # friend\n"),
        ),
        (
            "contacts-kem-of-another",
            "somebody else's ML-KEM-768 key, after an identity that is right",
            "signature",
            format!("bob {bob}\nalice {}\n", kem_key_of_another()),
        ),
        (
            "contacts-mixed-order",
            "a key and a point of order 8, after the key",
            "key",
            format!("bob {bob}\nbob2 {}\n", mixed_order()),
        ),
        (
            "contacts-checksum",
            "a typing error in an identity",
            "checksum",
            format!("alice {}\n", bech32m::encode_without_m("endseal", &[9; 32])),
        ),
    ];
    for (scenario, comment, expect, text) in failures {
        vector(scenario, comment, expect, text).write(dir);
    }
}

/// Returns the key of `owner(n)` with the other sign of x, and its text.
pub(crate) fn negated(n: u8) -> ([u8; 32], String) {
    let mut key = *owner(n).public().ed25519().as_bytes();
    key[31] ^= 0x80;
    (key, bech32m::encode("endseal", &key))
}
