//! Cases of payloads, of conversation keys, and of plaintexts that cannot be sealed.

use endseal_crypto::secp256k1::{PublicKey, SecretKey};
use endseal_crypto::{chacha20, sha256};

use super::case::{Case, base64, fixed, hex};

pub(super) fn conversation_key(secret: &SecretKey, public: &PublicKey) -> [u8; 32] {
    sha256::hmac(b"nip44-v2", &[secret.ecdh_x(public).expose_secret()])
}

/// Returns the plaintext with `prefix`, padded to `len` bytes.
fn padded(prefix: &[u8], plaintext: &[u8], len: usize) -> Vec<u8> {
    let mut padded = [prefix, plaintext].concat();
    assert!(padded.len() <= len);
    padded.resize(len, 0);
    padded
}

/// Pads as NIP-44 defines it.
fn pad(plaintext: &[u8]) -> Vec<u8> {
    let len = plaintext.len();
    let step = if len <= 32 { 32 } else { (1_usize << ((len - 1).ilog2() + 1)).max(256) / 8 };
    let body = len.div_ceil(step) * step;
    match u16::try_from(len) {
        Ok(short) => padded(&short.to_be_bytes(), plaintext, 2 + body),
        Err(_) => {
            let len = u32::try_from(len).unwrap().to_be_bytes();
            padded(&[&[0, 0], &len[..]].concat(), plaintext, 6 + body)
        }
    }
}

/// Derives 96 bytes, of which 76 are used.
fn message_keys(key: &[u8; 32], nonce: &[u8; 32]) -> Vec<u8> {
    let first = sha256::hmac(key, &[nonce, &[1]]);
    let second = sha256::hmac(key, &[&first, nonce, &[2]]);
    let third = sha256::hmac(key, &[&second, nonce, &[3]]);
    [first, second, third].concat()
}

/// Returns the payload of a padded plaintext, before Base64.
fn raw(key: &[u8; 32], nonce: &[u8; 32], padded: &[u8]) -> Vec<u8> {
    let keys = message_keys(key, nonce);
    let (cipher, iv) = (keys[..32].try_into().unwrap(), keys[32..44].try_into().unwrap());
    let mut text = padded.to_vec();
    chacha20::apply_keystream(cipher, iv, 0, &mut text).unwrap();
    let mac = sha256::hmac(&keys[44..76], &[nonce, &text]);
    [&[2], &nonce[..], &text, &mac].concat()
}

pub(super) fn payload(key: &[u8; 32], nonce: &[u8; 32], plaintext: &[u8]) -> String {
    base64(&raw(key, nonce, &pad(plaintext)))
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = keys();
    cases.extend(opened());
    cases.extend(misread());
    cases.extend(malformed());
    cases.extend(authentication_failures());
    cases.extend(mispadded());
    cases.extend(unsealed());
    cases
}

/// Order of the group, in hexadecimal.
const N: &str = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
/// Prime of the curve's field, in hexadecimal.
const P: &str = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f";
const ZERO: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const ONES: &str = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";

/// Returns the number after that of `digits`.
fn next(digits: &str) -> String {
    let (head, last) = digits.split_at(digits.len() - 1);
    format!("{head}{:x}", u8::from_str_radix(last, 16).unwrap() + 1)
}

fn keys() -> Vec<Case> {
    let secret = SecretKey::from_bytes(&fixed("secret of a")).unwrap();
    let public = SecretKey::from_bytes(&fixed("secret of b")).unwrap().public_key();
    let key = conversation_key(&secret, &public);
    let case = |comment: &str, expect: &str, secret: &str, public: &str| {
        Case::new(comment, expect).with("op", "key").with("secret", secret).with("public", public)
    };
    let (good_secret, good_public) = (hex(secret.expose_secret()), hex(&public.to_bytes()));
    // x^3 + 7 has no square root for this x.
    let off_curve = "0000000000000000000000000000000000000000000000000000000000000005";
    vec![
        case("conversation key", "ok", &good_secret, &good_public)
            .with_hex("conversation_key", &key),
        case("a secret key of zero", "key", ZERO, &good_public),
        case("a secret key of n", "key", N, &good_public),
        case("a secret key of n + 1", "key", &next(N), &good_public),
        case("a secret key of all ones", "key", ONES, &good_public),
        case("a public key off the curve", "key", &good_secret, off_curve),
        case("a public key of zero", "key", &good_secret, ZERO),
        case("a public key of p", "key", &good_secret, P),
        case(
            "a public key of p + 1, which is that of 1 if it is reduced",
            "key",
            &good_secret,
            &P.replace("c2f", "c30"),
        ),
        case("a public key of all ones", "key", &good_secret, ONES),
    ]
}

fn key() -> [u8; 32] {
    fixed("conversation key")
}

fn open(comment: &str, expect: &str, payload: &str) -> Case {
    Case::new(comment, expect)
        .with("op", "open")
        .with_hex("conversation_key", &key())
        .with("payload", payload)
}

