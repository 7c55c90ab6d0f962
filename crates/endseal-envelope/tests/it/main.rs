//! Tests of the envelope's public interface: published vectors through every way to open, and
//! properties that users rely on.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]

extern crate alloc;

mod detached;
mod hostile;
mod insider;
mod pieces;
mod properties;
mod relay;
mod replay;
mod steps;
mod streams;
mod suites;
mod tamper;
mod vectors;
#[cfg(target_os = "linux")]
mod wiping;
mod writers;

use endseal_crypto::ed25519::Seed;
use endseal_crypto::identity::Identity;
use endseal_crypto::mlkem768;

/// Context of the envelopes in these tests.
const CONTEXT: &[u8] = b"endseal/tests@v1";

fn identity(i: u8) -> Identity {
    Identity::from_seeds(Seed::from_bytes(&[i; 32]), mlkem768::Seed::from_bytes(&[i; 64]))
}

/// Returns different bytes for every length and name.
fn data(name: &str, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    endseal_crypto::hash::keyed_into(&[0; 32], &[name.as_bytes()], &mut out);
    out
}
