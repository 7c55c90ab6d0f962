//! Tests of the public functions with published vectors, and of properties that users rely on.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]

mod chacha20;
mod ed25519;
mod ed25519_criteria;
mod labels;
mod mldsa65;
#[cfg(feature = "aws-lc")]
mod rsa_oaep;
#[cfg(feature = "aws-lc")]
mod rsa_signature;
mod secp256k1;
mod secrets;
mod wycheproof;
mod x25519;
