//! Cases of keys as text. They are compared in constant time, so each class has cases at its
//! boundary here.

use endseal_nostr::key;
use serde_json::{Value, json};

use super::raw_bech32::{encode, from_values, values};
use super::{accepted, hex, refused};

/// Order of the group.
pub(super) const N: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
    0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
];
/// Prime of the curve's field.
pub(super) const P: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xfc, 0x2f,
];

/// Returns the smallest x that no point of the curve has.
pub(crate) fn off_curve() -> [u8; 32] {
    let mut x = [0; 32];
    x[31] = 5;
    x
}

pub(super) fn cases() -> Vec<Value> {
    let mut cases = published();
    let minus = |mut number: [u8; 32]| {
        number[31] -= 1;
        number
    };
    let mut one = [0; 32];
    one[31] = 1;
    for (name, bytes) in [("1", one), ("n - 1", minus(N)), ("3 repeated", [3; 32])] {
        let secret = key::SecretKey::from_bytes(&bytes).expect("in range");
        let public = secret.public_key();
        let fields = json!({"bytes": hex(&bytes), "public_key": hex(&public.to_bytes())});
        cases.push(accepted(
            "nsec",
            &format!("secret {name}"),
            encode("nsec", &bytes),
            fields.clone(),
        ));
        cases.push(accepted("secret", &format!("secret {name}"), hex(&bytes), fields));
    }
    for (name, bytes) in [("zero", [0; 32]), ("n", N), ("all ones", [0xff; 32])] {
        let comment = format!("secret key of value {name}");
        cases.push(refused("nsec", "value", &comment, encode("nsec", &bytes)));
        cases.push(refused("secret", "value", &comment, hex(&bytes)));
    }
    for (name, bytes) in [("zero", [0; 32]), ("5, off the curve", off_curve()), ("p", P)] {
        let comment = format!("public key of x {name}");
        cases.push(refused("npub", "value", &comment, encode("npub", &bytes)));
        cases.push(refused("public", "value", &comment, hex(&bytes)));
    }
    hexadecimal(&mut cases);
    bech32(&mut cases);
    cases
}

/// Returns the examples of NIP-19.
fn published() -> Vec<Value> {
    [
        (
            "npub",
            "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg",
            "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        ),
        (
            "npub",
            "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6",
            "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d",
        ),
        (
            "nsec",
            "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5",
            "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa",
        ),
    ]
    .map(|(form, text, bytes)| accepted(form, "example of NIP-19", text, json!({"bytes": bytes})))
    .to_vec()
}

fn hexadecimal(cases: &mut Vec<Value>) {
    let text = hex(&[0xa3; 32]);
    for (comment, text) in [
        ("empty", String::new()),
        ("62 digits", text[..62].to_owned()),
        ("63 digits", text[..63].to_owned()),
        ("66 digits", format!("{text}a3")),
        ("upper case", text.to_uppercase()),
        ("one digit in upper case", text.replacen('a', "A", 1)),
        ("a letter behind f", text.replacen('a', "g", 1)),
        ("a space", format!(" {}", &text[..63])),
        ("a prefix", format!("0x{}", &text[..62])),
    ] {
        cases.push(refused("secret", "hex", comment, text.clone()));
        cases.push(refused("public", "hex", comment, text));
    }
}

fn bech32(cases: &mut Vec<Value>) {
    let text = encode("nsec", &[3; 32]);
    let upper = text.to_uppercase();
    let fields = json!({"bytes": hex(&[3; 32])});
    cases.push(accepted("nsec", "upper case, as in QR codes", upper.clone(), fields));
    let mut padded = values(&[3; 32]);
    *padded.last_mut().expect("it has values") |= 1;
    for (expect, comment, text) in [
        ("length", "empty", String::new()),
        ("length", "31 bytes", encode("nsec", &[3; 31])),
        ("length", "33 bytes", encode("nsec", &[3; 33])),
        ("length", "a trailing line end", format!("{text}\n")),
        ("prefix", "a public key", encode("npub", &[3; 32])),
        ("prefix", "an event id", encode("note", &[3; 32])),
        ("prefix", "no separator", text.replace('1', "q")),
        ("character", "prefix in upper case only", text.replace("nsec", "NSEC")),
        ("character", "data in upper case only", upper.replace("NSEC", "nsec")),
        ("character", "one letter of the prefix in upper case", text.replace("nsec", "nSec")),
        ("character", "the letter b", format!("{}b{}", &text[..30], &text[31..])),
        ("character", "a space", format!("{} {}", &text[..30], &text[31..])),
        ("checksum", "the last two characters are swapped", {
            let (head, tail) = text.split_at(61);
            format!("{head}{}", tail.chars().rev().collect::<String>())
        }),
        ("checksum", "bech32m", from_values("nsec", &values(&[3; 32]), 0x2bc8_30a3)),
        (
            "checksum",
            "checksum of another prefix",
            encode("npub", &[3; 32]).replace("npub", "nsec"),
        ),
        ("padding", "a filling bit is 1", from_values("nsec", &padded, 1)),
    ] {
        cases.push(refused("nsec", expect, comment, text));
    }
}
