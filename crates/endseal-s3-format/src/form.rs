//! The form of an object: whole, or in parts.

/// The form in which an object was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the format has these")]
pub enum Form {
    /// In one request: one body.
    Whole,
    /// In several requests: parts, and then one request that joins them.
    Multipart,
}

impl Form {
    pub(crate) const fn to_byte(self) -> u8 {
        match self {
            Self::Whole => 1,
            Self::Multipart => 2,
        }
    }

    pub(crate) const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Whole),
            2 => Some(Self::Multipart),
            _ => None,
        }
    }
}
