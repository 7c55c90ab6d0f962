//! The text form of a peer id (docs/spec/identity.md, "Peer id").

use core::fmt;
use core::str::FromStr;

use endseal_crypto::peer_id::PeerId;

use crate::bech32m::{self, Case, DecodeError};

/// The human-readable part of the text (BIP-350).
const PREFIX: &str = "endsealpeer";

/// A peer id that reads and prints as text: `endsealpeer1…`.
///
/// ```
/// # fn main() -> Result<(), endseal_keyring::ParsePeerIdError> {
/// use endseal_keyring::PeerIdText;
///
/// let text = "endsealpeer1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnzs23v9ccrydpk8qarc0srqk93w";
/// let bob: PeerIdText = text.parse()?;
/// assert_eq!(bob.to_string(), text);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerIdText(PeerId);

impl PeerIdText {
    /// Number of characters of the text.
    pub const LEN: usize = PREFIX.len() + 1 + bech32m::data_len(PeerId::LEN);

    /// The peer id that the text encodes.
    #[must_use]
    pub fn peer_id(&self) -> PeerId {
        self.0
    }
}

impl From<PeerId> for PeerIdText {
    fn from(id: PeerId) -> Self {
        Self(id)
    }
}

impl FromStr for PeerIdText {
    type Err = ParsePeerIdError;

    fn from_str(text: &str) -> Result<Self, ParsePeerIdError> {
        let Some(data) = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('1')) else {
            return Err(ParsePeerIdError::of_other_prefix(text));
        };
        let mut id = [0; PeerId::LEN];
        bech32m::decode(PREFIX, data, Case::Lower, &mut id).map_err(|error| match error {
            DecodeError::Case => ParsePeerIdError::UpperCase,
            DecodeError::Character(at) => ParsePeerIdError::Character { at: PREFIX.len() + 1 + at },
            DecodeError::Checksum => ParsePeerIdError::Checksum,
            DecodeError::Length => ParsePeerIdError::Length { actual: text.len() },
            DecodeError::Padding => ParsePeerIdError::Padding,
        })?;
        Ok(Self(PeerId::from_bytes(&id)))
    }
}

impl fmt::Display for PeerIdText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bech32m::encode(PREFIX, self.0.as_bytes(), Case::Lower))
    }
}

/// Reason why a text is not a peer id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParsePeerIdError {
    /// A character that the form does not have: a space, a line break, a typing error.
    Character {
        /// Position of the character in the text, in bytes.
        at: usize,
    },
    /// The checksum is wrong: a typing error.
    Checksum,
    /// A public identity. It names a person; a peer id names the key of a machine's connections.
    Identity,
    /// Cut or extended: usually a part of it was copied.
    Length {
        /// Number of characters of the text that was given.
        actual: usize,
    },
    /// Bits after the id are set, so it was not made by a correct program.
    Padding,
    /// The text does not begin with `endsealpeer1`.
    Prefix,
    /// The text is a secret, which its owner MUST NOT give to another person.
    Secret,
    /// Capital letters; the form is in lower case.
    UpperCase,
}

impl ParsePeerIdError {
    fn of_other_prefix(text: &str) -> Self {
        let begins = |prefix: &str| {
            text.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
        };
        if begins("endsealpeer1") {
            Self::UpperCase
        } else if begins("endseal-secret-") {
            Self::Secret
        } else if begins("endseal1") || begins("endsealpq1") {
            Self::Identity
        } else {
            Self::Prefix
        }
    }
}

impl fmt::Display for ParsePeerIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character { at } => {
                write!(f, "character {} does not belong into a peer id", at + 1)
            }
            Self::Checksum => f.write_str("the peer id's checksum is wrong: a typing error?"),
            Self::Identity => f.write_str("that is a public identity, not a peer id"),
            Self::Length { actual } => write!(
                f,
                "the peer id has {actual} characters instead of {}: copied in part?",
                PeerIdText::LEN
            ),
            Self::Padding => f.write_str("the peer id's last character is not canonical"),
            Self::Prefix => f.write_str("a peer id begins with \"endsealpeer1\""),
            Self::Secret => f.write_str("that is a secret key: never hand it out"),
            Self::UpperCase => f.write_str("a peer id is in lower case"),
        }
    }
}

impl core::error::Error for ParsePeerIdError {}
