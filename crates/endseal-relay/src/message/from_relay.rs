//! Messages from a relay to a client.

use bytes::Bytes;
use endseal_nostr::hex;
use endseal_nostr::json::{JsonError, Text, write};
use endseal_nostr::output::Sink as _;

use super::{MAX_CHALLENGE_LEN, MessageError, elements, object, string, subscription};

/// A message from a relay to a client (NIP-01, NIP-42).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelayMessage<'a> {
    /// An event of a subscription.
    Event {
        /// The id of the subscription that the event belongs to.
        subscription: Text<'a>,
        /// The JSON of the event, an object. It is not verified.
        event: &'a str,
    },
    /// All stored events of a subscription were sent.
    EndOfStored(Text<'a>),
    /// The result of a published event.
    Result {
        /// The id of the published event.
        id: [u8; 32],
        /// True if the relay accepted the event or already had it.
        accepted: bool,
        /// The reason, with a prefix such as `auth-required:`. Some relays send none.
        reason: Text<'a>,
    },
    /// A text for people, which the relay's operator chose.
    Notice(Text<'a>),
    /// The relay ended a subscription.
    Closed {
        /// The id of the subscription that ended.
        subscription: Text<'a>,
        /// The reason, with a prefix such as `auth-required:`.
        reason: Text<'a>,
    },
    /// A challenge, which the client answers with a signed event (NIP-42).
    Challenge(Text<'a>),
    /// A message of another type.
    Unknown,
}

impl<'a> RelayMessage<'a> {
    /// Parses the JSON of one message.
    ///
    /// # Errors
    /// [`MessageError`] if the message is malformed or exceeds a limit.
    pub fn parse(json: &'a [u8]) -> Result<Self, MessageError> {
        let mut parts = [""; 4];
        elements(json, |number, raw| {
            if let Some(part) = parts.get_mut(number) {
                *part = raw;
            }
            Ok(())
        })?;
        let kind = string(parts[0])?;
        let reason = |part: &'a str| {
            if part.is_empty() { Ok(Text::Plain("")) } else { string(part) }
        };
        Ok(if kind.is("EVENT") {
            Self::Event { subscription: subscription(parts[1])?, event: object(parts[2])? }
        } else if kind.is("EOSE") {
            Self::EndOfStored(subscription(parts[1])?)
        } else if kind.is("OK") {
            Self::Result {
                id: id(string(parts[1])?)?,
                accepted: boolean(parts[2])?,
                reason: reason(parts[3])?,
            }
        } else if kind.is("NOTICE") {
            Self::Notice(string(parts[1])?)
        } else if kind.is("CLOSED") {
            Self::Closed { subscription: subscription(parts[1])?, reason: reason(parts[2])? }
        } else if kind.is("AUTH") {
            let challenge = string(parts[1])?;
            if challenge.unescaped_len() > MAX_CHALLENGE_LEN {
                return Err(MessageError::Challenge);
            }
            Self::Challenge(challenge)
        } else {
            Self::Unknown
        })
    }
}

fn id(text: Text<'_>) -> Result<[u8; 32], MessageError> {
    let Text::Plain(text) = text else { return Err(MessageError::Id) };
    hex::array(text).ok_or(MessageError::Id)
}

fn boolean(element: &str) -> Result<bool, MessageError> {
    match element {
        "true" => Ok(true),
        "false" => Ok(false),
        "" => Err(MessageError::Short),
        _ => Err(MessageError::Json(JsonError::Unexpected)),
    }
}

/// Writes `["EVENT",…]` with the JSON of an event, for a subscription.
#[must_use]
pub fn deliver(subscription: &str, event: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(event.len() + subscription.len() + 16);
    out.put(b"[\"EVENT\",");
    write::text(&mut out, subscription.into());
    out.put(b",");
    out.put(event);
    out.put(b"]");
    out.into()
}

/// Writes the end of stored events, `["EOSE",…]`.
#[must_use]
pub fn end_of_stored(subscription: &str) -> Bytes {
    texts(b"[\"EOSE\"", &[subscription])
}

/// Writes the result of a published event, `["OK",…]`.
#[must_use]
pub fn result(id: &[u8; 32], accepted: bool, reason: &str) -> Bytes {
    let mut out = b"[\"OK\",".to_vec();
    write::hex(&mut out, id);
    out.put(if accepted { b",true" } else { b",false" });
    texts(&out, &[reason])
}

/// Writes a text for people, `["NOTICE",…]`.
#[must_use]
pub fn notice(text: &str) -> Bytes {
    texts(b"[\"NOTICE\"", &[text])
}

/// Writes that a subscription ended, `["CLOSED",…]`.
#[must_use]
pub fn closed(subscription: &str, reason: &str) -> Bytes {
    texts(b"[\"CLOSED\"", &[subscription, reason])
}

/// Writes a challenge, `["AUTH",…]`.
#[must_use]
pub fn challenge(challenge: &str) -> Bytes {
    texts(b"[\"AUTH\"", &[challenge])
}

/// Appends texts to an array whose start is `started`, and closes it.
fn texts(started: &[u8], texts: &[&str]) -> Bytes {
    let mut out = started.to_vec();
    for text in texts {
        out.put(b",");
        write::text(&mut out, (*text).into());
    }
    out.put(b"]");
    out.into()
}
