//! scrypt (RFC 7914): two back ends with the same function.

#[cfg(feature = "aws-lc")]
pub(crate) use crate::low::scrypt_ffi as backend;
#[cfg(not(feature = "aws-lc"))]
pub(crate) use portable as backend;

// Compiled beside the other one in tests, which compare the two.
#[cfg(all(feature = "scrypt", any(not(feature = "aws-lc"), test)))]
pub(crate) mod portable;
