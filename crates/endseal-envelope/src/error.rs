//! Errors of sealing and opening envelopes, with their usual causes.

use core::fmt;

use base16ct::HexDisplay;
use endseal_crypto::ed25519;
use endseal_crypto::random::RandomError;
use endseal_crypto::segment::{AuthenticationFailed, StreamError};

use crate::limits::MAX_SLOTS;
use crate::suite::Suite;

/// Reason why a list of keys is not a list of recipients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecipientsError {
    /// Two recipients have this Ed25519 key (or its negative) and different ML-KEM-768 keys.
    ConflictingKeys(ed25519::PublicKey),
    /// The list has no recipient; an envelope is sealed to at least one.
    Empty,
    /// The key at this index is not one that can be sealed to.
    Key {
        /// Index in the list that was given.
        index: usize,
        /// Reason why the Ed25519 key was refused.
        reason: ed25519::InvalidPublicKey,
    },
    /// The list has more recipients than an envelope has slots ([`MAX_SLOTS`](crate::MAX_SLOTS)).
    TooMany,
}

impl RecipientsError {
    /// Stable name of the reason, `argument`: see [`OpenError::code`].
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "argument"
    }
}

impl fmt::Display for RecipientsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConflictingKeys(key) => write!(
                f,
                "two recipients have the Ed25519 key {:x} and different ML-KEM-768 keys",
                HexDisplay(key.as_bytes())
            ),
            Self::Empty => f.write_str("there is no recipient"),
            Self::Key { index, reason } => write!(f, "recipient {index}: {reason}"),
            Self::TooMany => write!(f, "more than {} recipients", MAX_SLOTS),
        }
    }
}

impl core::error::Error for RecipientsError {}

/// Reason why nothing was sealed. All but [`Random`](Self::Random) are the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealError {
    /// The output buffer is not exactly as long as `sealed_len` says.
    BufferLength,
    /// The content is longer than memory or the format can hold.
    ContentTooLong,
    /// The context is longer than [`MAX_CONTEXT_LEN`](crate::MAX_CONTEXT_LEN).
    ContextTooLong,
    /// An earlier call on this stream failed: the envelope cannot be continued.
    Incomplete,
    /// The hybrid suite needs an ML-KEM-768 key of every recipient, and one has none.
    NoMlKemKey,
    /// The source of randomness failed.
    Random,
}

impl SealError {
    /// Stable name of the reason, `argument` or `random`: see [`OpenError::code`].
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BufferLength
            | Self::ContentTooLong
            | Self::ContextTooLong
            | Self::Incomplete
            | Self::NoMlKemKey => "argument",
            Self::Random => "random",
        }
    }
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BufferLength => "the output buffer has another length than the envelope",
            Self::ContentTooLong => "the content is too long",
            Self::ContextTooLong => "the context is longer than 1024 bytes",
            Self::Incomplete => "the envelope cannot be continued after an error",
            Self::NoMlKemKey => {
                "a recipient has no ML-KEM-768 key, which the post-quantum suite needs"
            }
            Self::Random => "the source of randomness failed",
        })
    }
}

impl core::error::Error for SealError {}

impl From<RandomError> for SealError {
    fn from(_: RandomError) -> Self {
        Self::Random
    }
}

impl From<StreamError> for SealError {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::TooLong => Self::ContentTooLong,
            _ => Self::Incomplete,
        }
    }
}

#[cfg(feature = "std")]
impl From<SealError> for std::io::Error {
    fn from(error: SealError) -> Self {
        Self::new(std::io::ErrorKind::InvalidInput, error)
    }
}

/// Reason why an envelope was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError {
    /// The envelope is not sealed to this identity, or under another context, or it was changed.
    /// There is one error for all of these, on purpose: telling them apart would help an attacker
    /// who changes envelopes.
    Authentication,
    /// The context is longer than [`MAX_CONTEXT_LEN`](crate::MAX_CONTEXT_LEN): the caller's fault.
    ContextTooLong,
    /// The bytes are not an envelope, or were cut short; no key was used.
    Malformed(Malformed),
    /// Authentic, but refused: this message was opened before.
    Replayed,
    /// Authentic, but refused: the sender is not one of those accepted.
    SenderNotAccepted(ed25519::PublicKey),
    /// Refused without the use of a key: the suite is not one of those accepted.
    SuiteNotAccepted(Suite),
    /// Authentic, but refused: older than the policy allows, or without a time.
    TooOld,
    /// The envelope announces this number of slots, more than [`MAX_SLOTS`](crate::MAX_SLOTS).
    TooManySlots(u32),
    /// Authentic, but refused: the sender's clock is further ahead than the policy allows.
    TooNew,
    /// A suite that this version does not know; a later one may.
    UnsupportedSuite(u8),
    /// A version that this one does not know; a later one may.
    UnsupportedVersion(u8),
}

