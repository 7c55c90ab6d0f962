//! Cases of NIP-04 contents.

use endseal_crypto::aes_cbc;
use endseal_crypto::secp256k1::{PublicKey, SecretKey};

use super::case::{Case, base64, fixed};

fn secret(name: &str) -> SecretKey {
    SecretKey::from_bytes(&fixed(name)).unwrap()
}

fn peer() -> PublicKey {
    secret("secret of b").public_key()
}

fn iv() -> [u8; 16] {
    fixed("iv")[..16].try_into().unwrap()
}

/// Encrypts `plaintext` with PKCS #7 padding.
fn ciphertext(plaintext: &[u8]) -> Vec<u8> {
    let key = secret("secret of a").ecdh_x(&peer());
    let mut buffer = plaintext.to_vec();
    buffer.resize(aes_cbc::ciphertext_len(plaintext.len()), 0);
    aes_cbc::encrypt(key.expose_secret(), &iv(), &mut buffer, plaintext.len()).unwrap();
    buffer
}

/// Encrypts whole blocks without padding: the last block, which is padding, is removed.
fn unpadded(blocks: &[u8]) -> Vec<u8> {
    ciphertext(blocks)[..blocks.len()].to_vec()
}

fn content(ciphertext: &[u8]) -> String {
    format!("{}?iv={}", base64(ciphertext), base64(&iv()))
}

fn case(comment: &str, expect: &str, content: &str) -> Case {
    case_for("secret of a", comment, expect, content)
}

fn case_for(name: &str, comment: &str, expect: &str, content: &str) -> Case {
    Case::new(comment, expect)
        .with_hex("secret", secret(name).expose_secret())
        .with_hex("public", &peer().to_bytes())
        .with("content", content)
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (comment, plaintext) in [
        ("an empty plaintext", String::new()),
        ("15 bytes, one of padding", "x".repeat(15)),
        ("16 bytes, a block of padding", "y".repeat(16)),
        ("text", "Are you there? Grüße 🌍".to_owned()),
        ("1,000 bytes", "endseal ".repeat(125)),
    ] {
        let case = case(comment, "ok", &content(&ciphertext(plaintext.as_bytes())));
        cases.push(case.with_hex("iv", &iv()).with_hex("plaintext", plaintext.as_bytes()));
    }
    let sealed = ciphertext(b"not to be opened, by anyone");
    let text = base64(&sealed);
    let iv_text = base64(&iv());
    let good = content(&sealed);
    cases.extend([
        case("nothing", "format", ""),
        case("no IV", "format", &text),
        case("an IV alone", "format", &format!("?iv={iv_text}")),
        case("an empty IV", "format", &format!("{text}?iv=")),
        case("an IV of 15 bytes", "format", &format!("{text}?iv={}", base64(&iv()[..15]))),
        case("an IV of 17 bytes", "format", &format!("{text}?iv={}", base64(&[7; 17]))),
        case("an IV of 18 bytes", "format", &format!("{text}?iv={}", base64(&[7; 18]))),
        case("an IV without '=='", "format", &format!("{text}?iv={}", &iv_text[..22])).lenient(),
        case("another name than iv", "format", &good.replace("?iv=", "?vi=")),
        case("an '&' for the '?'", "format", &good.replace("?iv=", "&iv=")),
        case("something behind the IV", "format", &format!("{good}?x=1")).lenient(),
        case("a payload of NIP-44", "format", &format!("Ag{}", "A".repeat(130))),
    ]);
    let refused =
        |comment: &str, ciphertext: &[u8]| case(comment, "ciphertext", &content(ciphertext));
    let last_block = |last: [u8; 4]| [&[0x61; 28][..], &last].concat();
    let mut changed = sealed.clone();
    changed[31] ^= 1;
    cases.extend([
        refused("15 bytes", &sealed[..15]),
        refused("17 bytes", &sealed[..17]),
        refused("a length of padding of 0", &unpadded(&last_block([0; 4]))),
        refused("a length of padding of 17", &unpadded(&last_block([17; 4]))),
        refused("a length of padding of 255", &unpadded(&last_block([255; 4]))),
        refused("padding of which one byte differs", &unpadded(&last_block([4, 4, 3, 4])))
            .lenient(),
        refused("padding of which the first byte is missing", &unpadded(&last_block([5; 4])))
            .lenient(),
        refused("another last byte", &changed),
        case("a blank in the ciphertext", "ciphertext", &format!("{} {}", &text[..8], &good[8..]))
            .lenient(),
        case("a bit behind the last byte", "ciphertext", &{
            // 32 bytes end in one '=', after two unused bits.
            assert!(text.ends_with('=') && !text.ends_with("=="));
            let at = text.len() - 2;
            let next = char::from(text.as_bytes()[at] + 1);
            format!("{}{next}{}", &good[..at], &good[at + 1..])
        })
        .lenient(),
        case("ciphertext in the alphabet for URLs", "ciphertext", &{
            let url = text.replace('+', "-").replace('/', "_");
            assert_ne!(url, text);
            format!("{url}?iv={iv_text}")
        })
        .lenient(),
        case_for("secret of c", "another key", "ciphertext", &good),
    ]);
    cases
}
