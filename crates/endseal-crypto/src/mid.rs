//! Algorithms: two back ends with the same functions, and what is built on the kernels of `low`.

#[cfg(feature = "aws-lc")]
pub(crate) mod aws_lc;
// Compiled beside the other one in tests, which compare the two.
#[cfg(all(feature = "alloc", any(not(feature = "aws-lc"), test)))]
pub(crate) mod rustcrypto;

#[cfg(feature = "aws-lc")]
pub(crate) use aws_lc as backend;
#[cfg(all(feature = "alloc", not(feature = "aws-lc")))]
pub(crate) use rustcrypto as backend;

pub mod chacha20;
pub(crate) mod constant_time;
#[cfg(any(feature = "aws-lc", feature = "scrypt"))]
pub(crate) mod scrypt;
pub(crate) mod secp256k1;
pub(crate) mod sha256;

#[cfg(feature = "alloc")]
pub(crate) mod aes_gcm;
#[cfg(feature = "alloc")]
pub(crate) mod ed25519_verify;
#[cfg(feature = "alloc")]
pub mod hash;
#[cfg(feature = "alloc")]
pub(crate) mod hkdf_sha512;
#[cfg(feature = "alloc")]
pub mod label;
#[cfg(feature = "alloc")]
pub(crate) mod mldsa65_sign;
#[cfg(feature = "alloc")]
pub(crate) mod x25519_batch;

#[cfg(all(test, feature = "std", feature = "aws-lc"))]
mod tests;
