//! From an event to a request: each step costs more than the one before it, and refuses first.

use core::fmt;
use core::ops::Range;

use super::{KIND, MessageError, Request};
use crate::event::{AuthenticationError, Event, ID_LEN, ParseError};
use crate::hex;
use crate::json::{Text, unescape};
use crate::key::{PublicKey, SecretKey};
use crate::nip04;
use crate::nip44::{Conversation, OpenError};

/// Most bytes of the JSON of an event.
pub const MAX_EVENT: usize = 512 * 1024;

/// Name of the tag that holds the receiver's public key.
const RECEIVER: &str = "p";

/// An event that may carry a request. Nothing is verified yet: its members are claims.
#[allow(missing_debug_implementations, reason = "it becomes plaintext")]
pub struct Incoming<'a> {
    json: &'a mut [u8],
    id: [u8; ID_LEN],
    author: [u8; 32],
    recipient: [u8; 32],
    created_at: u64,
    content: Range<usize>,
}

impl<'a> Incoming<'a> {
    /// Reads the JSON of an event, without any cryptography.
    ///
    /// The caller MUST wipe `json` after use, as the request is decrypted in it.
    ///
    /// # Errors
    /// [`Ignored`]: the caller MUST NOT answer.
    pub fn read(json: &'a mut [u8]) -> Result<Self, Ignored> {
        if json.len() > MAX_EVENT {
            return Err(Ignored::Length);
        }
        Self::read_long(json)
    }

    /// Reads the JSON of an event of any length, as [`Self::read`] does. The caller MUST answer the
    /// request of an event longer than [`MAX_EVENT`] by [`CallError::Length`](super::CallError)
    /// alone, or ignore it.
    ///
    /// # Errors
    /// [`Ignored`]: the caller MUST NOT answer.
    pub fn read_long(json: &'a mut [u8]) -> Result<Self, Ignored> {
        let (event, content) = Event::parse_located(json).map_err(Ignored::Event)?;
        if event.kind != KIND {
            return Err(Ignored::Kind);
        }
        let Some(Text::Plain(recipient)) = event.tags.value(RECEIVER) else {
            return Err(Ignored::Recipient);
        };
        let recipient = hex::array(recipient).ok_or(Ignored::Recipient)?;
        let Event { id, pubkey: author, created_at, .. } = event;
        Ok(Self { json, id, author, recipient, created_at, content })
    }

    /// Id of the event that carries the request.
    #[must_use]
    pub const fn id(&self) -> &[u8; ID_LEN] {
        &self.id
    }

    /// Author of the event: the client key.
    #[must_use]
    pub const fn author(&self) -> &[u8; 32] {
        &self.author
    }

    /// Receiver by the first `p` tag: a transport key.
    #[must_use]
    pub const fn recipient(&self) -> &[u8; 32] {
        &self.recipient
    }

    /// Time of the event in seconds since 1970.
    #[must_use]
    pub const fn created_at(&self) -> u64 {
        self.created_at
    }

    /// Verifies the id of the event and its signature.
    ///
    /// # Errors
    /// [`AuthenticationError`]: the caller MUST NOT answer.
    pub fn verify(self) -> Result<Verified<'a>, AuthenticationError> {
        let event = Event::parse(self.json).map_err(|_| AuthenticationError)?;
        let author = event.verify()?;
        let content = self.json.get_mut(self.content).ok_or(AuthenticationError)?;
        let len = unescape::in_place(content).map_err(|_| AuthenticationError)?;
        Ok(Verified { author, content: &mut content[..len] })
    }
}

/// The content of an event whose author is known.
#[allow(missing_debug_implementations, reason = "it becomes plaintext")]
pub struct Verified<'a> {
    author: PublicKey,
    content: &'a mut [u8],
}

impl<'a> Verified<'a> {
    /// Author of the event, for the conversation.
    #[must_use]
    pub const fn author(&self) -> &PublicKey {
        &self.author
    }

    /// Returns true if the content has the form of NIP-04, which is answered by an error.
    #[must_use]
    pub fn is_nip04(&self) -> bool {
        nip04::is_content(self.content)
    }

    /// Decrypts the content by NIP-44, in the conversation of transport key and author.
    ///
    /// # Errors
    /// [`OpenError`]: the caller MUST NOT answer.
    pub fn open(self, conversation: &Conversation) -> Result<Opened<'a>, OpenError> {
        conversation.open(self.content).map(Opened)
    }

    /// Decrypts the content by NIP-04. The caller MUST answer its request by
    /// [`Refusal::Nip04Transport`](super::Refusal::Nip04Transport) alone, encrypted with this key.
    ///
    /// # Errors
    /// [`nip04::DecryptError`]: the caller MUST NOT answer.
    pub fn open_nip04(self, key: &nip04::Key) -> Result<Opened<'a>, nip04::DecryptError> {
        key.decrypt(self.content).map(Opened)
    }

    /// Key of the content and of its answer, if they are of NIP-04.
    #[must_use]
    pub fn nip04_key(&self, transport: &SecretKey) -> nip04::Key {
        nip04::Key::new(transport, &self.author)
    }
}

/// The decrypted content of a request, still unparsed.
#[allow(missing_debug_implementations, reason = "it is plaintext")]
pub struct Opened<'a>(&'a mut [u8]);

impl<'a> Opened<'a> {
    /// Parses the content as a request.
    ///
    /// # Errors
    /// [`MessageError`]: it has no id, so that the caller cannot answer.
    pub fn request(self) -> Result<Request<'a>, MessageError> {
        Request::parse(self.0)
    }
}

/// Cause why an event is ignored before any cryptography.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ignored {
    /// The event is longer than [`MAX_EVENT`].
    Length,
    /// The bytes are not the JSON of an event.
    Event(ParseError),
    /// The event has another kind than 24133.
    Kind,
    /// The first `p` tag of the event is missing or is not a public key.
    Recipient,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("the event is longer than 512 KiB"),
            Self::Event(error) => error.fmt(f),
            Self::Kind => f.write_str("the event carries no request"),
            Self::Recipient => f.write_str("the event names no receiver"),
        }
    }
}

impl core::error::Error for Ignored {}
