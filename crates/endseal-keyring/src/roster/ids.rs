//! Random id of a group and digest of a roster: names that are not chosen by a person.

use core::fmt;
use core::str::FromStr;

use base16ct::lower::encode_string;
use endseal_crypto::identity::Identity;
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::{hash, label};

use crate::name::Name;
use crate::numerals;

/// Id of a group: 16 random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId([u8; 16]);

impl GroupId {
    /// Length of a group id in bytes.
    pub const LEN: usize = 16;

    /// A new id for a group of `owner`.
    ///
    /// A random source that repeats itself repeats no id as long as the owner or the name differs.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(
        random: &mut impl Random,
        owner: &Identity,
        group: &Name,
    ) -> Result<Self, RandomError> {
        let (mut drawn, mut id) = ([0; 32], [0; Self::LEN]);
        random.fill(&mut drawn)?;
        let parts: [&[u8]; 3] = [&drawn, owner.hedge().expose_secret(), group.as_str().as_bytes()];
        hash::derive_into(label::ROSTER_HEDGED_ID, &parts, &mut id);
        Ok(Self(id))
    }

    /// The id of those bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes of the group id.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&encode_string(&self.0))
    }
}

impl FromStr for GroupId {
    type Err = InvalidHex;

    fn from_str(text: &str) -> Result<Self, InvalidHex> {
        numerals::from_hex(text).map(Self).ok_or(InvalidHex)
    }
}

/// Digest by which the next epoch names its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RosterDigest([u8; 32]);

impl RosterDigest {
    /// Length of a digest in bytes.
    pub const LEN: usize = 32;

    /// The digest of those bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes of the digest.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl fmt::Display for RosterDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&encode_string(&self.0))
    }
}

impl FromStr for RosterDigest {
    type Err = InvalidHex;

    fn from_str(text: &str) -> Result<Self, InvalidHex> {
        numerals::from_hex(text).map(Self).ok_or(InvalidHex)
    }
}

/// Not lower-case hexadecimal of the right length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidHex;

impl fmt::Display for InvalidHex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not lower-case hexadecimal of the right length")
    }
}

impl core::error::Error for InvalidHex {}
