//! Errors of parsing the text of a public identity.

use core::fmt;

use endseal_crypto::{ed25519, mlkem768};

use crate::bech32m::DecodeError;

/// Reason why a text is not a public identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseIdentityError {
    /// A character that the form does not have: a space, a line break, a typing error.
    Character {
        /// Position of the character in the text, in bytes.
        at: usize,
    },
    /// The checksum is wrong: a typing error.
    Checksum,
    /// The text is a key of another program, which this error names.
    Foreign(ForeignKey),
    /// The ML-KEM-768 key is not valid.
    KemKey(mlkem768::InvalidPublicKey),
    /// Cut or extended: usually half of it was copied.
    Length {
        /// Number of characters of a text with this prefix.
        expected: usize,
        /// Number of characters of the text that was given.
        actual: usize,
    },
    /// Bits after the last key are set, so it was not made by a correct program.
    Padding,
    /// The text begins with neither `endseal1` nor `endsealpq1`.
    Prefix,
    /// The text is a secret identity, which its owner MUST NOT give to another person.
    Secret,
    /// The owner of the Ed25519 key did not sign the ML-KEM-768 key. It may be the key of a person
    /// in the middle.
    Signature,
    /// The Ed25519 key is not valid.
    SigningKey(ed25519::InvalidPublicKey),
    /// Capital letters; the form is in lower case.
    UpperCase,
}

/// Programs whose keys are recognised, to say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForeignKey {
    /// A key of age: the text begins with `age1`.
    Age,
    /// A public key of Nostr: the text begins with `npub1`.
    Nostr,
    /// A key in PEM: the text begins with `-----BEGIN `.
    Pem,
    /// A public key of SSH: the text begins with `ssh-` or `ecdsa-`.
    Ssh,
}

impl ParseIdentityError {
    /// Returns the error for a text without our prefix, by the kind of text that it is instead.
    pub(super) fn of_other_prefix(text: &str) -> Self {
        let begins = |prefix: &str| {
            text.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
        };
        let secrets = ["endseal-secret-", "age-secret-key-", "nsec1", "-----begin openssh private"];
        if secrets.into_iter().any(begins) {
            Self::Secret
        } else if begins("endseal1") || begins("endsealpq1") {
            Self::UpperCase
        } else if begins("age1") {
            Self::Foreign(ForeignKey::Age)
        } else if begins("npub1") {
            Self::Foreign(ForeignKey::Nostr)
        } else if begins("ssh-") || begins("ecdsa-") || begins("sk-ssh-") {
            Self::Foreign(ForeignKey::Ssh)
        } else if begins("-----begin ") {
            Self::Foreign(ForeignKey::Pem)
        } else {
            Self::Prefix
        }
    }

    /// Returns the error for the part after the prefix of a form of `expected` characters.
    pub(super) fn of_data(error: DecodeError, text: &str, expected: usize) -> Self {
        match error {
            DecodeError::Case => Self::UpperCase,
            // Positions count in the whole text: what comes before the data is as long as the rest.
            DecodeError::Character(at) => {
                let prefix = text.find('1').map_or(0, |separator| separator + 1);
                Self::Character { at: prefix + at }
            }
            DecodeError::Checksum => Self::Checksum,
            DecodeError::Length => Self::Length { expected, actual: text.len() },
            DecodeError::Padding => Self::Padding,
        }
    }
}

impl fmt::Display for ParseIdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character { at } => {
                write!(f, "character {} does not belong into an identity", at + 1)
            }
            Self::Checksum => f.write_str("the identity's checksum is wrong: a typing error?"),
            Self::Foreign(other) => write!(f, "that is {other}, not an identity of endseal"),
            Self::KemKey(reason) => reason.fmt(f),
            Self::Length { expected, actual } => write!(
                f,
                "the identity has {actual} characters instead of {expected}: copied in part?"
            ),
            Self::Padding => f.write_str("the identity's last character is not canonical"),
            Self::Prefix => f.write_str("an identity begins with \"endseal1\" or \"endsealpq1\""),
            Self::Secret => f.write_str("that is a secret key: never hand it out"),
            Self::Signature => f.write_str(
                "the owner of the identity did not sign its ML-KEM-768 key: do not use it",
            ),
            Self::SigningKey(reason) => reason.fmt(f),
            Self::UpperCase => f.write_str("an identity is in lower case"),
        }
    }
}

impl core::error::Error for ParseIdentityError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::KemKey(reason) => Some(reason),
            Self::SigningKey(reason) => Some(reason),
            _ => None,
        }
    }
}

impl fmt::Display for ForeignKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Age => "a key of age",
            Self::Nostr => "a Nostr key",
            Self::Pem => "a PEM file",
            Self::Ssh => "an SSH key",
        })
    }
}
