//! Public keys, events and addresses as text for people (NIP-19), and as URIs (NIP-21).
//!
//! Secret keys are no entity: [`key`] reads `nsec`. `nrelay` is deprecated and refused.

mod records;

use core::fmt;

use endseal_crypto::bech32::Encoder;

use crate::bech32::{self, Bech32Error};
use crate::key::{self, PublicKey};
use crate::output::{Output, OutputTooSmall};
use crate::relays::{RELAY, Relays, is_relay};
use records::{AUTHOR, CheckedRecords, KIND, SPECIAL};

/// Most bytes of data in a text, which are those of 5,000 characters. A buffer of this size
/// suffices for [`Entity::decode`].
pub const MAX_DATA: usize = bech32::MAX_LEN * 5 / 8;

const NOTE: &str = "note";
const NPROFILE: &str = "nprofile";
const NEVENT: &str = "nevent";
const NADDR: &str = "naddr";
/// Scheme of NIP-21, with its colon.
const SCHEME: &str = "nostr:";

/// Something that a text of NIP-19 refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entity<'a> {
    /// `npub`: a public key alone.
    PublicKey(PublicKey),
    /// `note`: an event id alone.
    Note([u8; 32]),
    /// `nprofile`: a public key and where to find it.
    Profile(Profile<'a>),
    /// `nevent`: an event id and where to find it.
    Event(EventReference<'a>),
    /// `naddr`: the newest of the replaceable events of an author, kind and identifier.
    Address(Address<'a>),
}

/// A public key, and relays that are likely to have its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Profile<'a> {
    /// Public key of the user.
    pub public_key: PublicKey,
    /// Relays that are likely to have the user's events.
    pub relays: Relays<'a>,
}

/// An event id, and what helps to find the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct EventReference<'a> {
    /// Id of the event.
    pub id: [u8; 32],
    /// Relays that are likely to have it.
    pub relays: Relays<'a>,
    /// Author: a claim until the event was verified.
    pub author: Option<PublicKey>,
    /// Kind: a claim until the event was verified.
    pub kind: Option<u16>,
}

/// An address of replaceable events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Address<'a> {
    /// Value of the tag `d`; `""` for kinds without one.
    pub identifier: &'a str,
    /// Relays that are likely to have the events.
    pub relays: Relays<'a>,
    /// Public key of the author of the events.
    pub author: PublicKey,
    /// Kind of the events.
    pub kind: u16,
}

impl<'a> Entity<'a> {
    /// Decodes a text. `buffer` takes the data; [`MAX_DATA`] bytes suffice for all.
    ///
    /// # Errors
    /// [`EntityError`].
    pub fn decode(text: &str, buffer: &'a mut [u8]) -> Result<Self, EntityError> {
        let prefix = bech32::prefix(text)?;
        let known = [key::NPUB, NOTE, NPROFILE, NEVENT, NADDR, key::NSEC];
        let prefix = known.into_iter().find(|known| prefix.eq_ignore_ascii_case(known));
        let prefix = prefix.ok_or(EntityError::Prefix)?;
        if prefix == key::NSEC {
            return Err(EntityError::Secret);
        }
        let data: &'a [u8] = bech32::decode(text, buffer)?;
        match prefix {
            key::NPUB => public_key(data).map(Self::PublicKey),
            NOTE => data.try_into().map(Self::Note).map_err(|_| EntityError::Length),
            NPROFILE => Profile::from_records(data).map(Self::Profile),
            NEVENT => EventReference::from_records(data).map(Self::Event),
            _ => Address::from_records(data).map(Self::Address),
        }
    }

    /// Decodes `nostr:` and a text (NIP-21). The scheme may be in any case.
    ///
    /// # Errors
    /// [`EntityError`].
    pub fn decode_uri(uri: &str, buffer: &'a mut [u8]) -> Result<Self, EntityError> {
        match uri.split_at_checked(SCHEME.len()) {
            Some((scheme, text)) if scheme.eq_ignore_ascii_case(SCHEME) => {
                Self::decode(text, buffer)
            }
            _ => Err(EntityError::Prefix),
        }
    }

    /// Writes the text to the front of `out`.
    ///
    /// # Errors
    /// [`EncodeError`]; `out` is then undefined.
    pub fn encode<'o>(&self, out: &'o mut [u8]) -> Result<&'o str, EncodeError> {
        let mut out = Output::new(out);
        let mut encoder = bech32::encoder(self.prefix(), &mut out);
        match self {
            Self::PublicKey(key) => encoder.put(&key.to_bytes()),
            Self::Note(id) => encoder.put(id),
            Self::Profile(profile) => {
                record(&mut encoder, SPECIAL, &profile.public_key.to_bytes())?;
                relays(&mut encoder, profile.relays)?;
            }
            Self::Event(event) => {
                record(&mut encoder, SPECIAL, &event.id)?;
                relays(&mut encoder, event.relays)?;
                if let Some(author) = &event.author {
                    record(&mut encoder, AUTHOR, &author.to_bytes())?;
                }
                if let Some(kind) = event.kind {
                    record(&mut encoder, KIND, &u32::from(kind).to_be_bytes())?;
                }
            }
            Self::Address(address) => {
                record(&mut encoder, SPECIAL, address.identifier.as_bytes())?;
                relays(&mut encoder, address.relays)?;
                record(&mut encoder, AUTHOR, &address.author.to_bytes())?;
                record(&mut encoder, KIND, &u32::from(address.kind).to_be_bytes())?;
            }
        }
        encoder.finish();
        let text = out.finish_text().map_err(EncodeError::Output)?;
        if text.len() > bech32::MAX_LEN { Err(EncodeError::Length) } else { Ok(text) }
    }

    const fn prefix(&self) -> &'static str {
        match self {
            Self::PublicKey(_) => key::NPUB,
            Self::Note(_) => NOTE,
            Self::Profile(_) => NPROFILE,
            Self::Event(_) => NEVENT,
            Self::Address(_) => NADDR,
        }
    }
}

