//! Events that answer a relay's challenge (NIP-42), and events that are ready to be sent.

use bytes::Bytes;
use endseal_nostr::event::{Event, ParseError, Tags, Template};
use endseal_nostr::key::{PublicKey, SigningKey};

use crate::address::Address;

/// The kind of an event that answers a challenge.
pub const KIND: u16 = 22_242;
/// Greatest difference between the time of such an event and the relay's clock, in seconds
/// (NIP-42).
pub const MAX_AGE: u64 = 600;

/// A signed event in the form in which it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct SignedEvent {
    /// The id of the event. Its result is reported with this id.
    pub id: [u8; 32],
    /// The JSON of the event, as it is sent.
    pub json: Bytes,
}

impl SignedEvent {
    /// Wraps the JSON of an event. It is not verified.
    ///
    /// # Errors
    /// [`ParseError`] if the text is not the JSON of an event.
    pub fn parse(json: impl Into<Bytes>) -> Result<Self, ParseError> {
        let json = json.into();
        let id = Event::parse(&json)?.id;
        Ok(Self { id, json })
    }
}

impl From<&Event<'_>> for SignedEvent {
    fn from(event: &Event<'_>) -> Self {
        let mut json = Vec::new();
        event.write_to(&mut json);
        Self { id: event.id, json: json.into() }
    }
}

/// Signs the answer of one key to a relay's challenge. `aux` is 32 random bytes (BIP-340).
#[must_use]
#[allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "only a template that names an author is refused"
)]
pub fn sign(
    challenge: &str,
    relay: &Address,
    key: &SigningKey,
    created_at: u64,
    aux: &[u8; 32],
) -> SignedEvent {
    let relay = relay.to_string();
    let tags: &[&[&str]] = &[&["relay", &relay], &["challenge", challenge]];
    let content = "".into();
    let template =
        Template { pubkey: None, created_at, kind: KIND, tags: Tags::List(tags), content };
    let event = template.sign(key, aux).expect("the template names no author");
    SignedEvent::from(&event)
}

/// Verifies the answer to a challenge. `relay` is this relay's URL. Without it, the answer only has
/// to have a `relay` tag. Returns the authenticated key.
///
/// # Errors
/// [`AuthError`] if the answer is not valid for this challenge at this time.
pub fn verify(
    event: &Event<'_>,
    challenge: &str,
    relay: Option<&Address>,
    now: u64,
) -> Result<PublicKey, AuthError> {
    if event.kind != KIND {
        return Err(AuthError::Kind);
    }
    if event.created_at.abs_diff(now) > MAX_AGE {
        return Err(AuthError::Time);
    }
    if !event.tags.value("challenge").is_some_and(|value| value.is(challenge)) {
        return Err(AuthError::Challenge);
    }
    let named = event.tags.value("relay").ok_or(AuthError::Relay)?;
    if let Some(relay) = relay
        && !Address::parse_insecure(&named.to_string()).is_ok_and(|named| named == *relay)
    {
        return Err(AuthError::Relay);
    }
    event.verify().map_err(|_| AuthError::Signature)
}

/// The reason why an answer to a challenge is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The kind is not [`KIND`].
    #[error("the event is not of kind 22242")]
    Kind,
    /// The event is older or newer than [`MAX_AGE`] allows.
    #[error("the event is too old or too new")]
    Time,
    /// The event answers a challenge other than that of the connection.
    #[error("the event answers another challenge")]
    Challenge,
    /// The event is for another relay.
    #[error("the event is for another relay")]
    Relay,
    /// The id or the signature is wrong.
    #[error("the event is not authentic")]
    Signature,
}
