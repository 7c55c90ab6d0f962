//! Algorithms: two back ends with the same functions, and what is built on the kernels of `low`.

#[cfg(feature = "std")]
pub(crate) mod aws_lc;
// Compiled beside the other one in tests, which compare the two.
#[cfg(any(not(feature = "std"), test))]
pub(crate) mod rustcrypto;

#[cfg(feature = "std")]
pub(crate) use aws_lc as backend;
#[cfg(not(feature = "std"))]
pub(crate) use rustcrypto as backend;

pub(crate) mod aes_gcm;
pub(crate) mod ed25519_verify;
pub mod hash;
pub(crate) mod hkdf_sha512;
pub mod label;
pub(crate) mod mldsa65_sign;
pub(crate) mod secp256k1;
pub(crate) mod x25519_batch;

#[cfg(all(test, feature = "std"))]
mod tests;
