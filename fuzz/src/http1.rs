//! A reference parser for the end of requests in a stream (RFC 9112, sections 2 to 7). It accepts
//! everything that RFC 9112 allows a server to accept.

/// The way in which the content of a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// After its length, or after a last chunk.
    Whole,
    /// The stream ends before the content does.
    Cut,
    /// The end is ambiguous. The request may be refused, and the bytes after it must not be taken
    /// for a request.
    Unclear,
}

/// A request, or the rest of a stream whose next request has no certain end.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a [u8],
    target: &'a [u8],
    pub(crate) content: Content,
    /// True if the client wants no answer after this one, or a server need not give one.
    pub(crate) is_last: bool,
}

impl Request<'_> {
    /// Returns the path of the target, without scheme, host, query and fragment.
    pub(crate) fn path(&self) -> &str {
        let target = str::from_utf8(self.target).unwrap_or("");
        let target = target.split(['?', '#']).next().unwrap_or_default();
        match target.split_once("://") {
            Some((_, rest)) if !target.starts_with('/') => {
                rest.find('/').map_or("/", |start| &rest[start..])
            }
            _ => target,
        }
    }
}

/// Returns all requests of a stream. The last one may be cut or unclear.
pub(crate) fn requests(stream: &[u8]) -> Vec<Request<'_>> {
    let (mut requests, mut rest) = (Vec::new(), stream);
    loop {
        while let Some(after) = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")) {
            rest = after;
        }
        if rest.is_empty() {
            return requests;
        }
        let (request, after) = request(rest);
        let ends = request.content != Content::Whole;
        requests.push(request);
        rest = after;
        if ends {
            return requests;
        }
    }
}

const NOTHING: Request<'_> =
    Request { method: b"", target: b"", content: Content::Unclear, is_last: true };

fn request(stream: &[u8]) -> (Request<'_>, &[u8]) {
    let Some((first, mut rest)) = line(stream) else {
        return (Request { content: Content::Cut, ..NOTHING }, b"");
    };
    let mut words = first.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return (NOTHING, b"");
    };
    let is_1_1 = version == b"HTTP/1.1";
    let mut request = Request { method, target, ..NOTHING };
    if method.is_empty()
        || http::Uri::try_from(target).is_err()
        || !(is_1_1 || version == b"HTTP/1.0")
    {
        return (request, b"");
    }
    let mut framing = Framing { is_1_1, ..Framing::default() };
    loop {
        let Some((field, after)) = line(rest) else {
            request.content = Content::Cut;
            return (request, b"");
        };
        rest = after;
        if field.is_empty() {
            break;
        }
        if framing.add(field).is_none() {
            return (request, b"");
        }
    }
    request.is_last = framing.is_last();
    let (content, rest) = framing.content(rest);
    request.content = content;
    (request, rest)
}

/// Returns a line without its end, which is CRLF or LF, and the rest.
fn line(stream: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = stream.iter().position(|byte| *byte == b'\n')?;
    let line = &stream[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), &stream[end + 1..]))
}

#[derive(Default)]
struct Framing {
    is_1_1: bool,
    length: Option<u64>,
    codings: Vec<Vec<u8>>,
    connection: Vec<Vec<u8>>,
}

impl Framing {
    /// Adds a header. `None` if the line is not a header, or makes the length of the content
    /// unclear.
    fn add(&mut self, field: &[u8]) -> Option<()> {
        let colon = field.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&field[..colon], field[colon + 1..].trim_ascii());
        let is_token =
            |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        if name.is_empty() || !name.iter().all(is_token) {
            return None;
        }
        if value.iter().any(|byte| (*byte < 0x20 && *byte != b'\t') || *byte == 0x7f) {
            return None;
        }
        let list =
            || value.split(|byte| *byte == b',').map(|it| it.trim_ascii().to_ascii_lowercase());
        match &*name.to_ascii_lowercase() {
            b"content-length" => {
                let digits = value.iter().all(u8::is_ascii_digit).then_some(value)?;
                let length = str::from_utf8(digits).ok()?.parse().ok()?;
                if self.length.is_some_and(|other| other != length) {
                    return None;
                }
                self.length = Some(length);
            }
            b"transfer-encoding" => self.codings.extend(list()),
            b"connection" => self.connection.extend(list()),
            _ => {}
        }
        Some(())
    }

    fn is_last(&self) -> bool {
        let says = |word: &[u8]| self.connection.iter().any(|it| it == word);
        says(b"close") || (!self.is_1_1 && !says(b"keep-alive"))
    }

    fn content<'a>(&self, rest: &'a [u8]) -> (Content, &'a [u8]) {
        if let Some(last) = self.codings.last() {
            let is_clear = last == b"chunked" && self.is_1_1;
            return if is_clear { chunked(rest) } else { (Content::Unclear, b"") };
        }
        let length = self.length.unwrap_or(0);
        match usize::try_from(length).ok().and_then(|length| rest.get(length..)) {
            Some(rest) => (Content::Whole, rest),
            None => (Content::Cut, b""),
        }
    }
}

/// Returns the end of chunks and trailers.
fn chunked(mut rest: &[u8]) -> (Content, &[u8]) {
    const CUT: (Content, &[u8]) = (Content::Cut, b"");
    const UNCLEAR: (Content, &[u8]) = (Content::Unclear, b"");
    loop {
        let Some((size, after)) = line(rest) else { return CUT };
        let digits = size.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
        let size = str::from_utf8(digits)
            .ok()
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let Some(size) = size else { return UNCLEAR };
        rest = after;
        if size == 0 {
            break;
        }
        let Some(after) = rest.get(size..) else { return CUT };
        match after {
            [] | [b'\r'] => return CUT,
            [b'\r', b'\n', next @ ..] => rest = next,
            _ => return UNCLEAR,
        }
    }
    loop {
        let Some((trailer, after)) = line(rest) else { return CUT };
        rest = after;
        if trailer.is_empty() {
            return (Content::Whole, rest);
        }
        if Framing::default().add(trailer).is_none() {
            return UNCLEAR;
        }
    }
}