impl OpenError {
    /// Stable name of the reason, for programs and for other languages. Several errors may share
    /// one. The names are listed in docs/spec/envelope.md, and do not change between versions.
    ///
    /// The caller MUST NOT send it to the network: `replayed`, `sender`, `too-old` and `too-new`
    /// tell that the reader is a recipient.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Authentication => "authentication",
            Self::ContextTooLong => "argument",
            Self::Malformed(_) => "header",
            Self::Replayed => "replayed",
            Self::SenderNotAccepted(_) => "sender",
            Self::SuiteNotAccepted(_) => "suite",
            Self::TooOld => "too-old",
            Self::TooManySlots(_) => "limit",
            Self::TooNew => "too-new",
            Self::UnsupportedSuite(_) | Self::UnsupportedVersion(_) => "version",
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authentication => {
                f.write_str("not sealed to this identity, or changed since it was sealed")
            }
            Self::ContextTooLong => f.write_str("the context is longer than 1024 bytes"),
            Self::Malformed(what) => what.fmt(f),
            Self::Replayed => f.write_str("this message was opened before"),
            Self::SenderNotAccepted(_) => f.write_str("the sender is not one of those accepted"),
            Self::SuiteNotAccepted(suite) => {
                write!(f, "the suite {} is not one of those accepted", suite.name())
            }
            Self::TooOld => f.write_str("the message is older than allowed"),
            Self::TooManySlots(n) => {
                write!(f, "{n} slots are more than the limit of {MAX_SLOTS}")
            }
            Self::TooNew => f.write_str("the message is dated in the future"),
            Self::UnsupportedSuite(id) => write!(f, "suite {id} is not known to this version"),
            Self::UnsupportedVersion(v) => {
                write!(f, "envelope version {v} is not known to this version")
            }
        }
    }
}

impl core::error::Error for OpenError {}

impl From<AuthenticationFailed> for OpenError {
    fn from(_: AuthenticationFailed) -> Self {
        Self::Authentication
    }
}

impl From<Malformed> for OpenError {
    fn from(what: Malformed) -> Self {
        Self::Malformed(what)
    }
}

#[cfg(feature = "std")]
impl From<OpenError> for std::io::Error {
    fn from(error: OpenError) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}

/// Fault of the clear part of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// The ephemeral key is not canonical.
    EphemeralKey,
    /// The bytes do not begin as an envelope does.
    Magic,
    /// The envelope announces no slot, so no reader could open it.
    NoSlots,
    /// Reserved bytes are not zero.
    Reserved,
    /// Tags are not in order.
    TagOrder,
    /// The bytes end before the content begins.
    Truncated,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EphemeralKey => "malformed envelope: the ephemeral key is not canonical",
            Self::Magic => "not an envelope",
            Self::NoSlots => "malformed envelope: no slots",
            Self::Reserved => "malformed envelope: reserved bytes are set",
            Self::TagOrder => "malformed envelope: slots out of order",
            Self::Truncated => "the envelope is cut short",
        })
    }
}

impl core::error::Error for Malformed {}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use endseal_crypto::ed25519::{Seed, SigningKey};

    use super::*;

    /// The error behind `error` in a list of all. A new variant does not compile until it is in it.
    fn next_open(error: OpenError) -> Option<OpenError> {
        let key = *SigningKey::from_seed(Seed::from_bytes(&[1; 32])).public_key();
        Some(match error {
            OpenError::Authentication => OpenError::ContextTooLong,
            OpenError::ContextTooLong => Malformed::Magic.into(),
            OpenError::Malformed(_) => OpenError::Replayed,
            OpenError::Replayed => OpenError::SenderNotAccepted(key),
            OpenError::SenderNotAccepted(_) => OpenError::SuiteNotAccepted(Suite::X25519),
            OpenError::SuiteNotAccepted(_) => OpenError::TooOld,
            OpenError::TooOld => OpenError::TooManySlots(0),
            OpenError::TooManySlots(_) => OpenError::TooNew,
            OpenError::TooNew => OpenError::UnsupportedSuite(9),
            OpenError::UnsupportedSuite(_) => OpenError::UnsupportedVersion(9),
            OpenError::UnsupportedVersion(_) => return None,
        })
    }

    fn next_seal(error: SealError) -> Option<SealError> {
        Some(match error {
            SealError::BufferLength => SealError::ContentTooLong,
            SealError::ContentTooLong => SealError::ContextTooLong,
            SealError::ContextTooLong => SealError::Incomplete,
            SealError::Incomplete => SealError::NoMlKemKey,
            SealError::NoMlKemKey => SealError::Random,
            SealError::Random => return None,
        })
    }

    #[test]
    fn the_specification_lists_the_codes_of_all_errors() {
        let text = include_str!("../../../docs/spec/envelope.md");
        let (_, section) = text.split_once("\n### Codes\n").expect("a section");
        let section = section.split("\n### ").next().expect("it ends");
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let listed: alloc::vec::Vec<_> = rows.map(|(code, _)| code).collect();
        let open = core::iter::successors(Some(OpenError::Authentication), |it| next_open(*it));
        let seal = core::iter::successors(Some(SealError::BufferLength), |it| next_seal(*it));
        let codes = open.map(|it| it.code()).chain(seal.map(|it| it.code()));
        let codes: BTreeSet<_> = codes.chain([RecipientsError::Empty.code()]).collect();
        assert_eq!(codes.len(), listed.len(), "each is listed once");
        assert_eq!(codes, listed.into_iter().collect());
    }
}
