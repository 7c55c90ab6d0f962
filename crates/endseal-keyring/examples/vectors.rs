//! Writes the test vectors of docs/spec/identity.md and docs/spec/roster.md:
//! `cargo run -p endseal-keyring --example endseal-keyring-vectors -- vectors`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a generator that fails may stop")]

#[path = "vectors/bech32m.rs"]
mod bech32m;
#[path = "vectors/identity.rs"]
mod identity;
#[path = "vectors/identity_file.rs"]
mod identity_file;
#[path = "vectors/json.rs"]
mod json;
#[path = "vectors/peer_id.rs"]
mod peer_id;
#[path = "vectors/roster.rs"]
mod roster;

use std::env;
use std::path::PathBuf;

use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::{ed25519, mlkem768};

fn main() {
    let dir = PathBuf::from(env::args_os().nth(1).expect("usage: vectors <directory>"));
    identity::write(&dir.join("identity"));
    identity_file::write(&dir.join("identity"));
    peer_id::write(&dir.join("identity"));
    peer_id::write_peers(&dir.join("identity"));
    roster::write(&dir.join("roster"));
}

/// Both seeds are repeated bytes: `n` for Ed25519, its complement for ML-KEM-768.
fn owner(n: u8) -> Identity {
    Identity::from_seeds(ed25519::Seed::from_bytes(&[n; 32]), mlkem768::Seed::from_bytes(&[!n; 64]))
}

/// Ed25519 key || ML-KEM-768 key.
fn long_payload(identity: &PublicIdentity) -> Vec<u8> {
    let kem = identity.mlkem768().expect("identities here have both keys");
    [&identity.ed25519().as_bytes()[..], kem.as_bytes()].concat()
}

fn short(n: u8) -> String {
    bech32m::encode("endseal", owner(n).public().ed25519().as_bytes())
}

fn long(n: u8) -> String {
    bech32m::encode("endsealpq", &long_payload(owner(n).public()))
}

/// Keys that no text may carry.
const LOW_ORDER: [u8; 32] = {
    let mut y = [0; 32];
    y[0] = 1;
    y
};
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