impl<'a> Profile<'a> {
    fn from_records(data: &'a [u8]) -> Result<Self, EntityError> {
        // For a profile NIP-19 defines neither author nor kind, so that these are ignored.
        let records = CheckedRecords::read(data, &[SPECIAL])?;
        Ok(Self { public_key: public_key(records.special()?)?, relays: records.relays() })
    }
}

impl<'a> EventReference<'a> {
    fn from_records(data: &'a [u8]) -> Result<Self, EntityError> {
        let records = CheckedRecords::read(data, &[SPECIAL, AUTHOR, KIND])?;
        Ok(Self {
            id: records.special()?.try_into().map_err(|_| EntityError::Length)?,
            relays: records.relays(),
            author: records.author().map(public_key).transpose()?,
            kind: records.kind()?,
        })
    }
}

impl<'a> Address<'a> {
    fn from_records(data: &'a [u8]) -> Result<Self, EntityError> {
        let records = CheckedRecords::read(data, &[SPECIAL, AUTHOR, KIND])?;
        Ok(Self {
            identifier: str::from_utf8(records.special()?).map_err(|_| EntityError::Text)?,
            relays: records.relays(),
            author: public_key(records.author().ok_or(EntityError::Missing)?)?,
            kind: records.kind()?.ok_or(EntityError::Missing)?,
        })
    }
}

fn public_key(bytes: &[u8]) -> Result<PublicKey, EntityError> {
    let bytes = bytes.try_into().map_err(|_| EntityError::Length)?;
    PublicKey::from_bytes(bytes).map_err(|_| EntityError::Key)
}

fn relays(encoder: &mut Encoder<impl FnMut(u8)>, relays: Relays<'_>) -> Result<(), EncodeError> {
    for relay in relays.iter() {
        if !is_relay(relay.as_bytes()) {
            return Err(EncodeError::Relay);
        }
        record(encoder, RELAY, relay.as_bytes())?;
    }
    Ok(())
}

fn record(
    encoder: &mut Encoder<impl FnMut(u8)>,
    kind: u8,
    value: &[u8],
) -> Result<(), EncodeError> {
    let len = u8::try_from(value.len()).map_err(|_| EncodeError::Length)?;
    encoder.put(&[kind, len]);
    encoder.put(value);
    Ok(())
}

/// Cause why a text is no entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntityError {
    /// The text is not bech32, for example because of a typing error.
    Bech32(Bech32Error),
    /// The text has another prefix than those of [`Entity`], or a URI has another scheme.
    Prefix,
    /// The text is a secret key, which belongs neither into a URI nor where entities are shown.
    Secret,
    /// A key, an id or a kind has another length than it must have.
    Length,
    /// A record is longer than the bytes that are left.
    Truncated,
    /// Key, id, identifier, author or kind occurs twice.
    Duplicate,
    /// A record that must be there is absent.
    Missing,
    /// A public key is not the x-coordinate of a point.
    Key,
    /// The number of a kind exceeds 65,535.
    Kind,
    /// A relay has another character than visible ASCII or none, or an identifier is not UTF-8.
    Text,
}

impl From<Bech32Error> for EntityError {
    fn from(error: Bech32Error) -> Self {
        Self::Bech32(error)
    }
}

impl fmt::Display for EntityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bech32(error) => return error.fmt(f),
            Self::Prefix => "the text is neither npub, note, nprofile, nevent nor naddr",
            Self::Secret => "the text is a secret key",
            Self::Length => "a part of the text has a wrong length",
            Self::Truncated => "a record of the text is cut",
            Self::Duplicate => "a record of the text occurs twice",
            Self::Missing => "a record of the text is absent",
            Self::Key => "a public key of the text is not on the curve",
            Self::Kind => "the kind in the text is too large",
            Self::Text => {
                "a relay or an identifier of the text has characters that are not allowed"
            }
        })
    }
}

impl core::error::Error for EntityError {}

/// Cause why an entity has no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// A relay or identifier exceeds 255 bytes, or the text 5,000 characters.
    Length,
    /// A relay is empty, or not visible ASCII.
    Relay,
    /// The buffer is too small.
    Output(OutputTooSmall),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("the text or a part of it would be too long"),
            Self::Relay => f.write_str("a relay has characters that are not allowed"),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for EncodeError {}