fn opened() -> Vec<Case> {
    let mut cases = Vec::new();
    for (comment, plaintext) in [
        ("one byte, no '=' at the end", "a".to_owned()),
        ("32 bytes, the longest of the least padding", "x".repeat(32)),
        ("33 bytes, one '=' at the end", "y".repeat(33)),
        ("64 bytes", "0123456789abcdef".repeat(4)),
        ("65 bytes, two '=' at the end", "z".repeat(65)),
        ("256 bytes, the last in steps of 32", "step".repeat(64)),
        ("257 bytes, the first in steps of 64", format!("{}!", "step".repeat(64))),
        ("zero bytes at the end are plaintext", "end\0\0\0".to_owned()),
        ("text of several scripts", "Grüße, 世界 🌍\n\"\\".to_owned()),
        ("a message of 1,000 bytes", "endseal ".repeat(125)),
    ] {
        let nonce = fixed(comment);
        let case = open(comment, "ok", &payload(&key(), &nonce, plaintext.as_bytes()));
        cases.push(case.with_hex("nonce", &nonce).with_hex("plaintext", plaintext.as_bytes()));
    }
    for (comment, len) in [
        ("65,535 bytes, the longest with the short prefix", 65_535),
        ("65,536 bytes, the shortest with the extended prefix", 65_536),
        ("65,537 bytes, the next step of padding", 65_537),
        ("200,000 bytes", 200_000),
    ] {
        let nonce = fixed(comment);
        let payload = payload(&key(), &nonce, &vec![0x61; len]);
        let case = Case::new(comment, "ok")
            .with("op", "open")
            .with_hex("conversation_key", &key())
            .with_hex("payload_sha256", &sha256::digest(payload.as_bytes()));
        let case = case.with_hex("nonce", &nonce).with_number("plaintext_byte", 0x61);
        cases.push(case.with_number("plaintext_length", len.try_into().unwrap()));
    }
    cases
}

/// Returns the bytes of a valid payload.
fn good() -> Vec<u8> {
    raw(&key(), &fixed("nonce"), &pad(b"not to be opened"))
}

/// Returns errors of versions and lengths.
fn misread() -> Vec<Case> {
    let good = good();
    let text = base64(&good);
    let mut cases = vec![
        open("'#' before a payload", "version", &format!("#{text}")),
        open("'#' in the place of the first character", "version", &format!("#{}", &text[1..])),
        open("'#' alone", "version", "#"),
        open("nothing", "length", ""),
        open("131 characters", "length", &text[..131]),
        open("128 characters: 96 bytes", "length", &text[..128]),
        open("one group", "length", "Ag=="),
    ];
    for version in [0, 1, 3, 0x82, 0xff] {
        let comment = format!("version {version}");
        let payload = base64(&[&[version], &good[1..]].concat());
        cases.push(open(&comment, "version", &payload));
    }
    // A payload of a newer version may continue in another way.
    cases.push(open(
        "version 3 and no Base64 behind it",
        "version",
        &format!("AwAA{}", "*".repeat(128)),
    ));
    for len in [97, 98] {
        let short = raw(&key(), &fixed("nonce"), &[0; 34][..len - 65]);
        let comment = format!("132 characters: {len} bytes, with a right MAC");
        cases.push(open(&comment, "length", &base64(&short)));
    }
    cases
}

/// Returns errors of Base64.
fn malformed() -> Vec<Case> {
    // 32 bytes more than the shortest payload, so that it ends in one '='; 64 more make two.
    let one = base64(&raw(&key(), &fixed("one"), &pad(&[0x61; 33])));
    let two = base64(&raw(&key(), &fixed("two"), &pad(&[0x61; 65])));
    assert!(one.ends_with('=') && !one.ends_with("==") && two.ends_with("=="));
    let last = |text: &str, back: usize| {
        let at = text.len() - back;
        let next = match text.as_bytes()[at] {
            b'9' => '+',
            b'Z' => 'a',
            b'z' => '0',
            b'+' => '/',
            byte => char::from(byte + 1),
        };
        format!("{}{next}{}", &text[..at], &text[at + 1..])
    };
    let with = |at: usize, insert: &str| format!("{}{insert}{}", &one[..at], &one[at..]);
    let url = one.replace('+', "-").replace('/', "_");
    assert_ne!(url, one);
    let middle = format!("{}={}", &one[..59], &one[60..]);
    vec![
        open("a bit behind the last byte, of two", "encoding", &last(&one, 2)).lenient(),
        open("a bit behind the last byte, of four", "encoding", &last(&two, 3)).lenient(),
        open("no '=' at the end", "encoding", &one[..one.len() - 1]).lenient(),
        open("no '==' at the end", "encoding", &two[..two.len() - 2]).lenient(),
        open("one '=' of two at the end", "encoding", &two[..two.len() - 1]).lenient(),
        open("an '=' too many", "encoding", &format!("{one}=")).lenient(),
        open("four '=' behind the payload", "encoding", &format!("{one}====")).lenient(),
        open("an '=' in the middle", "encoding", &middle),
        open("the alphabet for URLs", "encoding", &url).lenient(),
        open("a line end behind the payload", "encoding", &format!("{one}\n")).lenient(),
        open("four line ends in the payload", "encoding", &with(60, "\n\n\n\n")).lenient(),
        open("a blank before the payload", "encoding", &format!(" {one}")).lenient(),
        open("a character outside of ASCII", "encoding", &format!("{}ф{}", &one[..60], &one[62..])),
        open("a zero byte", "encoding", &format!("{}\0{}", &one[..60], &one[61..])),
        open("no Base64 in the first group", "encoding", &format!("A*{}", &one[2..])),
    ]
}

