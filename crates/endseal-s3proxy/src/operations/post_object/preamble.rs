//! Fields of a form before its file (RFC 7578).

use core::future::poll_fn;

use bytes::{Buf as _, Bytes, BytesMut};
use endseal_s3_protocol::S3Error;
use http::HeaderMap;
use http::header::CONTENT_TYPE;

use crate::transfer::{RequestBody, find};

/// Maximum size in bytes of the form before the file, as in S3.
const MAX_LEN: usize = 20 * 1024;

/// Maximum length of a boundary (RFC 2046, 5.1.1).
const MAX_BOUNDARY: usize = 70;

/// Fields of a form, and the start of its file.
pub(super) struct Preamble {
    /// Names and values of the fields, in their order.
    pub(super) fields: Vec<(String, String)>,
    /// Name of the file without folders.
    pub(super) filename: String,
    /// Number of bytes of the form before the file.
    pub(super) len: u64,
    /// Bytes behind the preamble that were already received.
    pub(super) rest: Bytes,
}

/// Returns the boundary that a request announces.
///
/// # Errors
/// If the request announces none, or an invalid one.
pub(super) fn boundary(headers: &HeaderMap) -> Result<String, S3Error> {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (_, parameters) = parameters(value);
    let boundary = parameters.into_iter().find(|(name, _)| name == "boundary");
    boundary
        .map(|(_, boundary)| boundary)
        .filter(|boundary| (1..=MAX_BOUNDARY).contains(&boundary.len()))
        .ok_or_else(S3Error::malformed_form)
}

impl Preamble {
    /// Reads a form up to the start of its file.
    ///
    /// # Errors
    /// If the preamble is longer than S3 allows, is malformed, or has no file.
    pub(super) async fn read(upload: &mut RequestBody, boundary: &str) -> Result<Self, S3Error> {
        let mut buffer = BytesMut::new();
        // The buffer is parsed again when it has doubled, so each byte is parsed only a few times.
        let mut enough = 1;
        loop {
            let piece = poll_fn(|cx| upload.poll_piece(cx)).await.transpose()?;
            let is_end = piece.is_none();
            buffer.extend_from_slice(&piece.unwrap_or_default());
            if buffer.len() < enough && !is_end && buffer.len() <= MAX_LEN {
                continue;
            }
            enough = buffer.len() * 2;
            if let Some((mut preamble, len)) = parse(&buffer, boundary)? {
                if len > MAX_LEN {
                    return Err(S3Error::preamble_too_long());
                }
                preamble.len = len as u64;
                buffer.advance(len);
                preamble.rest = buffer.freeze();
                return Ok(preamble);
            }
            if is_end {
                return Err(S3Error::incomplete_body());
            }
            if buffer.len() > MAX_LEN {
                return Err(S3Error::preamble_too_long());
            }
        }
    }
}

/// Parses the preamble and returns its length, too. Returns `None` if more bytes are needed.
fn parse(buffer: &[u8], boundary: &str) -> Result<Option<(Preamble, usize)>, S3Error> {
    let delimiter = format!("\r\n--{boundary}");
    let first = &delimiter.as_bytes()[2..];
    // The first delimiter is at the start of the body or after an empty line.
    let start = if buffer.starts_with(b"\r\n") { 2 } else { 0 };
    let Some(begin) = buffer.get(start..start + first.len()) else { return Ok(None) };
    if begin != first {
        return Err(S3Error::malformed_form());
    }
    let mut at = start + first.len();
    let mut fields = Vec::new();
    loop {
        let rest = &buffer[at..];
        if rest.len() < 2 {
            return Ok(None);
        }
        if rest.starts_with(b"--") {
            return Err(S3Error::invalid_argument(
                "POST requires exactly one file upload per request.",
            ));
        }
        if !rest.starts_with(b"\r\n") {
            return Err(S3Error::malformed_form());
        }
        // The search starts at the line end before the headers, because there may be none.
        let Some(end) = find(rest, b"\r\n\r\n") else { return Ok(None) };
        let headers = core::str::from_utf8(rest.get(2..end).unwrap_or_default())
            .map_err(|_| S3Error::malformed_form())?;
        let (name, filename) = disposition(headers)?;
        at += end + 4;
        if name.eq_ignore_ascii_case("file") {
            let filename = filename.unwrap_or_default();
            let filename = filename.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
            return Ok(Some((Preamble { fields, filename, len: 0, rest: Bytes::new() }, at)));
        }
        let Some(end) = find(&buffer[at..], delimiter.as_bytes()) else { return Ok(None) };
        let value = core::str::from_utf8(&buffer[at..at + end]);
        fields.push((name, value.map_err(|_| S3Error::malformed_form())?.to_owned()));
        at += end + delimiter.len();
    }
}

