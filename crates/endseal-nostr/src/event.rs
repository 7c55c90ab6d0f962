//! Events (NIP-01): parsed, identified, signed, verified and written.
//!
//! A [`Template`] has no author yet, a [`Rumor`] has an author and no signature (NIP-59), an
//! [`Event`] has both. All refer to texts where they lie.
//!
//! Ids are computed over [the one form](crate::json::write) of JSON: control characters without a
//! short escape are written as `\u00xx`. NIP-01 would have them as they are, which is no JSON; all
//! libraries escape them.

mod read;
mod tags;

use core::fmt;
use core::ops::Range;

use endseal_crypto::sha256::Digest;

pub use read::{Field, ParseError};
pub use tags::{RawTag, RawTags, Tag, TagIter, Tags, ValueIter};

use crate::json::{Text, write};
use crate::key::{PublicKey, SigningKey};
use crate::output::{Output, OutputTooSmall, Sink};

/// Length of an event id in bytes.
pub const ID_LEN: usize = 32;
/// Length of a signature in bytes.
pub const SIGNATURE_LEN: usize = 64;

/// An event before its author is known, as `sign_event` of NIP-46 passes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Template<'a> {
    /// Author that the template names, if any: no other key signs it.
    pub pubkey: Option<[u8; 32]>,
    /// Time of creation, in seconds since 1970.
    pub created_at: u64,
    /// Kind, which decides the meaning of tags and content (NIP-01).
    pub kind: u16,
    /// Tags of the event, in their order.
    pub tags: Tags<'a>,
    /// Content of the event, as its kind defines it.
    pub content: Text<'a>,
}

impl<'a> Template<'a> {
    /// Parses a JSON object with `created_at`, `kind`, `tags` and `content`. A `pubkey` is kept
    /// unless it is `""`; `id` and `sig` are ignored, as clients send them empty.
    ///
    /// # Errors
    /// [`ParseError`].
    pub fn parse(json: &'a [u8]) -> Result<Self, ParseError> {
        read::template(json)
    }

    /// Id of the event if `author` signs it:
    /// `SHA-256([0,"author",created_at,kind,tags,"content"])`.
    #[must_use]
    pub fn id(&self, author: &[u8; 32]) -> [u8; ID_LEN] {
        let mut digest = Digest::new();
        digest.put(b"[0,");
        write::hex(&mut digest, author);
        digest.put(b",");
        write::integer(&mut digest, self.created_at);
        digest.put(b",");
        write::integer(&mut digest, self.kind.into());
        digest.put(b",");
        self.tags.write_to(&mut digest);
        digest.put(b",");
        write::text(&mut digest, self.content);
        digest.put(b"]");
        digest.finish()
    }

    /// Makes the rumor: this event with `author` and the id, but without a signature.
    #[must_use]
    pub fn rumor(&self, author: &PublicKey) -> Rumor<'a> {
        let pubkey = author.to_bytes();
        Rumor {
            id: self.id(&pubkey),
            pubkey,
            created_at: self.created_at,
            kind: self.kind,
            tags: self.tags,
            content: self.content,
        }
    }

    /// Signs the event. `aux` is 32 random bytes (BIP-340): a caller without randomness passes
    /// zeros, and loses protection against fault attacks, nothing else.
    ///
    /// # Errors
    /// [`OtherAuthor`].
    pub fn sign(&self, key: &SigningKey, aux: &[u8; 32]) -> Result<Event<'a>, OtherAuthor> {
        let rumor = self.rumor(key.public_key());
        if self.pubkey.is_some_and(|pubkey| pubkey != rumor.pubkey) {
            return Err(OtherAuthor);
        }
        Ok(rumor.with_signature(key.sign(&rumor.id, aux)))
    }

    /// Writes the template as JSON.
    pub fn write_to(&self, sink: &mut impl Sink) {
        sink.put(b"{");
        if let Some(pubkey) = &self.pubkey {
            sink.put(b"\"pubkey\":");
            write::hex(sink, pubkey);
            sink.put(b",");
        }
        self.write_members(sink);
        sink.put(b"}");
    }

    fn write_members(&self, sink: &mut impl Sink) {
        sink.put(b"\"created_at\":");
        write::integer(sink, self.created_at);
        sink.put(b",\"kind\":");
        write::integer(sink, self.kind.into());
        sink.put(b",\"tags\":");
        self.tags.write_to(sink);
        sink.put(b",\"content\":");
        write::text(sink, self.content);
    }
}

/// An unsigned event with its id (NIP-59): nothing proves its author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Rumor<'a> {
    /// Id, as claimed until [`Rumor::verify_id`] succeeded.
    pub id: [u8; ID_LEN],
    /// Public key of the author.
    pub pubkey: [u8; 32],
    /// Time of creation, in seconds since 1970.
    pub created_at: u64,
    /// Kind, which decides the meaning of tags and content (NIP-01).
    pub kind: u16,
    /// Tags of the event, in their order.
    pub tags: Tags<'a>,
    /// Content of the event, as its kind defines it.
    pub content: Text<'a>,
}

impl<'a> Rumor<'a> {
    /// Parses a JSON object with all members of an event but `sig`, which MUST be absent.
    ///
    /// The id is not verified.
    ///
    /// # Errors
    /// [`ParseError`].
    pub fn parse(json: &'a [u8]) -> Result<Self, ParseError> {
        read::rumor(json)
    }

