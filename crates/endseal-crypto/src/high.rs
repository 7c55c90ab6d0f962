//! Public interface of the crate. Calls `mid`, never a kernel of `low`.

pub mod aes_cbc;
pub mod base64;
pub mod bech32;
pub(crate) mod buffer;
pub mod hkdf_sha256;
pub mod random;
pub mod secp256k1;
pub mod secret;
pub mod sha256;

#[cfg(feature = "alloc")]
pub mod aes_siv;
#[cfg(feature = "alloc")]
pub mod argon2id;
#[cfg(feature = "alloc")]
pub mod ed25519;
#[cfg(feature = "alloc")]
pub mod hazmat;
#[cfg(feature = "alloc")]
pub mod hkdf;
#[cfg(feature = "alloc")]
pub mod identity;
#[cfg(feature = "alloc")]
pub mod key_wrap;
#[cfg(feature = "alloc")]
pub mod mldsa65;
#[cfg(feature = "alloc")]
pub mod mlkem768;
#[cfg(feature = "alloc")]
pub mod peer_id;
#[cfg(feature = "alloc")]
pub mod segment;
#[cfg(feature = "alloc")]
pub mod x25519;

#[cfg(feature = "aws-lc")]
pub mod legacy_hash;
#[cfg(feature = "aws-lc")]
pub mod rsa_oaep;
#[cfg(feature = "aws-lc")]
pub mod rsa_signature;
#[cfg(any(feature = "aws-lc", feature = "scrypt"))]
pub mod scrypt;
#[cfg(feature = "aws-lc")]
pub mod sha512;
#[cfg(any(feature = "std", feature = "scrypt"))]
pub mod xchacha20poly1305;

#[cfg(feature = "import")]
pub mod aes_ctr;
#[cfg(feature = "import")]
pub mod aes_eme;
#[cfg(feature = "import")]
pub mod aes_gcm;
#[cfg(feature = "import")]
pub mod secretbox;
