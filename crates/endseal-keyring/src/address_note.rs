//! The note by which a hub tells its nodes another address (docs/spec/delivery.md, "Address note").

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use endseal_crypto::label;
use endseal_crypto::mldsa65::{self, PublicKey, SignError, Signature, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::Random;

use crate::invitation_text::{MAX_ADDRESSES, is_list};

const VERSION: u8 = 1;
/// Number of bytes before the addresses: version, time, key and signature.
const FIXED_LEN: usize = 1 + 8 + mldsa65::PUBLIC_LEN + mldsa65::SIGNATURE_LEN;

/// Addresses of a hub, signed by the key that its peer id names. A later note replaces an earlier
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressNote {
    time: u64,
    addresses: String,
    bytes: Vec<u8>,
}

impl AddressNote {
    /// Length of the longest note in bytes.
    pub const MAX_LEN: usize = FIXED_LEN + MAX_ADDRESSES;
    /// Most addresses of a note.
    pub const MAX_COUNT: usize = 4;

    /// Signs 1 to 4 addresses, each `host:port`, with the hub's key. `time` is in milliseconds
    /// since 1970, and must be later than that of each earlier note of the hub.
    ///
    /// # Errors
    /// [`SignAddressesError`] if the addresses are not such a list, or randomness fails.
    pub fn sign(
        key: &SigningKey,
        time: u64,
        addresses: &[&str],
        random: &mut impl Random,
    ) -> Result<Self, SignAddressesError> {
        let joined = addresses.join(" ");
        if !is_short_list(&joined) || joined.split(' ').count() != addresses.len() {
            return Err(SignAddressesError::Addresses);
        }
        let message = message(time, &joined);
        let context = label::DELIVERY_ADDRESS.as_str().as_bytes();
        let signature =
            key.sign(&message, context, random).map_err(SignAddressesError::Signature)?;
        let public = key.public_key().as_bytes();
        let (head, list) = message.split_at(1 + 8);
        let bytes = [head, public, signature.as_bytes(), list].concat();
        Ok(Self { time, addresses: joined, bytes })
    }

    /// Reads a note, and checks that the hub with this peer id signed it.
    ///
    /// # Errors
    /// [`OpenAddressNoteError`].
    pub fn open(bytes: &[u8], hub: &PeerId) -> Result<Self, OpenAddressNoteError> {
        if bytes.first().is_some_and(|version| *version != VERSION) {
            return Err(OpenAddressNoteError::Version);
        }
        if bytes.len() > Self::MAX_LEN {
            return Err(OpenAddressNoteError::Length);
        }
        let fields = || {
            let (_, rest) = bytes.split_first()?;
            let (time, rest) = rest.split_first_chunk::<8>()?;
            let (key, rest) = rest.split_first_chunk()?;
            let (signature, list) = rest.split_first_chunk()?;
            Some((
                u64::from_le_bytes(*time),
                PublicKey::from_bytes(key),
                Signature::from_bytes(signature),
                list,
            ))
        };
        let (time, key, signature, list) = fields().ok_or(OpenAddressNoteError::Length)?;
        if PeerId::of_spki(&key.to_spki()) != *hub {
            return Err(OpenAddressNoteError::Key);
        }
        let list = str::from_utf8(list).ok().filter(|list| is_short_list(list));
        let list = list.ok_or(OpenAddressNoteError::Addresses)?;
        let context = label::DELIVERY_ADDRESS.as_str().as_bytes();
        let verified = key.verify(&message(time, list), context, &signature);
        verified.map_err(|_| OpenAddressNoteError::Signature)?;
        Ok(Self { time, addresses: list.to_string(), bytes: bytes.to_vec() })
    }

    /// Time of the note in milliseconds since 1970.
    #[must_use]
    pub const fn time(&self) -> u64 {
        self.time
    }

    /// The addresses, each `host:port`, with a space between two.
    #[must_use]
    pub fn addresses(&self) -> &str {
        &self.addresses
    }

    /// The encoding, at most [`Self::MAX_LEN`] bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Encodes the signed message: version, time and addresses.
fn message(time: u64, addresses: &str) -> Vec<u8> {
    [&[VERSION][..], &time.to_le_bytes(), addresses.as_bytes()].concat()
}

/// Returns true if a text has at most [`AddressNote::MAX_COUNT`] addresses.
fn is_short_list(text: &str) -> bool {
    is_list(text) && text.split(' ').count() <= AddressNote::MAX_COUNT
}

/// Reason why a note was not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignAddressesError {
    /// There are not 1 to 4 addresses of the form `host:port`, with 255 bytes in all.
    Addresses,
    /// The signature failed, because there is no randomness.
    Signature(SignError),
}

impl fmt::Display for SignAddressesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Addresses => {
                f.write_str("a note has 1 to 4 addresses HOST:PORT, with at most 255 bytes in all")
            }
            Self::Signature(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for SignAddressesError {}

/// Reason why a note was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenAddressNoteError {
    /// Another version: the hub's program is newer.
    Version,
    /// The note is cut or too long.
    Length,
    /// The key in the note is not that of the hub.
    Key,
    /// The addresses are not 1 to 4 of the form `host:port`.
    Addresses,
    /// The signature is not valid.
    Signature,
}

impl fmt::Display for OpenAddressNoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "the address note has another version; update this program",
            Self::Length => "the address note is cut or too long",
            Self::Key => "the address note is from another hub",
            Self::Addresses => "the addresses of the note are not 1 to 4 of the form HOST:PORT",
            Self::Signature => "the signature of the address note is not valid",
        })
    }
}

impl core::error::Error for OpenAddressNoteError {}