    /// The event without its author.
    #[must_use]
    pub fn template(&self) -> Template<'a> {
        Template {
            pubkey: Some(self.pubkey),
            created_at: self.created_at,
            kind: self.kind,
            tags: self.tags,
            content: self.content,
        }
    }

    /// Checks that the id is that of the other members.
    ///
    /// # Errors
    /// [`AuthenticationError`].
    pub fn verify_id(&self) -> Result<(), AuthenticationError> {
        if self.template().id(&self.pubkey) == self.id { Ok(()) } else { Err(AuthenticationError) }
    }

    /// Writes the rumor as JSON.
    pub fn write_to(&self, sink: &mut impl Sink) {
        self.write_open(sink);
        sink.put(b"}");
    }

    /// Writes the rumor as JSON to the front of `out`.
    ///
    /// # Errors
    /// [`OutputTooSmall`]; `out` is wiped.
    pub fn write<'o>(&self, out: &'o mut [u8]) -> Result<&'o mut [u8], OutputTooSmall> {
        let mut out = Output::new(out);
        self.write_to(&mut out);
        out.finish()
    }

    fn write_open(&self, sink: &mut impl Sink) {
        sink.put(b"{\"id\":");
        write::hex(sink, &self.id);
        sink.put(b",\"pubkey\":");
        write::hex(sink, &self.pubkey);
        sink.put(b",");
        self.template().write_members(sink);
    }

    fn with_signature(&self, sig: [u8; SIGNATURE_LEN]) -> Event<'a> {
        Event {
            id: self.id,
            pubkey: self.pubkey,
            created_at: self.created_at,
            kind: self.kind,
            tags: self.tags,
            content: self.content,
            sig,
        }
    }
}

/// A signed event. Its members are claims until [`Event::verify`] succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Event<'a> {
    /// SHA-256 of the members but `sig`.
    pub id: [u8; ID_LEN],
    /// Public key of the author.
    pub pubkey: [u8; 32],
    /// Time of creation, in seconds since 1970.
    pub created_at: u64,
    /// Kind, which decides the meaning of tags and content (NIP-01).
    pub kind: u16,
    /// Tags of the event, in their order.
    pub tags: Tags<'a>,
    /// Content of the event, as its kind defines it.
    pub content: Text<'a>,
    /// BIP-340 signature of `id` by `pubkey`.
    pub sig: [u8; SIGNATURE_LEN],
}

impl<'a> Event<'a> {
    /// Parses a JSON object with the seven members of NIP-01. Members of other names are ignored.
    ///
    /// Neither the id nor the signature is verified.
    ///
    /// # Errors
    /// [`ParseError`].
    pub fn parse(json: &'a [u8]) -> Result<Self, ParseError> {
        Self::parse_located(json).map(|(event, _)| event)
    }

    /// As [`Event::parse`]; also returns the place of the content in `json`, escapes as they are
    /// and without quotes, for [`unescape::in_place`](crate::json::unescape::in_place).
    ///
    /// # Errors
    /// [`ParseError`].
    pub fn parse_located(json: &'a [u8]) -> Result<(Self, Range<usize>), ParseError> {
        read::event(json)
    }

    /// The event without its signature.
    #[must_use]
    pub fn rumor(&self) -> Rumor<'a> {
        Rumor {
            id: self.id,
            pubkey: self.pubkey,
            created_at: self.created_at,
            kind: self.kind,
            tags: self.tags,
            content: self.content,
        }
    }

    /// Checks the id, then that `pubkey` is a public key and signed it (BIP-340). Returns that key.
    ///
    /// # Errors
    /// [`AuthenticationError`], the same for every reason.
    pub fn verify(&self) -> Result<PublicKey, AuthenticationError> {
        self.rumor().verify_id()?;
        let author = PublicKey::from_bytes(&self.pubkey).map_err(|_| AuthenticationError)?;
        author.verify(&self.id, &self.sig).map_err(|_| AuthenticationError)?;
        Ok(author)
    }

    /// Writes the event as JSON.
    pub fn write_to(&self, sink: &mut impl Sink) {
        self.rumor().write_open(sink);
        sink.put(b",\"sig\":");
        write::hex(sink, &self.sig);
        sink.put(b"}");
    }

    /// Writes the event as JSON to the front of `out`.
    ///
    /// # Errors
    /// [`OutputTooSmall`]; `out` is wiped.
    pub fn write<'o>(&self, out: &'o mut [u8]) -> Result<&'o mut [u8], OutputTooSmall> {
        let mut out = Output::new(out);
        self.write_to(&mut out);
        out.finish()
    }

    /// Writes the event as [`Event::write`] does, and returns it as text.
    pub(crate) fn write_text<'o>(&self, out: &'o mut [u8]) -> Result<&'o str, OutputTooSmall> {
        let mut out = Output::new(out);
        self.write_to(&mut out);
        out.finish_text()
    }
}

/// The id or the signature of an event is not that of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthenticationError;

impl fmt::Display for AuthenticationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the event is not authentic")
    }
}

impl core::error::Error for AuthenticationError {}

/// A template names another author than the key that should sign it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtherAuthor;

impl fmt::Display for OtherAuthor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the event names another author")
    }
}

impl core::error::Error for OtherAuthor {}
