//! Messages from a client to a relay.

use bytes::Bytes;
use endseal_nostr::json::{Text, write};
use endseal_nostr::output::Sink as _;

use super::{Filter, MAX_FILTERS, MessageError, elements, object, string, subscription};

/// A message from a client to a relay (NIP-01, NIP-42).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientMessage<'a> {
    /// Publishes an event. This is the JSON of the event, an object.
    Event(&'a str),
    /// Requests stored events and new ones.
    Request {
        /// The id of the subscription. An existing subscription with this id is replaced.
        subscription: Text<'a>,
        /// The filters. An event must match at least one of them.
        filters: Vec<Filter>,
    },
    /// Ends the subscription with this id.
    Close(Text<'a>),
    /// Answers a challenge. This is the JSON of an event of kind 22242.
    Auth(&'a str),
    /// A message of another type.
    Unknown,
}

impl<'a> ClientMessage<'a> {
    /// Parses the JSON of one message.
    ///
    /// # Errors
    /// [`MessageError`] if the message is malformed or exceeds a limit.
    pub fn parse(json: &'a [u8]) -> Result<Self, MessageError> {
        let mut parts = [""; 2];
        let mut filters = Vec::new();
        let mut is_request = false;
        elements(json, |number, raw| {
            match number {
                0 => is_request = string(raw)?.is("REQ"),
                2.. if is_request && filters.len() == MAX_FILTERS => {
                    return Err(MessageError::Limit);
                }
                2.. if is_request => filters.push(Filter::parse(raw)?),
                _ => {}
            }
            if let Some(part) = parts.get_mut(number) {
                *part = raw;
            }
            Ok(())
        })?;
        let kind = string(parts[0])?;
        Ok(if is_request {
            if filters.is_empty() {
                return Err(MessageError::Short);
            }
            Self::Request { subscription: subscription(parts[1])?, filters }
        } else if kind.is("EVENT") {
            Self::Event(object(parts[1])?)
        } else if kind.is("CLOSE") {
            Self::Close(subscription(parts[1])?)
        } else if kind.is("AUTH") {
            Self::Auth(object(parts[1])?)
        } else {
            Self::Unknown
        })
    }
}

/// Writes `["EVENT",…]` with the JSON of an event.
#[must_use]
pub fn event(json: &[u8]) -> Bytes {
    Bytes::from([b"[\"EVENT\",", json, b"]"].concat())
}

/// Writes `["AUTH",…]` with the JSON of an event.
#[must_use]
pub fn auth(json: &[u8]) -> Bytes {
    Bytes::from([b"[\"AUTH\",", json, b"]"].concat())
}

/// Writes a request `["REQ",…]` for a subscription with filters.
#[must_use]
pub fn request(subscription: &str, filters: &[Filter]) -> Bytes {
    let mut out = b"[\"REQ\",".to_vec();
    write::text(&mut out, subscription.into());
    for filter in filters {
        out.put(b",");
        filter.write_to(&mut out);
    }
    out.put(b"]");
    out.into()
}

/// Writes the end of a subscription, `["CLOSE",…]`.
#[must_use]
pub fn close(subscription: &str) -> Bytes {
    let mut out = b"[\"CLOSE\",".to_vec();
    write::text(&mut out, subscription.into());
    out.put(b"]");
    out.into()
}
