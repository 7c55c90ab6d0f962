//! Reads one number from the information document of a relay (NIP-11).

use core::future::poll_fn;
use core::pin::Pin;
use core::time::Duration;

use endseal_nostr::json::JsonError;
use endseal_nostr::json::scan::{MAX_INTEGER, Scanner};
use http::StatusCode;
use http::header::{ACCEPT, CONNECTION};
use http_body::Body as _;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::connect::{Route, ask, get};

/// Maximum length of the document in bytes.
const MAX_DOCUMENT: usize = 64 * 1024;
/// Maximum time for fetching the document, including the connection.
const MAX_TIME: Duration = Duration::from_secs(5);

/// Fetches `max_message_length`. Returns `None` if the relay does not state it or if anything
/// fails.
pub(super) async fn max_message_length(route: &Route) -> Option<u64> {
    number(&timeout(MAX_TIME, fetch(route)).await.ok()??)
}

async fn fetch(route: &Route) -> Option<Vec<u8>> {
    let request = get(route.address.uri()).header(ACCEPT, "application/nostr+json");
    let request = request.header(CONNECTION, "close").body(String::new()).ok()?;
    let mut driver = JoinSet::new();
    let response = ask(route.dial().await.ok()?, request, &mut driver).await.ok()?;
    if response.status() != StatusCode::OK {
        return None;
    }
    let mut body = response.into_body();
    let mut document = Vec::new();
    // Some servers close TLS without a close_notify alert, so the data read until then is used.
    while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        document.extend_from_slice(&frame.into_data().unwrap_or_default());
        if document.len() > MAX_DOCUMENT {
            return None;
        }
    }
    Some(document)
}

fn number(json: &[u8]) -> Option<u64> {
    let mut number = None;
    let read = |number: &mut Option<u64>| {
        Scanner::new(json)?.object(|scanner, name| {
            if !name.is("limitation") {
                return scanner.skip();
            }
            scanner.object(|scanner, name| {
                if !name.is("max_message_length") {
                    return scanner.skip();
                }
                *number = Some(scanner.integer(MAX_INTEGER)?);
                Ok::<_, JsonError>(())
            })
        })
    };
    read(&mut number).ok()?;
    number.filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_found() {
        for (json, expected) in [
            (
                r#"{"name":"x","limitation":{"a":[1],"max_message_length":65536},"z":{}}"#,
                Some(65536),
            ),
            (r#"{"limitation":{}}"#, None),
            (r#"{"max_message_length":65536}"#, None),
            (r#"{"limitation":{"max_message_length":0}}"#, None),
            (r#"{"limitation":{"max_message_length":-1}}"#, None),
            (r#"{"limitation":{"max_message_length":5}"#, None),
            ("<html>", None),
            ("", None),
        ] {
            assert_eq!(number(json.as_bytes()), expected, "{json}");
        }
    }
}
