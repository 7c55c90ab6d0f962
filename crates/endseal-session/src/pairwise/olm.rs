//! Olm version 1 by vodozemac: triple Diffie-Hellman with X25519, then a Double Ratchet of
//! HMAC-SHA-256 and AES-256-CBC, with a MAC of 8 bytes.
//!
//! This module adds to the library: each message has exactly one valid encoding, a failed operation
//! changes nothing, and states are compact and are restored exactly as they were saved.

mod account;
mod body;
mod error;
mod prekeys;
mod ratchet;
mod sending;
mod state;

pub use account::OlmAccount;
pub use ratchet::OlmRatchet;
