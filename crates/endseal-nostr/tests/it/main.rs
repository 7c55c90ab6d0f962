//! Tests of the public interface: published vectors, and properties that users rely on.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::cast_possible_truncation, reason = "bytes are cut from counters")]

mod connect;
#[cfg(feature = "std")]
mod encrypted_key;
mod entities;
mod event_vectors;
mod events;
mod fixture;
mod gift_wrap;
#[cfg(feature = "std")]
mod interop;
mod nip04;
mod nip44;
mod official;
mod policy;
mod respond;
mod session;
mod unwrap_batch;
mod vectors;

use endseal_nostr::key::{self, SecretKey, SigningKey};
use endseal_testing::hex;

/// Returns the key that signed the vectors.
fn signing_key() -> SigningKey {
    SigningKey::new(SecretKey::from_bytes(&[3; 32]).unwrap())
}

/// Returns written bytes as text.
fn utf8(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}
