//! The cryptography of endseal: secret types, randomness, labels, segments, key agreement and
//! signatures. No other crate of the workspace calls a primitive.
//!
//! | to do this | use |
//! |---|---|
//! | encrypt a stream, a file or a stored object under a key | [`segment`] |
//! | encrypt a name that must be found by its ciphertext | [`aes_siv`] |
//! | wrap the key of a stream under another key | [`key_wrap`], `rsa_oaep` (feature `std`) |
//! | agree on secrets with one party or with thousands | [`x25519`] |
//! | the same against quantum computers | [`mlkem768`] beside [`x25519`] |
//! | sign, verify, verify a batch | [`ed25519`] |
//! | the same against quantum computers | [`mldsa65`] |
//! | sign for a service that demands RSA | `rsa_signature` (feature `std`) |
//! | agree and sign on secp256k1, as Nostr does | [`secp256k1`] |
//! | derive keys, digest content | [`hash`], [`hkdf`], with a label of [`label`] |
//! | speak a protocol that wants SHA-256, HMAC or HKDF with it | [`sha256`], [`hkdf_sha256`] |
//! | the same with SHA-512, SHA-1 or MD5 | `sha512`, `legacy_hash` (feature `std`) |
//! | speak a protocol that wants AES-CBC, or Base64 of what is public | [`aes_cbc`], [`base64`] |
//! | write keys as text with a checksum | [`bech32`] |
//! | speak a protocol that wants ChaCha20 and authenticates by other means | [`chacha20`] |
//! | read a format in XChaCha20-Poly1305 | `xchacha20poly1305` (feature `std`) |
//! | turn a passphrase into a key | [`argon2id`]; `scrypt` where a format asks for it |
//! | hold a secret | [`secret_bytes!`] |
//! | hold all keys of one person or machine | [`identity`] |
//! | name a peer on the wire | [`peer_id`] |
//!
//! # Three heights
//! `low` holds kernels (the only `unsafe` code), `mid` the algorithms with two interchangeable back
//! ends, `high` what is exported. Nothing calls upward.
//!
//! # Crate features
//! * `std` (default): aws-lc-rs does most of the work, `OsRandom`, `Read`/`Write` adaptors,
//!   RSA, SHA-512 and older hashes exist. Without it RustCrypto and dalek do the same work for
//!   `no_std`. Equal arguments, randomness among them, give equal bytes in both.
//! * `alloc` (`std` implies it): all that allocates. Without it the crate links where there is no
//!   allocator, and has [`aes_cbc`], [`base64`], [`bech32`], [`chacha20`], [`hkdf_sha256`],
//!   [`random`], [`secp256k1`], [`secret`] and [`sha256`].
//!
//! # What is not promised
//! Secrets are wiped when dropped, but copies that the compiler made in registers or on the stack
//! are not found. The kernels have no secret-dependent branch or address; the libraries below say
//! for themselves.
#![cfg_attr(target_arch = "xtensa", feature(asm_experimental_arch))]
#![no_std]
#![deny(unsafe_code)]

#[cfg(any(feature = "alloc", test))]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod high;
#[allow(unsafe_code)]
mod low;
mod mid;
#[cfg(test)]
mod unhex;

pub use high::buffer::BufferTooSmall;
pub use high::{aes_cbc, base64, bech32, hkdf_sha256, random, secp256k1, secret, sha256};
#[cfg(feature = "alloc")]
pub use high::{
    aes_siv, argon2id, ed25519, hazmat, hkdf, identity, key_wrap, mldsa65, mlkem768, peer_id,
    segment, x25519,
};
#[cfg(feature = "std")]
pub use high::{legacy_hash, rsa_oaep, rsa_signature, scrypt, sha512, xchacha20poly1305};
pub use mid::chacha20;
#[cfg(feature = "alloc")]
pub use mid::{hash, label};

/// The kernels of ChaCha20 by name, for their tests and their benchmark.
#[doc(hidden)]
pub mod chacha20_kernel {
    pub use crate::low::chacha20::*;
}

/// The batch kernel on raw bytes, for its tests and its benchmark.
#[doc(hidden)]
pub mod x25519_kernel {
    pub use crate::low::x25519_batch::*;
}

/// Names to which [`secret_bytes!`] expands; not for use by hand.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "alloc")]
    pub use alloc::boxed::Box;
    pub use {subtle, zeroize};

    pub use crate::low::wipe::wipe;
}