/// Returns the name and file name of a form part.
fn disposition(headers: &str) -> Result<(String, Option<String>), S3Error> {
    let value =
        headers.split("\r\n").filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
            name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
        });
    let (kind, parameters) = parameters(value.ok_or_else(S3Error::malformed_form)?);
    if !kind.eq_ignore_ascii_case("form-data") {
        return Err(S3Error::malformed_form());
    }
    let (mut name, mut filename) = (None, None);
    for (parameter, value) in parameters {
        match parameter.as_str() {
            "name" => name = Some(value),
            "filename" => filename = Some(value),
            _ => {}
        }
    }
    Ok((name.ok_or_else(S3Error::malformed_form)?, filename))
}

/// Returns the text before the first `;` and the parameters behind it, with names in lower case.
fn parameters(value: &str) -> (&str, Vec<(String, String)>) {
    let (kind, mut rest) = value.split_once(';').unwrap_or((value, ""));
    let mut parameters = Vec::new();
    while let Some((name, after)) = rest.split_once('=') {
        let (value, after) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let (value, after) = after.split_once(';').unwrap_or((after, ""));
                (value.trim().to_owned(), after)
            }
        };
        let name = name.trim_matches(|c: char| c == ';' || c.is_ascii_whitespace());
        parameters.push((name.to_ascii_lowercase(), value));
        rest = after;
    }
    (kind.trim(), parameters)
}

/// Returns the text up to the closing quote, and the rest. Browsers encode quotes within it as
/// `%22` (WHATWG), other clients with a backslash.
fn unquote(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, text.get(at + 1..).unwrap_or_default()),
            '\\' => match characters.next() {
                Some((_, quote @ ('"' | '\\'))) => value.push(quote),
                Some((_, other)) => value.extend(['\\', other]),
                None => {}
            },
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "--b\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nx/${filename}\r\n\
        --b\r\ncontent-type: text/plain\r\ncontent-disposition: form-data;name=\"Empty\"\r\n\r\n\r\n\
        --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"C:\\dir\\a \\\"b\\\".txt\"\
        \r\nContent-Type: text/plain\r\n\r\nthe file";

    #[test]
    fn forms_are_read_up_to_their_file_and_no_cut_one_is() {
        let file = FORM.len() - "the file".len();
        for prefix in ["", "\r\n"] {
            let form = format!("{prefix}{FORM}");
            let (preamble, len) = parse(form.as_bytes(), "b").unwrap().unwrap();
            assert_eq!(len, file + prefix.len());
            assert_eq!(preamble.filename, "a \"b\".txt");
            let fields: Vec<_> =
                preamble.fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            assert_eq!(fields, [("key", "x/${filename}"), ("Empty", "")]);
            for end in 0..len {
                assert!(parse(&form.as_bytes()[..end], "b").unwrap().is_none(), "{end}");
            }
        }
    }

    #[test]
    fn what_is_no_form_is_refused() {
        for (form, code) in [
            ("--c\r\n", "MalformedPOSTRequest"),
            ("\r\n--c\r\n", "MalformedPOSTRequest"),
            ("--bb\r\n", "MalformedPOSTRequest"),
            ("--b--\r\n", "InvalidArgument"),
            ("--b\r\nx: y\r\n\r\n", "MalformedPOSTRequest"),
            ("--b\r\n\r\n\r\n", "MalformedPOSTRequest"),
            ("--b\r\ncontent-disposition: attachment; name=\"a\"\r\n\r\n", "MalformedPOSTRequest"),
            ("--b\r\ncontent-disposition: form-data\r\n\r\n", "MalformedPOSTRequest"),
        ] {
            let refused = parse(form.as_bytes(), "b").err().unwrap();
            assert_eq!(refused.code(), code, "{form}");
        }
    }

    #[test]
    fn boundaries_are_read_with_quotes_and_without() {
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, value.parse().unwrap());
            boundary(&headers).ok()
        };
        assert_eq!(of("multipart/form-data; boundary=ab").as_deref(), Some("ab"));
        assert_eq!(of("multipart/form-data;charset=x; Boundary=\"a b\"").as_deref(), Some("a b"));
        assert_eq!(of("multipart/form-data"), None);
        assert_eq!(of("multipart/form-data; boundary="), None);
        assert_eq!(of(&format!("multipart/form-data; boundary={}", "x".repeat(71))), None);
    }
}
