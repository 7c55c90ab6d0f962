//! Errors of reading and building frames.

use core::fmt;

use crate::error::EncodeError;

/// Reason why a frame is refused: the classes of `docs/spec/frame.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FrameError {
    /// Another version: the sender's program is newer, or the bytes are no frame.
    Version,
    /// A live frame of a kind that is not known.
    Kind,
    /// A stored frame of a protocol that is not known.
    Protocol,
    /// Flags or reserved bytes that must be 0, or a flag on a frame that cannot have it.
    Flags,
    /// A signature scheme that is not known.
    Scheme,
    /// A length or sequence that is not in shortest form or not below 2^62.
    Varint,
    /// A payload longer than agreed.
    Limit,
    /// Another sequence number than the next one.
    Sequence,
    /// The input ends inside the frame.
    Truncated,
    /// The input continues behind the end of the frame.
    Trailing,
    /// The checksum is wrong: the frame was damaged, not forged.
    Checksum,
    /// The signature is not the sender's, or the frame has none and did not come over the
    /// sender's connection.
    Authentication,
}

impl FrameError {
    /// The name of the class in the specification and in test vectors.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Kind => "kind",
            Self::Protocol => "protocol",
            Self::Flags => "flags",
            Self::Scheme => "scheme",
            Self::Varint => "varint",
            Self::Limit => "limit",
            Self::Sequence => "sequence",
            Self::Truncated => "truncated",
            Self::Trailing => "trailing",
            Self::Checksum => "checksum",
            Self::Authentication => "authentication",
        }
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Version => "the frame has another version",
            Self::Kind => "the frame is of an unknown kind",
            Self::Protocol => "the frame is of an unknown protocol",
            Self::Flags => "the frame has flags that it cannot have",
            Self::Scheme => "the frame has an unknown signature scheme",
            Self::Varint => "the frame has a number that is not in shortest form",
            Self::Limit => "the frame is longer than agreed",
            Self::Sequence => "the frame is out of sequence",
            Self::Truncated => "the frame is cut short",
            Self::Trailing => "there are bytes behind the frame",
            Self::Checksum => "the frame is damaged",
            Self::Authentication => "the frame is not authenticated as its sender's",
        })
    }
}

impl core::error::Error for FrameError {}

/// Reason why a frame is not built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError<E> {
    /// A reader would refuse the message.
    Encode(EncodeError),
    /// The closure that signs returned this error.
    Sign(E),
    /// The signature has another length than its scheme's.
    Signature,
}

impl<E: fmt::Display> fmt::Display for BuildError<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encode(error) => error.fmt(formatter),
            Self::Sign(error) => error.fmt(formatter),
            Self::Signature => formatter.write_str("the signature has a wrong length"),
        }
    }
}

impl<E: core::error::Error> core::error::Error for BuildError<E> {}
