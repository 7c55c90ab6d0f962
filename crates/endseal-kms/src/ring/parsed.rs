//! The two forms of a ring's file.

use super::seal::SealedRing;
use super::text::{Lines, NONE, PROTECTION, ParseRingError, keys};
use super::{MAX_LEN, Ring};

/// A file whose form is right.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[allow(clippy::exhaustive_enums, reason = "open or not")]
pub enum ParsedRing {
    /// A ring that is not sealed, with its keys.
    Open(Ring),
    /// A ring that is sealed under a passphrase, still closed.
    Sealed(SealedRing),
}

impl ParsedRing {
    /// Reads a file, which the caller MUST wipe. No work is done that the file asks for.
    ///
    /// # Errors
    /// [`ParseRingError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseRingError> {
        if bytes.len() > MAX_LEN {
            return Err(ParseRingError::TooLong);
        }
        let mut lines = Lines::open(bytes)?;
        let protection = lines.field(PROTECTION)?;
        if protection == NONE {
            return keys(lines).map(Self::Open);
        }
        SealedRing::parse(protection, lines).map(Self::Sealed)
    }
}
