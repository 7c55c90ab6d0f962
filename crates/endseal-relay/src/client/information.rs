//! Information document of a relay (NIP-11), of which one number is read.

use core::time::Duration;

use endseal_nostr::json::JsonError;
use endseal_nostr::json::scan::{MAX_INTEGER, Scanner};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::connect::{Head, Route};

/// Most bytes of an answer.
const MAX_ANSWER: u64 = 64 * 1024;
/// Most time for it, connection included.
const MAX_TIME: Duration = Duration::from_secs(5);

/// Fetches `max_message_length`. Whatever fails, there is none.
pub(super) async fn max_message_length(route: &Route) -> Option<u64> {
    let answer = timeout(MAX_TIME, fetch(route)).await.ok()??;
    let end = Head::end(&answer)?;
    let (head, body) = answer.split_at(end);
    let head = Head::parse(head)?;
    if head.first_line.split(' ').nth(1) != Some("200") {
        return None;
    }
    if head.headers("transfer-encoding").any(|value| value.eq_ignore_ascii_case("chunked")) {
        return number(&unchunked(body)?);
    }
    let length = head.headers("content-length").next().and_then(|length| length.parse().ok());
    number(body.get(..length.unwrap_or(body.len()))?)
}

async fn fetch(route: &Route) -> Option<Vec<u8>> {
    let mut stream = route.dial().await.ok()?;
    let uri = route.address.uri();
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nAccept: application/nostr+json\r\nConnection: close\r\n\r\n",
        uri.path_and_query()?,
        uri.authority()?,
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    stream.flush().await.ok()?;
    let mut answer = Vec::new();
    // Some servers close TLS without a goodbye: what was read until then is looked at.
    let _ = stream.take(MAX_ANSWER).read_to_end(&mut answer).await;
    Some(answer)
}

/// Content of a body in chunks (RFC 9112, section 7.1), up to the last one.
fn unchunked(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    loop {
        let line = body.windows(2).position(|window| window == b"\r\n")?;
        let size = str::from_utf8(&body[..line]).ok()?.split(';').next()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        if size == 0 {
            return Some(content);
        }
        body = &body[line + 2..];
        content.extend_from_slice(body.get(..size)?);
        body = body.get(size..)?.strip_prefix(b"\r\n")?;
    }
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

    #[test]
    fn chunks_are_joined_and_bounded() {
        let joined = unchunked(b"3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n");
        assert_eq!(joined.unwrap(), b"abc0123456789");
        for cut in [
            "",
            "3",
            "3\r\nab",
            "3\r\nabc",
            "3\r\nabcd\r\n0\r\n",
            "ffffffffffffffffff\r\n",
            "-1\r\n",
        ] {
            assert_eq!(unchunked(cut.as_bytes()), None, "{cut}");
        }
    }
}
