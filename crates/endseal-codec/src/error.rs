//! Errors of decoding and encoding.

use core::fmt;

/// Reasons why an encoding is refused: the classes of `docs/spec/codec.md`. Always a fault of the
/// writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeError {
    /// Longer than the agreed maximum. Nothing of it was read.
    Limit,
    /// The input ends inside a tag or value, or a length exceeds what is left: often a message that
    /// was cut.
    Truncated,
    /// A varint that is not the shortest form of its value, or exceeds 64 bits.
    Varint,
    /// Field number 0 or above 2^29 - 1, or a wire type that is not in use.
    Tag,
    /// A known field with another wire type than the contract's: often another kind of message.
    Type,
    /// A `uint32`, `bool` or enum value outside its range.
    Range,
    /// A string or byte string outside its bounds.
    Length,
    /// More or fewer elements than the bounds allow.
    Count,
    /// A string that is not UTF-8.
    Utf8,
    /// A field that is not repeated occurs twice, or two members of one `oneof`, or a map key.
    Duplicate,
    /// A required field is absent.
    Missing,
    /// More than 64 unknown fields in one message.
    Unknown,
}

impl DecodeError {
    /// The name of the class in the specification and in test vectors.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Truncated => "truncated",
            Self::Varint => "varint",
            Self::Tag => "tag",
            Self::Type => "type",
            Self::Range => "range",
            Self::Length => "length",
            Self::Count => "count",
            Self::Utf8 => "utf8",
            Self::Duplicate => "duplicate",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Limit => "the message is longer than agreed",
            Self::Truncated => "the message is cut short",
            Self::Varint => "the message has a number that is not in shortest form",
            Self::Tag => "the message has a field tag that does not exist",
            Self::Type => "the message has a field of another type",
            Self::Range => "the message has a number outside its range",
            Self::Length => "the message has a field that is too long or too short",
            Self::Count => "the message has too many or too few elements",
            Self::Utf8 => "the message has text that is not UTF-8",
            Self::Duplicate => "the message has a field twice",
            Self::Missing => "the message lacks a required field",
            Self::Unknown => "the message has too many unknown fields",
        })
    }
}

impl core::error::Error for DecodeError {}

/// Reasons why a value is not encoded: a reader would have to refuse it, or the buffer is too
/// short. Always a fault of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// Longer than the agreed maximum: large content is an attachment by reference, or a file.
    Limit,
    /// The buffer is shorter than `encoded_len` says.
    Buffer,
    /// A string or byte string outside its bounds.
    Length {
        /// Name of the field in the contract.
        field: &'static str,
    },
    /// More or fewer elements than the bounds allow.
    Count {
        /// The name of the repeated field in the contract.
        field: &'static str,
    },
    /// A required field that has no value.
    Missing {
        /// Name of the field in the contract.
        field: &'static str,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit => formatter.write_str("the message is longer than agreed"),
            Self::Buffer => formatter.write_str("the buffer is too short for the message"),
            Self::Length { field } => write!(formatter, "{field} is too long or too short"),
            Self::Count { field } => write!(formatter, "{field} has too many or too few elements"),
            Self::Missing { field } => write!(formatter, "{field} is required"),
        }
    }
}

impl core::error::Error for EncodeError {}
