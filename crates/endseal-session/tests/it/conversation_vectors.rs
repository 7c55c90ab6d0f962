//! Runs all vectors of docs/spec/conversation.md.

use std::fs;
use std::path::Path;

use endseal_crypto::ed25519::PublicKey;
use endseal_session::group::{Evidence, MembershipError, MembershipState};
use endseal_testing::hex;
use serde_json::Value;

use crate::vectors::unhex;

const fn class(error: &MembershipError) -> &'static str {
    match error {
        MembershipError::NoMember | MembershipError::RecordTwice | MembershipError::Record => {
            "record"
        }
        MembershipError::Roster(_) | MembershipError::NoTeam => "roster",
        MembershipError::Departure => "departure",
        _ => "format",
    }
}

/// Compares the outputs of a vector, or returns the class of its error.
fn check(vector: &Value) -> Result<(), MembershipError> {
    let kind = vector["kind"].as_str().unwrap();
    let evidence = || {
        let evidence = Evidence::from_bytes(&unhex(&vector["evidence"]))?;
        assert_eq!(hex(&evidence.to_bytes().unwrap()), vector["evidence"].as_str().unwrap());
        Ok(evidence)
    };
    if kind == "evidence" {
        return evidence().map(drop);
    }
    let state = MembershipState::from_bytes(&unhex(&vector["state"]))?;
    if kind == "state" {
        assert_eq!(hex(&state.digest()), vector["digest"].as_str().unwrap());
        let address = |it: endseal_keyring::device::Address| {
            let number = it.device.number().to_le_bytes();
            hex(&[&it.identity.as_bytes()[..], &number].concat())
        };
        let devices: Vec<_> = state.devices().map(address).collect();
        assert_eq!(devices.join(" "), vector["devices"].as_str().unwrap());
        assert!(state.devices().all(|it| state.has_device(&it)));
        return Ok(());
    }
    assert_eq!(kind, "change");
    let committer = unhex(&vector["committer"]).try_into().unwrap();
    let committer = PublicKey::from_bytes(&committer).unwrap();
    let after = state.after(&evidence()?, &committer)?;
    assert_eq!(hex(&after.to_bytes()), vector["after"].as_str().unwrap());
    Ok(())
}

#[test]
fn conversation_vectors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/conversation");
    let mut count = 0;
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        // Notes are opened by the group's own code, which has their test.
        if vector["kind"] == "note" {
            continue;
        }
        let found = check(&vector).map_or_else(|error| class(&error), |()| "ok");
        assert_eq!(Some(found), vector["expect"].as_str(), "{}", path.display());
        count += 1;
    }
    assert!(count >= 48, "{count} vectors");
}
