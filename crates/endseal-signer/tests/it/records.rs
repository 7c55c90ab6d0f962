//! Tests that records are decoded and encoded again, and that malformed ones are refused.

use std::path::Path;
use std::{env, fs};

use endseal_signer::{
    App, AppState, BoundedText, LogHead, LogLine, RecordError, RuleRecord, Settings, User,
};
use endseal_testing::SplitMix64;
use serde_json::Value;

use crate::vectors::bytes;
use crate::world::{NOW, connect_secret, invitation, public_key};

/// Decodes a record and encodes it again.
fn rewritten(kind: &str, name: &[u8], value: &[u8]) -> Result<Vec<u8>, RecordError> {
    Ok(match kind {
        "settings" => Settings::from_bytes(value)?.to_bytes().to_vec(),
        "user" => User::from_bytes(name, value)?.to_bytes().to_vec(),
        "app" => App::from_bytes(name, value)?.to_bytes().to_vec(),
        "rule" => RuleRecord::from_bytes(name, value)?.1.to_bytes().to_vec(),
        "line" => LogLine::from_bytes(name, value)?.to_bytes().to_vec(),
        "head" => LogHead::from_bytes(value)?.to_bytes().to_vec(),
        other => panic!("a record of kind {other}"),
    })
}

/// Returns kind, name and value of each valid record in the vectors.
fn accepted() -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/signer");
    let mut records = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let vector: Value = serde_json::from_str(&text).unwrap();
        if vector["kind"] != "chain" && vector["expect"] == "ok" {
            let kind = vector["kind"].as_str().unwrap().to_owned();
            records.push((kind, bytes(&vector["name"]), bytes(&vector["value"])));
        }
    }
    assert!(records.len() > 12);
    records
}

#[test]
fn mutants_are_refused_or_written_as_they_were_read() {
    let mut random = SplitMix64::new(7);
    let (mut taken, mut refused) = (0, 0);
    for (kind, name, value) in accepted() {
        for _ in 0..400 {
            let mutant = random.mutant(&value);
            match rewritten(&kind, &name, &mutant) {
                Ok(bytes) => {
                    assert_eq!(bytes, mutant, "{kind}");
                    taken += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(taken > 100 && refused > 1_000, "{taken} {refused}");
}

#[test]
fn every_prefix_is_too_short() {
    for (kind, name, value) in accepted() {
        for len in 0..value.len() {
            let read = rewritten(&kind, &name, &value[..len]);
            // A user without the key under the next passphrase is one, too.
            if kind == "user" && len + 162 == value.len() && read.is_ok() {
                continue;
            }
            assert_eq!(read, Err(RecordError::Length), "{len} of {kind}");
        }
    }
}

#[test]
fn an_app_goes_through_its_stages_once() {
    let client = public_key(7);
    let mut app = invitation(1);
    assert_eq!((app.end(), app.client()), (Some(NOW + 600), None));
    assert!(!app.log_out(NOW));
    assert_eq!(app.pair(client), Ok(()));
    assert!(app.pair(public_key(8)).is_err());
    assert_eq!((app.end(), app.client()), (None, Some(&client)));
    app.expires = NOW + 1_000;
    assert_eq!(app.end(), Some(NOW + 1_000));
    assert!(app.log_out(NOW + 5));
    assert!(!app.revoke(NOW + 6) && !app.log_out(NOW + 6));
    assert_eq!(app.state(), &AppState::LoggedOut { client, ended: NOW + 5 });
    assert_eq!((app.end(), app.client()), (Some(NOW + 5), Some(&client)));
    let mut app = invitation(1);
    assert!(app.revoke(0));
    assert!(app.pair(client).is_err());
    // A time of 0 would mean that there is none.
    assert_eq!(app.state(), &AppState::Revoked { client: None, ended: 1 });
    let again = App::from_bytes(&app.record_name(), &app.to_bytes()).unwrap();
    assert_eq!(again.state(), app.state());
}

#[test]
fn the_secret_of_an_app_is_known_by_its_digest() {
    let app = invitation(1);
    assert!(app.has_secret(&connect_secret()));
    let again = App::from_bytes(&app.record_name(), &app.to_bytes()).unwrap();
    assert!(again.has_secret(&connect_secret()));
    let other = endseal_nostr::connect::ConnectSecret::new("0s8j2djt").unwrap();
    assert!(!again.has_secret(&other));
    let value = app.to_bytes();
    assert!(!value.windows(8).any(|window| window == b"0s8j2djs"));
}

#[test]
fn texts_are_bounded_and_cut_between_characters() {
    type Name = BoundedText<64>;
    let longest = "é".repeat(32);
    assert_eq!(Name::new(&longest).unwrap().as_str(), longest);
    assert!(Name::new(&format!("{longest}a")).is_err());
    assert_eq!(Name::cut(&format!("a{longest}")).as_str(), format!("a{}", "é".repeat(31)));
    assert_eq!(Name::cut("phone").as_str(), "phone");
}

#[test]
fn an_app_has_at_most_eight_relays_that_are_not_empty() {
    let relay = |text: &str| BoundedText::new(text).unwrap();
    let mut app = invitation(1);
    assert_eq!(app.set_relays(vec![relay("wss://a"); 8]), Ok(()));
    assert_eq!(app.set_relays(vec![relay("wss://b"); 9]), Err(RecordError::Value));
    assert_eq!(app.set_relays(vec![relay("")]), Err(RecordError::Value));
    assert_eq!(app.relays(), vec![relay("wss://a"); 8]);
}
