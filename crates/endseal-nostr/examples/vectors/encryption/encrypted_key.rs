//! Cases of encrypted secret keys.

use endseal_crypto::{scrypt, xchacha20poly1305};

use super::case::{Case, fixed};

const PASSWORD: &str = "correct horse";
/// A low cost, which a writer would not choose, but a reader accepts.
const LOG_N: u8 = 4;

/// Returns the 91 bytes for a password that is in NFKC already.
fn sealed(password: &str, log_n: u8, handling: u8, secret: &[u8; 32]) -> Vec<u8> {
    let salt = &fixed("salt")[..16];
    let nonce: [u8; 24] = fixed("nonce")[..24].try_into().unwrap();
    let memory = scrypt::memory(log_n, 8, 1).unwrap();
    let key = scrypt::derive(password.as_bytes(), salt, log_n, 8, 1, memory).ok().unwrap();
    let mut text = *secret;
    let tag = xchacha20poly1305::seal(key.expose_secret(), &nonce, &[handling], &mut text);
    [&[2, log_n], salt, &nonce, &[handling], &text, &tag].concat()
}

/// Encodes Bech32 (BIP-173).
fn bech32(prefix: &str, bytes: &[u8]) -> String {
    let mut values = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            values.push((bits >> count) & 31);
        }
        bits &= (1 << count) - 1;
    }
    if count > 0 {
        values.push((bits << (5 - count)) & 31);
    }
    encode(prefix, &values)
}

fn encode(prefix: &str, values: &[u32]) -> String {
    let step = |checksum: u32, value: u32| {
        const GENERATOR: [u32; 5] =
            [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
        let top = checksum >> 25;
        let next = (checksum & 0x1ff_ffff) << 5 ^ value;
        (0..5).filter(|i| top >> i & 1 == 1).fold(next, |sum, i| sum ^ GENERATOR[i])
    };
    let high = prefix.bytes().map(|c| u32::from(c) >> 5);
    let low = prefix.bytes().map(|c| u32::from(c) & 31);
    let data = values.iter().copied();
    let checksum = high.chain([0]).chain(low).chain(data.clone()).chain([0; 6]).fold(1, step) ^ 1;
    let tail = (0..6).map(|i| checksum >> (5 * (5 - i)) & 31);
    let character = |value: u32| {
        char::from(b"qpzry9x8gf2tvdw0s3jn54khce6mua7l"[usize::try_from(value).unwrap()])
    };
    format!("{prefix}1{}", data.chain(tail).map(character).collect::<String>())
}

fn text(bytes: &[u8]) -> String {
    bech32("ncryptsec", bytes)
}

fn case(comment: &str, expect: &str, password: &str, text: &str) -> Case {
    Case::new(comment, expect)
        .with("password", password)
        .with("text", text)
        .with_number("max_log_n", 18)
}

pub(super) fn cases() -> Vec<Case> {
    let secret = fixed("secret of a");
    let mut cases = Vec::new();
    for (comment, typed, form, log_n, handling) in [
        ("a key not known to be insecure", PASSWORD, PASSWORD, LOG_N, 1),
        ("a key known to be insecure", PASSWORD, PASSWORD, LOG_N, 0),
        ("a key that is not tracked, at the default cost", PASSWORD, PASSWORD, 16, 2),
        ("the least cost", PASSWORD, PASSWORD, 1, 1),
        ("an empty password", "", "", LOG_N, 1),
        (
            "a password that NFKC changes",
            "\u{212b}\u{2126}\u{1e9b}\u{323}",
            "\u{c5}\u{3a9}\u{1e69}",
            LOG_N,
            1,
        ),
        ("its normalised form", "\u{c5}\u{3a9}\u{1e69}", "\u{c5}\u{3a9}\u{1e69}", LOG_N, 1),
        ("full-width letters", "\u{ff41}\u{ff42}", "ab", LOG_N, 1),
    ] {
        let case = case(comment, "ok", typed, &text(&sealed(form, log_n, handling, &secret)));
        cases.push(
            case.with_hex("secret", &secret)
                .with_number("log_n", log_n.into())
                .with_number("handling", handling.into()),
        );
    }
    cases.extend(malformed(&sealed(PASSWORD, LOG_N, 1, &secret)));
    cases.extend(refused(&sealed(PASSWORD, LOG_N, 1, &secret)));
    cases
}

fn malformed(good: &[u8]) -> Vec<Case> {
    let case = |comment: &str, expect: &str, text: &str| case(comment, expect, PASSWORD, text);
    let with = |at: usize, byte: u8| {
        let mut bytes = good.to_vec();
        bytes[at] = byte;
        text(&bytes)
    };
    let whole = text(good);
    let end = if whole.ends_with('q') { 'p' } else { 'q' };
    let mixed = format!("{}{}", &whole[..100], whole[100..].to_uppercase());
    vec![
        case("nothing", "length", ""),
        case("a character less", "length", &whole[..161]),
        case("a character more", "length", &format!("{whole}q")),
        case("90 bytes", "length", &text(&good[..90])),
        case("92 bytes", "length", &text(&[good, &[0]].concat())),
        case("another prefix of the same length", "prefix", &bech32("ncryptsek", good)),
        case("no separator", "prefix", &"n".repeat(162)),
        case("another last character", "bech32", &format!("{}{end}", &whole[..161])),
        case("upper and lower case", "bech32", &mixed),
        case(
            "a character that is not allowed",
            "bech32",
            &whole.replacen("ncryptsec1q", "ncryptsec1b", 1),
        ),
        case("version 0", "version", &with(0, 0)),
        case("version 1", "version", &with(0, 1)),
        case("version 3", "version", &with(0, 3)),
        case("a cost of 0", "cost", &with(1, 0)),
        case("a cost of 23: 8 GiB", "cost", &with(1, 23)),
        case("a cost of 255", "cost", &with(1, 255)),
        case("a cost of 19, above the reader's limit", "cost", &with(1, 19)),
        case("a cost of 22, above the reader's limit", "cost", &with(1, 22)),
        case("a handling of 3", "handling", &with(42, 3)).lenient(),
        case("a handling of 255", "handling", &with(42, 255)).lenient(),
    ]
}

fn refused(good: &[u8]) -> Vec<Case> {
    let flipped = |comment: &str, at: usize| {
        let mut bytes = good.to_vec();
        bytes[at] ^= 1;
        case(comment, "authentication", PASSWORD, &text(&bytes))
    };
    let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    let order: [u8; 32] =
        core::array::from_fn(|i| u8::from_str_radix(&order[2 * i..2 * i + 2], 16).unwrap());
    vec![
        case("another password", "authentication", "correct horses", &text(good)),
        case("a password in upper case", "authentication", "Correct horse", &text(good)),
        case("a password with a blank", "authentication", "correct horse ", &text(good)),
        case("no password", "authentication", "", &text(good)),
        flipped("another cost", 1),
        flipped("another salt", 2),
        flipped("another last byte of the salt", 17),
        flipped("another nonce", 18),
        flipped("another last byte of the nonce", 41),
        flipped("another handling", 42),
        flipped("another ciphertext", 43),
        flipped("another tag", 90),
        case("a secret key of zero", "key", PASSWORD, &text(&sealed(PASSWORD, LOG_N, 1, &[0; 32]))),
        case("a secret key of n", "key", PASSWORD, &text(&sealed(PASSWORD, LOG_N, 1, &order))),
    ]
}
