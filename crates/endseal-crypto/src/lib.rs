#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | to do this | use |
//! |---|---|
//! | encrypt a stream, a file or a stored object under a key | [`segment`] |
//! | encrypt a name that must be found by its ciphertext | [`aes_siv`] |
//! | wrap the key of a stream under another key | [`key_wrap`], `rsa_oaep` (feature `aws-lc`) |
//! | agree on secrets with one party or with thousands | [`x25519`] |
//! | the same against quantum computers | [`mlkem768`] beside [`x25519`] |
//! | sign, verify, verify a batch | [`ed25519`] |
//! | the same against quantum computers | [`mldsa65`] |
//! | sign for a service that demands RSA | `rsa_signature` (feature `aws-lc`) |
//! | agree and sign on secp256k1, as Nostr does | [`secp256k1`] |
//! | derive keys, digest content | [`hash`], [`hkdf`], with a label of [`label`] |
//! | speak a protocol that wants SHA-256, HMAC or HKDF with it | [`sha256`], [`hkdf_sha256`] |
//! | the same with SHA-512, SHA-1 or MD5 | `sha512`, `legacy_hash` (feature `aws-lc`) |
//! | speak a protocol that wants AES-CBC, or Base64 of what is public | [`aes_cbc`], [`base64`] |
//! | write keys as text with a checksum | [`bech32`] |
//! | speak a protocol that wants ChaCha20 and authenticates by other means | [`chacha20`] |
//! | read a format in XChaCha20-Poly1305 | `xchacha20poly1305` (`std` or `scrypt`) |
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
//! Unless one implies another, each can be chosen by itself; `std` and `aws-lc` are the default.
//!
//! * `std`: `Read`/`Write` adaptors, XChaCha20-Poly1305, and the CPU is asked for its vector
//!   instructions.
//! * `aws-lc` (implies `std`): AWS-LC does most of the work, libsecp256k1 the work on its curve;
//!   `OsRandom`, RSA, SHA-512, scrypt and older hashes exist. It needs a C compiler. Without it
//!   RustCrypto and dalek do the same work. Equal arguments, randomness among them, give equal
//!   bytes in both.
//! * `getrandom`: `OsRandom` without `aws-lc`. In a browser the program also enables the feature
//!   `wasm_js` of the crate `getrandom` (0.4).
//! * `pure`: BLAKE3 without a C compiler or assembler. Without `aws-lc`, nothing else needs one.
//! * `wasm-simd`: BLAKE3 with the 128-bit vectors of WebAssembly; no effect on other targets.
//! * `scrypt` (implies `alloc`): scrypt and XChaCha20-Poly1305 without `aws-lc` and `std`. The
//!   memory of scrypt is then wiped by no one but an allocator that zeroes what it frees.
//! * `parallel` (implies `std`): a batch of agreements on several threads, if a caller asks for it.
//! * `alloc` (`std`, `pure` and `wasm-simd` imply it): all that allocates. Without it the crate
//!   links where there is no allocator, and has [`aes_cbc`], [`base64`], [`bech32`], [`chacha20`],
//!   [`hkdf_sha256`], [`random`], [`secp256k1`], [`secret`] and [`sha256`].
//!
//! # What is not promised
//! Secrets are wiped when dropped, but copies that the compiler made in registers or on the stack
//! are not found. The kernels have no secret-dependent branch or address; the libraries below say
//! for themselves.
#![cfg_attr(docsrs, feature(doc_cfg))]
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
#[cfg(feature = "parallel")]
#[doc(hidden)]
pub mod threads;
#[cfg(test)]
mod unhex;

pub use high::buffer::BufferTooSmall;
#[cfg(any(feature = "aws-lc", feature = "scrypt"))]
pub use high::scrypt;
#[cfg(any(feature = "std", feature = "scrypt"))]
pub use high::xchacha20poly1305;
pub use high::{aes_cbc, base64, bech32, hkdf_sha256, random, secp256k1, secret, sha256};
#[cfg(feature = "import")]
pub use high::{aes_ctr, aes_eme, aes_gcm, secretbox};
#[cfg(feature = "alloc")]
pub use high::{
    aes_siv, argon2id, ed25519, hazmat, hkdf, identity, key_wrap, mldsa65, mlkem768, peer_id,
    segment, x25519,
};
#[cfg(feature = "aws-lc")]
pub use high::{legacy_hash, rsa_oaep, rsa_signature, sha512};
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
