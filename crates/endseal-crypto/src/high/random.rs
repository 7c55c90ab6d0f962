//! Randomness as a capability: whoever needs it takes it as an argument.

use core::fmt;

/// A cryptographically secure source of random bytes.
///
/// Implementations MUST NOT return bytes that anybody else could know or that were returned before.
/// Tests that need fixed bytes use the derandomized functions under `hazmat` instead of a false
/// source.
pub trait Random {
    /// Fills `buffer`.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails; `buffer` must not be used then.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError>;
}

impl<R: Random + ?Sized> Random for &mut R {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        (**self).fill(buffer)
    }
}

/// The operating system's source, through the back end's generator.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "a value to name")]
pub struct OsRandom;

#[cfg(feature = "std")]
impl Random for OsRandom {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        crate::mid::aws_lc::random(buffer).map_err(|()| RandomError)
    }
}

/// The source of randomness failed. Nothing was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RandomError;

impl fmt::Display for RandomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the source of randomness failed")
    }
}

impl core::error::Error for RandomError {}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::{OsRandom, Random};

    #[test]
    fn two_draws_differ() {
        let (mut a, mut b) = ([0; 32], [0; 32]);
        OsRandom.fill(&mut a).unwrap();
        OsRandom.fill(&mut b).unwrap();
        assert_ne!(a, b);
        assert_ne!(a, [0; 32]);
    }
}
