//! Writes the test vectors of docs/spec/identity.md and docs/spec/roster.md:
//! `cargo run -p endseal-keyring --example endseal-keyring-vectors -- vectors`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a generator that fails may stop")]

#[path = "vectors/bech32m.rs"]
mod bech32m;
#[path = "vectors/identity.rs"]
mod identity;
#[path = "vectors/identity_file.rs"]
mod identity_file;
#[path = "vectors/invitation.rs"]
mod invitation;
#[path = "vectors/link.rs"]
mod link;
#[path = "vectors/paper.rs"]
mod paper;
#[path = "vectors/peer_id.rs"]
mod peer_id;
#[path = "vectors/person.rs"]
mod person;
#[path = "vectors/roster.rs"]
mod roster;
#[path = "vectors/roster_chain.rs"]
mod roster_chain;
#[path = "vectors/roster_rights.rs"]
mod roster_rights;

use std::env;
use std::path::PathBuf;

use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::{ed25519, mlkem768};

fn main() {
    let dir = PathBuf::from(env::args_os().nth(1).expect("usage: vectors <directory>"));
    identity::write(&dir.join("identity"));
    identity_file::write(&dir.join("identity"));
    invitation::write(&dir.join("identity"));
    link::write(&dir.join("identity"));
    paper::write(&dir.join("identity"));
    peer_id::write(&dir.join("identity"));
    peer_id::write_peers(&dir.join("identity"));
    roster::write(&dir.join("roster"));
    let epochs = roster_rights::write(&dir.join("roster"));
    roster_chain::write(&dir.join("roster"), &epochs);
    person::write(&dir.join("roster"));
}

/// Returns an identity whose seeds are repeated bytes: `n` for Ed25519, its complement for
/// ML-KEM-768.
fn owner(n: u8) -> Identity {
    Identity::from_seeds(ed25519::Seed::from_bytes(&[n; 32]), mlkem768::Seed::from_bytes(&[!n; 64]))
}

/// Returns `Ed25519 key || ML-KEM-768 key || signature`.
fn long_payload(identity: &PublicIdentity) -> Vec<u8> {
    let kem = identity.signed_kem_key().expect("identities here have both keys");
    payload(identity.ed25519().as_bytes(), kem.key().as_bytes(), kem.signature().as_bytes())
}

fn payload(ed25519: &[u8; 32], kem: &[u8], signature: &[u8]) -> Vec<u8> {
    [ed25519, kem, signature].concat()
}

/// Returns `owner(1)` with the ML-KEM-768 key and the signature of `owner(2)`, which Mallory could
/// present as Alice.
fn kem_key_of_another() -> String {
    let (alice, mallory) = (owner(1), owner(2));
    let kem = mallory.public().signed_kem_key().expect("identities here have both keys");
    let key = alice.public().ed25519().as_bytes();
    let payload = payload(key, kem.key().as_bytes(), kem.signature().as_bytes());
    bech32m::encode("endsealpq", &payload)
}

fn mixed_order() -> String {
    bech32m::encode("endseal", &MIXED_ORDER)
}

fn short(n: u8) -> String {
    bech32m::encode("endseal", owner(n).public().ed25519().as_bytes())
}

fn long(n: u8) -> String {
    bech32m::encode("endsealpq", &long_payload(owner(n).public()))
}

/// A key of low order, which no text may contain.
const LOW_ORDER: [u8; 32] = {
    let mut y = [0; 32];
    y[0] = 1;
    y
};
/// The key of `owner(2)` plus a point of order 8: the same X25519 secrets, another y.
const MIXED_ORDER: [u8; 32] = [
    0xab, 0x83, 0xcb, 0x31, 0x49, 0xfd, 0xea, 0x5c, 0x83, 0x8f, 0x2e, 0x57, 0x16, 0xff, 0x90, 0x10,
    0xa2, 0x95, 0xd0, 0x8d, 0x9c, 0x44, 0x2d, 0xa3, 0x56, 0xb5, 0x3b, 0xaf, 0xea, 0x35, 0x09, 0x75,
];
const NOT_ON_CURVE: [u8; 32] = {
    let mut y = [0; 32];
    y[0] = 2;
    y
};
const NOT_CANONICAL: [u8; 32] = {
    let mut y = [0xff; 32];
    y[0] = 0xf0;
    y[31] = 0x7f;
    y
};
