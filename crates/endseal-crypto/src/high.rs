//! Public interface of the crate. Calls `mid`, never `low`.

pub mod aes_siv;
pub mod argon2id;
pub mod ed25519;
pub mod hazmat;
pub mod hkdf;
pub mod identity;
pub mod key_wrap;
#[cfg(feature = "std")]
pub mod legacy_hash;
pub mod mldsa65;
pub mod mlkem768;
pub mod peer_id;
pub mod random;
#[cfg(feature = "std")]
pub mod rsa_oaep;
#[cfg(feature = "std")]
pub mod scrypt;
pub mod secp256k1;
pub mod secret;
pub mod segment;
#[cfg(feature = "std")]
pub mod sha256;
#[cfg(feature = "std")]
mod sha2_digest;
#[cfg(feature = "std")]
pub mod sha512;
pub mod x25519;
