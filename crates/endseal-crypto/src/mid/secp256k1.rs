//! secp256k1: two back ends with the same functions.

#[cfg(feature = "std")]
pub(crate) use crate::low::secp256k1_ffi as backend;
#[cfg(not(feature = "std"))]
pub(crate) use portable as backend;

// Compiled beside the other one in tests, which compare the two.
#[cfg(any(not(feature = "std"), test))]
pub(crate) mod portable;

#[cfg(all(test, feature = "std"))]
mod tests;