/// Returns payloads that no owner of the keys has made.
fn authentication_failures() -> Vec<Case> {
    let good = good();
    let changed = |comment: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut payload = good.clone();
        change(&mut payload);
        open(comment, "authentication", &base64(&payload))
    };
    let tail = good.len() - 32;
    let other = raw(&fixed("another conversation key"), &fixed("nonce"), &pad(b"not to be opened"));
    vec![
        changed("another nonce", &|payload| payload[1] ^= 1),
        changed("another last byte of the nonce", &|payload| payload[32] ^= 0x80),
        changed("another prefix", &|payload| payload[34] ^= 1),
        changed("another byte of padding", &|payload| payload[tail - 1] ^= 1),
        changed("another MAC", &|payload| payload[tail] ^= 1),
        changed("another last byte of the MAC", &|payload| payload[tail + 31] ^= 1),
        changed("a MAC of zeros", &|payload| payload[tail..].fill(0)),
        changed("a MAC without the nonce", &|payload| {
            let keys = message_keys(&key(), &fixed("nonce"));
            let mac = sha256::hmac(&keys[44..76], &[&payload[33..tail]]);
            payload[tail..].copy_from_slice(&mac);
        }),
        changed("a byte more", &|payload| payload.insert(tail, 0)),
        changed("a block more", &|payload| {
            payload.splice(tail..tail, [0; 32]);
        }),
        open("sealed in another conversation", "authentication", &base64(&other)),
        open(
            "three payloads in a row",
            "authentication",
            &base64(&[good.clone(), good.clone(), good.clone()].concat()),
        ),
    ]
}

/// Returns payloads that an owner of the keys made, with a right MAC and wrong padding.
fn mispadded() -> Vec<Case> {
    let text = b"not to be opened";
    let mut cases = Vec::new();
    let mut case = |comment: &str, padded: &[u8], is_lenient: bool| {
        let payload = base64(&raw(&key(), &fixed(comment), padded));
        let case = open(comment, "authentication", &payload);
        cases.push(if is_lenient { case.lenient() } else { case });
    };
    case("a length of zero", &padded(&[0, 0], text, 34), false);
    case("a length of zero, extended", &padded(&[0; 6], text, 38), false);
    case("a length beyond the end", &padded(&[0, 33], &[0x61; 32], 34), false);
    case("the greatest length with the short prefix", &padded(&[0xff; 2], text, 34), false);
    case("no padding", &padded(&[0, 40], &[0x61; 40], 42), false);
    case("padding of the next step", &padded(&[0, 16], text, 66), false);
    case("padding of one byte more", &padded(&[0, 16], text, 35), false);
    case("a step of 32 where one of 64 is due", &padded(&[1, 1], &[0x61; 257], 2 + 288), false);
    case("padding to the power of two", &padded(&[1, 1], &[0x61; 257], 2 + 512), false);
    let extended = |len: u32| [&[0, 0], &len.to_be_bytes()[..]].concat();
    case("16 bytes with the extended prefix", &padded(&extended(16), text, 38), false);
    case(
        "65,535 bytes as extended length, and 32 there",
        &padded(&extended(65_535), text, 38),
        false,
    );
    case(
        "65,536 bytes as extended length, and 32 there",
        &padded(&extended(65_536), text, 38),
        false,
    );
    case(
        "the greatest extended length, and 32 there",
        &padded(&extended(u32::MAX), text, 38),
        false,
    );
    let mut nonzero = padded(&[0, 16], text, 34);
    nonzero[33] = 1;
    case("padding that ends in another byte than zero", &nonzero, true);
    nonzero[18..].fill(0x20);
    case("padding of blanks", &nonzero, true);
    cases
}

/// Returns plaintexts that must be refused.
fn unsealed() -> Vec<Case> {
    let case = |comment: &str, lengths: &str, len: u64| {
        Case::new(comment, "length")
            .with("op", "seal")
            .with_hex("conversation_key", &key())
            .with_hex("nonce", &fixed(comment))
            .with("lengths", lengths)
            .with_number("plaintext_byte", 0x61)
            .with_number("plaintext_length", len)
    };
    vec![
        case("an empty plaintext", "extended", 0),
        case("an empty plaintext, short lengths", "up-to-65535", 0),
        case("65,536 bytes where 65,535 are allowed", "up-to-65535", 65_536),
        case("100,000 bytes where 65,535 are allowed", "up-to-65535", 100_000),
    ]
}
