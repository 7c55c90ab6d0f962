//! Text forms of identities and secrets.

use core::error::Error as _;

use endseal_crypto::ed25519::InvalidPublicKey;
use endseal_keyring::{ForeignKey, IdentityText, ParseIdentityError, ParseSecretError, SecretText};

use crate::people::{identity, short};

fn parse(text: &str) -> Result<IdentityText, ParseIdentityError> {
    text.parse()
}

#[test]
fn public_identities_round_trip() {
    let long = IdentityText::from(identity(1).public().clone());
    let text = long.to_string();
    assert_eq!(text.len(), IdentityText::LONG_LEN);
    assert_eq!(parse(&text), Ok(long.clone()));
    let text = long.short().to_string();
    assert_eq!(text.len(), IdentityText::SHORT_LEN);
    assert_eq!(parse(&text), Ok(IdentityText::from(short(1))));
}

#[test]
fn secrets_round_trip() {
    let text = SecretText::encode(&identity(1));
    let back = SecretText::decode(text.expose_secret()).ok().unwrap();
    assert_eq!(back.public(), identity(1).public());
}

#[test]
fn the_error_says_what_a_text_is_instead() {
    for (text, error) in [
        ("", ParseIdentityError::Prefix),
        ("bob", ParseIdentityError::Prefix),
        ("\u{e9}ndseal1", ParseIdentityError::Prefix),
        ("ENDSEAL1QQQQ", ParseIdentityError::UpperCase),
        ("EndsealPQ1qqqq", ParseIdentityError::UpperCase),
        ("ENDSEAL-SECRET-1QQQQ", ParseIdentityError::Secret),
        ("endseal-secret-1qqqq", ParseIdentityError::Secret),
        ("AGE-SECRET-KEY-1QQQQ", ParseIdentityError::Secret),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", ParseIdentityError::Secret),
        ("age1qqqq", ParseIdentityError::Foreign(ForeignKey::Age)),
        ("npub1qqqq", ParseIdentityError::Foreign(ForeignKey::Nostr)),
        ("ssh-ed25519 AAAA", ParseIdentityError::Foreign(ForeignKey::Ssh)),
        ("-----BEGIN PUBLIC KEY-----", ParseIdentityError::Foreign(ForeignKey::Pem)),
        ("endseal1qq", ParseIdentityError::Length { expected: 66, actual: 10 }),
        ("endseal1q q", ParseIdentityError::Character { at: 9 }),
        ("endsealpq1qqb", ParseIdentityError::Length { expected: 2064, actual: 13 }),
    ] {
        assert_eq!(parse(text).unwrap_err(), error, "{text:?}");
    }
}

#[test]
fn an_invalid_key_is_the_source_of_the_error() {
    // The neutral element, as in vectors/identity/public-low-order.json.
    let text = "endseal1qyqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqutp8u2";
    let error = parse(text).unwrap_err();
    assert_eq!(error, ParseIdentityError::SigningKey(InvalidPublicKey::LowOrder));
    let source = error.source().and_then(|source| source.downcast_ref());
    assert_eq!(source, Some(&InvalidPublicKey::LowOrder));
}

#[test]
fn every_replaced_cut_or_added_character_is_refused() {
    let good = IdentityText::from(short(1)).to_string();
    for at in 0..good.len() {
        for c in ' '..='~' {
            let mut bad = good.clone();
            bad.replace_range(at..=at, c.encode_utf8(&mut [0; 4]));
            assert!(bad == good || parse(&bad).is_err(), "{bad}");
        }
        assert!(parse(&good[..at]).is_err() && parse(&good[at + 1..]).is_err());
        for extra in ["q", "l", " ", "1"] {
            let bad = format!("{}{extra}{}", &good[..at], &good[at..]);
            assert!(parse(&bad).is_err(), "{bad}");
        }
    }
}

#[test]
fn every_replaced_character_of_the_long_form_is_refused() {
    let good = IdentityText::from(identity(1).public().clone()).to_string();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad.replace_range(at..=at, if &good[at..=at] == "q" { "p" } else { "q" });
        assert!(parse(&bad).is_err(), "{at}");
    }
}

#[test]
fn a_changed_secret_is_refused_and_the_error_shows_nothing_of_it() {
    let good = SecretText::encode(&identity(1));
    let good = good.expose_secret();
    for at in 16..good.len() {
        let mut bad = good.to_owned();
        bad.replace_range(at..=at, if &good[at..=at] == "Q" { "P" } else { "Q" });
        let error = SecretText::decode(&bad).err().unwrap();
        assert_eq!(error, ParseSecretError::Checksum);
        assert!(!format!("{error} {error:?}").contains(&good[16..24]));
    }
    let why = |text: &str| SecretText::decode(text).err();
    assert_eq!(why(&good[..100]), Some(ParseSecretError::Length));
    assert_eq!(why(&good.to_lowercase()), Some(ParseSecretError::Character));
    assert_eq!(why(&format!("{good} ")), Some(ParseSecretError::Character));
    assert_eq!(why("endseal1q"), Some(ParseSecretError::Prefix));
}
