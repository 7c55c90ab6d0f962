//! Runs `vectors/nostr/encrypted-key.json`.

use endseal_nostr::encrypted_key::{
    DEFAULT_LOG_N, DEFAULT_MAX_LOG_N, EncryptedKey, Handling, MAX_LOG_N, MAX_PASSWORD, OpenError,
    ParseError, SealError, TEXT_LEN,
};
use serde_json::Value;

use crate::fixture::{FixedRandom, bytes, cases, key, text};

fn read(case: &Value) -> &'static str {
    let parsed = match EncryptedKey::from_text(text(case, "text")) {
        Ok(parsed) => parsed,
        Err(ParseError::Length) => return "length",
        Err(ParseError::Prefix) => return "prefix",
        Err(ParseError::Bech32(_)) => return "bech32",
        Err(ParseError::UnsupportedVersion) => return "version",
        Err(ParseError::Cost) => return "cost",
        Err(ParseError::Handling) => return "handling",
        Err(error) => panic!("{error}"),
    };
    let max = u8::try_from(case["max_log_n"].as_u64().unwrap()).unwrap();
    match parsed.open(text(case, "password"), max) {
        Ok(key) => {
            assert_eq!(key.expose_secret()[..], bytes(case, "secret"));
            assert_eq!(u64::from(parsed.log_n()), case["log_n"].as_u64().unwrap());
            let handling = match parsed.handling() {
                Handling::KnownInsecure => 0,
                Handling::NotKnownInsecure => 1,
                Handling::Untracked => 2,
            };
            assert_eq!(case["handling"].as_u64(), Some(handling));
            let mut out = [0; TEXT_LEN];
            assert_eq!(parsed.write_text(&mut out), Ok(text(case, "text")));
            "ok"
        }
        Err(OpenError::Cost) => "cost",
        Err(OpenError::Authentication) => "authentication",
        Err(OpenError::Key) => "key",
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_vector() {
    let (mut successes, mut failures) = (0, 0);
    for case in cases("encrypted-key.json") {
        let verdict = read(&case);
        assert_eq!(verdict, text(&case, "expect"), "{}", text(&case, "comment"));
        *(if verdict == "ok" { &mut successes } else { &mut failures }) += 1;
    }
    assert!(successes >= 8 && failures >= 30, "{successes} {failures}");
}

#[test]
fn what_is_sealed_opens_with_its_password_alone() {
    let secret = key("a");
    let seal = |random: &mut FixedRandom| {
        EncryptedKey::seal(&secret, "pass\u{fb01}", DEFAULT_LOG_N, Handling::Untracked, random)
    };
    let sealed = seal(&mut FixedRandom::new(1)).unwrap();
    let mut out = [0x5a; TEXT_LEN + 3];
    let text = sealed.write_text(&mut out).unwrap();
    assert_eq!(text.len(), TEXT_LEN);
    assert_eq!(EncryptedKey::from_text(text), Ok(sealed));
    assert_eq!(EncryptedKey::from_text(&text.to_uppercase()), Ok(sealed));
    let opened = sealed.open("passfi", DEFAULT_LOG_N).ok().unwrap();
    assert!(opened == secret);
    let refused = |password: &str, max| sealed.open(password, max).err();
    assert_eq!(refused("passfI", DEFAULT_LOG_N), Some(OpenError::Authentication));
    assert_eq!(refused("passfi", DEFAULT_LOG_N - 1), Some(OpenError::Cost));
    assert_eq!(refused(&"x".repeat(MAX_PASSWORD + 1), 18), Some(OpenError::Authentication));
    assert!(sealed.write_text(&mut [0; TEXT_LEN - 1]).is_err());
}

#[test]
fn nothing_is_sealed_out_of_bounds() {
    let refused = |password: &str, log_n, reads| {
        let random = &mut FixedRandom(1, reads);
        EncryptedKey::seal(&key("a"), password, log_n, Handling::KnownInsecure, random).err()
    };
    for log_n in [0, 1, DEFAULT_LOG_N - 1, MAX_LOG_N + 1, u8::MAX] {
        assert_eq!(refused("x", log_n, 2), Some(SealError::Cost), "{log_n}");
    }
    for reads in 0..2 {
        assert_eq!(refused("x", DEFAULT_LOG_N, reads), Some(SealError::Random));
    }
    let long = "x".repeat(MAX_PASSWORD + 1);
    assert_eq!(refused(&long, DEFAULT_LOG_N, 2), Some(SealError::Password));
}

#[test]
fn a_text_with_any_character_changed_is_refused() {
    let case = cases("encrypted-key.json").swap_remove(0);
    let good = text(&case, "text");
    for at in 0..good.len() {
        for other in ["q", "p", "Q", "b", "1"] {
            let changed = format!("{}{other}{}", &good[..at], &good[at + 1..]);
            if changed != good {
                EncryptedKey::from_text(&changed).unwrap_err();
            }
        }
    }
}

#[test]
fn costs_above_the_limit_take_no_memory() {
    // Each of these would take 512 MiB or more, and too much time for this test.
    assert_eq!(DEFAULT_MAX_LOG_N, 18);
    let cases = cases("encrypted-key.json");
    let costly: Vec<_> = cases.iter().filter(|case| case["expect"] == "cost").collect();
    assert!(costly.len() >= 5);
    for case in costly {
        for _ in 0..100 {
            assert_eq!(read(case), "cost");
        }
    }
}
