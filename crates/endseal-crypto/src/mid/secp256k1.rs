//! secp256k1: two back ends with the same functions.

#[cfg(feature = "aws-lc")]
pub(crate) use crate::low::secp256k1_ffi as backend;
#[cfg(not(feature = "aws-lc"))]
pub(crate) use portable as backend;

// Compiled beside the other one in tests, which compare the two.
#[cfg(any(not(feature = "aws-lc"), test))]
pub(crate) mod portable;

#[cfg(all(test, feature = "aws-lc"))]
mod tests;
