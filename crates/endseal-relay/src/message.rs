//! Messages between clients and relays (NIP-01, NIP-42), parsed in place.
//!
//! A message is a JSON array whose first element is its type. Elements after the known ones are
//! ignored, and so are messages of other types.

mod filter;
mod from_client;
mod from_relay;

use endseal_nostr::json::scan::Scanner;
use endseal_nostr::json::{JsonError, Text};

pub use filter::Filter;
pub use from_client::{ClientMessage, auth, close, event, request};
pub use from_relay::{RelayMessage, challenge, closed, deliver, end_of_stored, notice, result};

/// Maximum number of characters of a subscription id (NIP-01).
pub const MAX_SUBSCRIPTION_LEN: usize = 64;
/// Maximum number of filters in a `REQ`.
pub const MAX_FILTERS: usize = 20;
/// Maximum number of values in a list of a filter.
pub const MAX_VALUES: usize = 5_000;
/// Maximum length of a challenge in bytes.
pub const MAX_CHALLENGE_LEN: usize = 512;
/// Maximum length in bytes of a reason that is kept, in [`printable`] form.
pub const MAX_REASON_LEN: usize = 256;

/// The reason why a message is refused. The connection can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The text is not a JSON message.
    #[error("{0}")]
    Json(JsonError),
    /// The array has fewer elements than its type of message needs.
    #[error("the message is too short")]
    Short,
    /// An event id is not 64 lower-case hexadecimal digits.
    #[error("an event id is not lower-case hexadecimal")]
    Id,
    /// A subscription id is empty or longer than [`MAX_SUBSCRIPTION_LEN`].
    #[error("the subscription id is empty or too long")]
    Subscription,
    /// A challenge is longer than [`MAX_CHALLENGE_LEN`].
    #[error("the challenge is too long")]
    Challenge,
    /// There are more than [`MAX_FILTERS`] filters, or more than [`MAX_VALUES`] values in a list.
    #[error("the request has too many filters or values")]
    Limit,
    /// A member of a filter has a value that nothing can match.
    #[error("a value of a filter is invalid")]
    Filter,
}

impl From<JsonError> for MessageError {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}

/// Returns a copy of a peer's text for people: without control characters and direction characters,
/// and cut to [`MAX_REASON_LEN`] bytes.
#[must_use]
pub fn printable(text: Text<'_>) -> String {
    let mut out = String::new();
    for c in text.chars() {
        // These are marks, embeddings, overrides and isolates of direction, and separators of
        // lines.
        let is_hidden = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if out.len() + c.len_utf8() > MAX_REASON_LEN {
            break;
        }
        out.push(if c.is_control() || is_hidden { ' ' } else { c });
    }
    out
}

/// Calls `element` with the index and the JSON of each element.
fn elements<'a>(
    json: &'a [u8],
    mut element: impl FnMut(usize, &'a str) -> Result<(), MessageError>,
) -> Result<(), MessageError> {
    let mut scanner = Scanner::new(json)?;
    let mut number = 0;
    scanner.array(|scanner| {
        element(number, scanner.raw()?)?;
        number += 1;
        Ok::<_, MessageError>(())
    })?;
    Ok(scanner.end()?)
}

/// Reads an element that is a string. A missing element counts as empty.
fn string(element: &str) -> Result<Text<'_>, MessageError> {
    if element.is_empty() {
        return Err(MessageError::Short);
    }
    Ok(Scanner::over(element).string()?)
}

fn subscription(element: &str) -> Result<Text<'_>, MessageError> {
    let id = string(element)?;
    let len = id.chars().take(MAX_SUBSCRIPTION_LEN + 1).count();
    if (1..=MAX_SUBSCRIPTION_LEN).contains(&len) { Ok(id) } else { Err(MessageError::Subscription) }
}

fn object(element: &str) -> Result<&str, MessageError> {
    match element.as_bytes().first() {
        Some(b'{') => Ok(element),
        Some(_) => Err(MessageError::Json(JsonError::Unexpected)),
        None => Err(MessageError::Short),
    }
}
