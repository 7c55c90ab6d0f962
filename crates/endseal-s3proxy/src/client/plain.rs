//! Heads of HTTP/1.1 messages as servers of S3 mostly send and get them.

use core::mem::{self, MaybeUninit};

use bytes::{BufMut as _, Bytes};
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, request};
use httparse::{ParserConfig, Status};

use super::FIELDS;

/// Fields that an answer gets on its way to a client, so that the map need not grow.
const ADDED: usize = 4;

/// Writes the head of a request (RFC 9112, 3) behind what is in `out`. Its fields frame the body, if there is one.
pub(super) fn write_request(head: &request::Parts, out: &mut Vec<u8>) {
    let target = head.uri.path_and_query().map_or("/", |it| it.as_str());
    for part in [head.method.as_str(), " ", target, " HTTP/1.1\r\n"] {
        out.put_slice(part.as_bytes());
    }
    for (name, value) in &head.headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            out.put_slice(part);
        }
    }
    out.put_slice(b"\r\n");
}

/// What some bytes of a response's beginning are.
pub(super) enum Beginning {
    /// A plain head of so many bytes, and how many its body has.
    Plain(Response<()>, usize, u64),
    /// Perhaps the beginning of a head.
    Partial,
    /// Anything else, good or bad.
    Other,
}

/// Reads a response to `method`. A plain head is one of a final response whose body is as long as it says, over a
/// connection that stays. Its fields get the memory of `map`, in which there are none.
pub(super) fn response(bytes: &Bytes, method: &Method, map: &mut HeaderMap) -> Beginning {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    let mut parsed = httparse::Response::new(&mut []);
    let config = ParserConfig::default();
    match config.parse_response_with_uninit_headers(&mut parsed, bytes, &mut fields) {
        Ok(Status::Complete(len)) => match plain(&parsed, bytes, method, map) {
            Some((response, left)) => Beginning::Plain(response, len, left),
            None => Beginning::Other,
        },
        Ok(Status::Partial) => Beginning::Partial,
        Err(_) => Beginning::Other,
    }
}

fn plain(
    parsed: &httparse::Response<'_, '_>,
    bytes: &Bytes,
    method: &Method,
    map: &mut HeaderMap,
) -> Option<(Response<()>, u64)> {
    let status = StatusCode::from_u16(parsed.code?).ok()?;
    if parsed.version != Some(1) || status.is_informational() {
        return None;
    }
    let mut headers = mem::take(map);
    headers.reserve(parsed.headers.len() + ADDED);
    for field in parsed.headers.iter() {
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        // What frames the message otherwise, or says what becomes of the connection.
        if name == CONNECTION || name == TRANSFER_ENCODING || name == UPGRADE {
            return None;
        }
        // Shares the memory of the head.
        headers.append(name, HeaderValue::from_maybe_shared(bytes.slice_ref(field.value)).ok()?);
    }
    let left = if *method == Method::HEAD
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
    {
        0
    } else {
        content_len(&headers)?
    };
    let mut response = Response::new(());
    (*response.status_mut(), *response.headers_mut()) = (status, headers);
    Some((response, left))
}

/// `Content-Length`, once and of digits.
fn content_len(headers: &HeaderMap) -> Option<u64> {
    let mut values = headers.get_all(CONTENT_LENGTH).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let text = value.to_str().ok()?;
    // A number may have a sign in Rust.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The response, and what is behind its head.
    fn of(method: &Method, bytes: &str) -> Option<(Response<()>, usize, u64)> {
        let bytes_of_it = Bytes::copy_from_slice(bytes.as_bytes());
        match response(&bytes_of_it, method, &mut HeaderMap::new()) {
            Beginning::Plain(response, len, left) => Some((response, bytes.len() - len, left)),
            Beginning::Partial | Beginning::Other => None,
        }
    }

    #[test]
    fn a_plain_head_is_read() {
        let head = "HTTP/1.1 206 Partial Content\r\nETag: \"a\"\r\nx-amz-meta-a: 1\r\n\
                    Content-Length:  42 \r\nx-amz-meta-a: \r\n\r\n";
        let (response, behind, left) = of(&Method::GET, &format!("{head}behind")).unwrap();
        assert_eq!((response.status().as_u16(), behind, left), (206, 6, 42));
        let values: Vec<_> = response.headers().get_all("x-amz-meta-a").iter().collect();
        assert_eq!(values, ["1", ""]);
        assert_eq!(
            (response.headers()["etag"].as_bytes(), response.headers().len()),
            (&b"\"a\""[..], 4)
        );
    }

    #[test]
    fn a_body_that_cannot_be_has_no_length() {
        for (method, status, len) in [
            (Method::HEAD, "200 OK", Some(0)),
            (Method::HEAD, "404 Not Found", Some(0)),
            (Method::GET, "304 Not Modified", Some(0)),
            (Method::DELETE, "204 No Content", Some(0)),
            (Method::GET, "200 OK", Some(7)),
            (Method::PUT, "204", Some(0)),
        ] {
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: 7\r\n\r\n");
            assert_eq!(of(&method, &head).map(|it| it.2), len, "{method} {status}");
        }
        assert_eq!(of(&Method::DELETE, "HTTP/1.1 204 No Content\r\n\r\n").unwrap().2, 0);
    }

    #[test]
    fn what_is_not_plain_is_left_to_others() {
        for head in [
            "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nConnection: keep-alive\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1, 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: \r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length : 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n folded\r\n\r\n",
            "HTTP/1.1 200 OK\r\n: 1\r\ncontent-length: 1\r\n\r\n",
            "HTTP/2 200 OK\r\n\r\n",
            "SSH-2.0",
            "HTTP/1.1 200 O\0",
        ] {
            let bytes = Bytes::copy_from_slice(head.as_bytes());
            let beginning = response(&bytes, &Method::GET, &mut HeaderMap::new());
            assert!(matches!(beginning, Beginning::Other), "{head}");
        }
        let many =
            |n| format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n{}\r\n", "a: b\r\n".repeat(n));
        let is_plain = |head: String| of(&Method::GET, &head).is_some();
        assert!(is_plain(many(FIELDS - 1)) && !is_plain(many(FIELDS)));
    }

    #[test]
    fn what_has_not_come_is_waited_for() {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n";
        for len in 0..head.len() {
            let bytes = Bytes::copy_from_slice(&head[..len]);
            let beginning = response(&bytes, &Method::GET, &mut HeaderMap::new());
            assert!(matches!(beginning, Beginning::Partial), "{len}");
        }
    }

    #[test]
    fn a_request_is_written_as_it_is() {
        let request = http::Request::put("http://host/bucket/a%20b?partNumber=1")
            .header("host", "s3.example.com")
            .header("x-amz-meta-a", "1")
            .header("x-amz-meta-a", HeaderValue::from_bytes(b"\xe4\t").unwrap())
            .body(())
            .unwrap();
        let mut out = b"before ".to_vec();
        write_request(&request.into_parts().0, &mut out);
        let expected =
            b"before PUT /bucket/a%20b?partNumber=1 HTTP/1.1\r\nhost: s3.example.com\r\n\
                         x-amz-meta-a: 1\r\nx-amz-meta-a: \xe4\t\r\n\r\n";
        assert_eq!(out, expected);
    }
}
