//! Responses of a remote signer (NIP-46).

use super::{MessageError, text, unescape};
use crate::event::Event;
use crate::json::JsonError;
use crate::json::scan::Scanner;
use crate::json::write::{self, Quoted};
use crate::output::{Output, OutputTooSmall, Sink};
use crate::relays::Relays;

const AUTH_URL: &str = "auth_url";
/// Result of `switch_relays` if nothing changes: the JSON text, as a string.
const UNCHANGED: &str = "null";

/// Answer to a request, without its id.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it holds plaintexts and secrets")]
#[non_exhaustive]
pub enum Answer<'a> {
    /// A text: `ack`, `pong`, a secret, a key, a payload or a plaintext. All that is read and no
    /// error is this.
    Text(&'a str),
    /// A signed event as JSON.
    Event(&'a Event<'a>),
    /// The signer's relays as a JSON array.
    Relays(Relays<'a>),
    /// The relays stay as they are.
    Unchanged,
    /// An error, with the text that the client shows.
    Error(&'a str),
    /// A page where the user confirms; another response with the same id follows.
    AuthUrl(&'a str),
}

impl Answer<'_> {
    /// Writes a response to the front of `out`, which is then to be encrypted.
    ///
    /// # Errors
    /// [`OutputTooSmall`]; `out` is wiped.
    pub fn write<'o>(&self, id: &str, out: &'o mut [u8]) -> Result<&'o mut [u8], OutputTooSmall> {
        let mut out = Output::new(out);
        self.write_to(id, &mut out);
        out.finish()
    }

    /// Length in bytes of the response.
    pub(super) fn len(&self, id: &str) -> usize {
        let mut counter = Counter(0);
        self.write_to(id, &mut counter);
        counter.0
    }

    fn write_to(&self, id: &str, out: &mut impl Sink) {
        out.put(b"{\"id\":");
        write::text(out, id.into());
        if let Some(result) = self.result() {
            out.put(b",\"result\":");
            write::text(out, result.into());
        }
        match self {
            Self::Event(event) => {
                out.put(b",\"result\":\"");
                event.write_to(&mut Quoted::new(out));
                out.put(b"\"");
            }
            Self::Relays(relays) => {
                out.put(b",\"result\":\"[");
                for (i, relay) in relays.iter().enumerate() {
                    if i > 0 {
                        out.put(b",");
                    }
                    write::text(&mut Quoted::new(out), relay.into());
                }
                out.put(b"]\"");
            }
            Self::Error(error) | Self::AuthUrl(error) => {
                out.put(b",\"error\":");
                write::text(out, (*error).into());
            }
            Self::Text(_) | Self::Unchanged => {}
        }
        out.put(b"}");
    }

    /// The result if it is a plain text.
    const fn result(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Unchanged => Some(UNCHANGED),
            Self::AuthUrl(_) => Some(AUTH_URL),
            Self::Event(_) | Self::Relays(_) | Self::Error(_) => None,
        }
    }
}

/// Counts the bytes that are written, and stores none.
struct Counter(usize);

impl Sink for Counter {
    fn put(&mut self, bytes: &[u8]) {
        self.0 = self.0.saturating_add(bytes.len());
    }
}

/// A response as it was sent.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it holds plaintexts and secrets")]
#[non_exhaustive]
pub struct Response<'a> {
    /// Id of the request that this response answers.
    pub id: &'a str,
    /// Result of the request, or its error.
    pub answer: Answer<'a>,
}

impl<'a> Response<'a> {
    /// Parses a JSON object with `id`, `result` and `error`, and removes the escapes of its strings
    /// in place. An `error` that is `""` or `null` counts as absent. A `result` that is `null`
    /// without an error is [`Answer::Unchanged`]; for some methods it means the text `null`.
    ///
    /// # Errors
    /// [`MessageError`]; `json` may be changed.
    pub fn parse(json: &'a mut [u8]) -> Result<Self, MessageError> {
        let (mut id, mut result, mut error) = (None, None, None);
        let mut has_result = false;
        let mut scanner = Scanner::new(json)?;
        scanner.object(|scanner, name| {
            if name.is("id") {
                id = Some(scanner.string_located()?.1);
            } else if name.is("result") {
                has_result = true;
                result = nullable(scanner)?;
            } else if name.is("error") {
                error = nullable(scanner)?;
            } else {
                scanner.skip()?;
            }
            Ok::<_, JsonError>(())
        })?;
        scanner.end()?;
        let mut id = id.ok_or(MessageError::Missing)?;
        for place in [Some(&mut id), result.as_mut(), error.as_mut()].into_iter().flatten() {
            unescape(json, place)?;
        }
        let json: &'a [u8] = json;
        let id = text(json, id)?;
        let result = result.map(|place| text(json, place)).transpose()?;
        let error = error.map(|place| text(json, place)).transpose()?;
        let answer = match (result, error.filter(|error| !error.is_empty())) {
            (Some(AUTH_URL), Some(url)) => Answer::AuthUrl(url),
            (_, Some(error)) => Answer::Error(error),
            (Some(result), None) => Answer::Text(result),
            (None, None) if has_result => Answer::Unchanged,
            (None, None) => return Err(MessageError::Missing),
        };
        Ok(Self { id, answer })
    }
}

/// Place of a string, or nothing for `null`.
fn nullable(scanner: &mut Scanner<'_>) -> Result<Option<core::ops::Range<usize>>, JsonError> {
    if scanner.null()? { Ok(None) } else { scanner.string_located().map(|(_, place)| Some(place)) }
}
