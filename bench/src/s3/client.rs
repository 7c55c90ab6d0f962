//! A client that costs little: blocking sockets, large buffers, and content compared as it comes.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Instant, SystemTime};

use endseal_s3_protocol::sigv4::{PayloadHash, Signer};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::Failure;
use super::content::{self, Content};

/// Bytes that are read at once.
const BUFFER: usize = 256 * 1024;
/// Bytes that are written at once.
const WRITE: usize = 1 << 20;
/// Time without any data after which a connection counts as lost.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Idle time after which a server may have closed a connection.
const STALE: Duration = Duration::from_secs(4);
/// Bytes of the longest head of an answer, and of the longest body that is not content.
const MOST: usize = 64 * 1024;

/// A connection for successive requests.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Time at which its last answer started.
    used: Instant,
}

/// Head of an answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// Number of bytes of the body.
    len: u64,
    /// Number of bytes of the body that are in the buffer already.
    start: usize,
    end: usize,
}

/// Builds the head of a signed request. It can be sent repeatedly for some minutes.
pub(crate) fn head(
    signer: &Signer,
    authority: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    len: Option<u64>,
) -> Result<Vec<u8>, Failure> {
    head_of(signer, authority, method, target, headers, len, PayloadHash::Unsigned)
}

/// Builds the head of a signed request. `hash` is the statement about the body that is signed.
pub(crate) fn head_of(
    signer: &Signer,
    authority: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    len: Option<u64>,
    hash: PayloadHash,
) -> Result<Vec<u8>, Failure> {
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let mut signed = HeaderMap::new();
    signed.insert("host", authority.to_string().parse()?);
    for (name, value) in headers {
        signed.append(name.parse::<HeaderName>()?, HeaderValue::from_str(value)?);
    }
    let now = SystemTime::now();
    signer.sign(method, path, query, &mut signed, hash, now)?;
    let mut text = format!("{method} {target} HTTP/1.1\r\n");
    for (name, value) in &signed {
        text += &format!("{name}: {}\r\n", value.to_str()?);
    }
    if let Some(len) = len {
        text += &format!("content-length: {len}\r\n");
    }
    text += "\r\n";
    Ok(text.into_bytes())
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Self { stream, buffer: vec![0; BUFFER], used: Instant::now() })
    }

    /// Returns true if the server may have closed the connection, because it was idle while other
    /// subjects were measured.
    pub(crate) fn is_stale(&self) -> bool {
        self.used.elapsed() > STALE
    }

    /// Uploads content. Fails if the answer is not a success.
    pub(crate) fn put(&mut self, head: &[u8], content: Content) -> Result<(), Failure> {
        let answer = self.send(head, content)?;
        self.body_of(answer, 200..300).map(drop)
    }

    /// Uploads a part of an object and returns its ETag. Fails if the answer is not a success.
    pub(crate) fn put_part(&mut self, head: &[u8], content: Content) -> Result<String, Failure> {
        let answer = self.send(head, content)?;
        let etag = answer.headers.get("etag").cloned();
        self.body_of(answer, 200..300)?;
        Ok(etag.ok_or("a part has no ETag")?.to_str()?.to_owned())
    }

    /// Uploads content in chunks, followed by `behind`. Fails if the answer is not a success.
    pub(crate) fn put_chunks(
        &mut self,
        head: &[u8],
        content: Content,
        behind: &[u8],
    ) -> Result<(), Failure> {
        let written = self.write_chunks(head, content, behind);
        let answer = self.answer_to(written)?;
        self.body_of(answer, 200..300).map(drop)
    }

    fn write_chunks(&mut self, head: &[u8], content: Content, behind: &[u8]) -> io::Result<()> {
        // Short data is sent together with the following data: a write of its own would be a packet
        // of its own.
        let mut short = head.to_vec();
        let mut at = 0;
        while at < content.len {
            short.extend_from_slice(content::chunk_line(content.len, at).as_bytes());
            self.stream.write_all(&short)?;
            let end = content.len.min(at + content::CHUNK);
            while at < end {
                let piece = content.from(at);
                let len = usize::try_from(end - at).map_or(piece.len(), |len| len.min(piece.len()));
                self.stream.write_all(&piece[..len])?;
                at += len as u64;
            }
            short.clear();
            short.extend_from_slice(b"\r\n");
        }
        short.extend_from_slice(behind);
        self.stream.write_all(&short)
    }

    /// Downloads `len` bytes and compares them with `wanted` from the offset `from` on.
    pub(crate) fn get(
        &mut self,
        head: &[u8],
        wanted: Content,
        from: u64,
        len: u64,
    ) -> Result<(), Failure> {
        self.stream.write_all(head)?;
        let answer = self.answer()?;
        if !(200..300).contains(&answer.status) || answer.len != len {
            let status = answer.status;
            let why = match answer.len {
                0..64_000 => self.text(answer)?,
                len => format!("{len} bytes"),
            };
            return Err(format!("status {status}: {why}").into());
        }
        let mut at = from;
        let mut left = len;
        let mut found = answer.start..answer.end;
        loop {
            if !wanted.matches(at, &self.buffer[found.clone()]) {
                return Err("what came is not what was stored".into());
            }
            at += found.len() as u64;
            left = left.checked_sub(found.len() as u64).ok_or("more came than was announced")?;
            if left == 0 {
                return Ok(());
            }
            let most = usize::try_from(left).map_or(BUFFER, |left| left.min(BUFFER));
            let read = self.stream.read(&mut self.buffer[..most])?;
            if read == 0 {
                return Err("the answer was cut".into());
            }
            found = 0..read;
        }
    }

    /// Sends a request with a short body. Returns the answer with its body.
    pub(crate) fn ask(
        &mut self,
        head: &[u8],
        body: &[u8],
    ) -> Result<(u16, HeaderMap, Vec<u8>), Failure> {
        self.stream.write_all(head)?;
        self.stream.write_all(body)?;
        let answer = self.answer()?;
        let (status, headers) = (answer.status, answer.headers.clone());
        let body = self.read_all(answer, usize::MAX)?;
        Ok((status, headers, body))
    }

    fn send(&mut self, head: &[u8], content: Content) -> Result<Answer, Failure> {
        let mut at = 0;
        let first = content.from(0);
        // A short object is sent together with its head, as clients with a buffer do.
        let written = if content.len <= 16 * 1024 && first.len() as u64 == content.len {
            at = content.len;
            self.stream.write_all(&[head, first].concat())
        } else {
            self.stream.write_all(head)
        };
        let mut written = written;
        while written.is_ok() && at < content.len {
            let piece = content.from(at);
            let piece = &piece[..piece.len().min(WRITE)];
            written = self.stream.write_all(piece);
            at += piece.len() as u64;
        }
        self.answer_to(written)
    }

    /// Reads the answer to a request, unless writing the request failed.
    fn answer_to(&mut self, written: io::Result<()>) -> Result<Answer, Failure> {
        match (self.answer(), written) {
            // A server that refuses a request may close the connection before it has read
            // everything.
            (Ok(answer), Ok(())) => Ok(answer),
            (Ok(answer), Err(_)) if answer.status >= 300 => Ok(answer),
            (_, Err(error)) => Err(error.into()),
            (Err(error), _) => Err(error),
        }
    }

    /// Reads the head of an answer.
    fn answer(&mut self) -> Result<Answer, Failure> {
        let mut filled = 0;
        let end = loop {
            let found = self.buffer[..filled].windows(4).position(|it| it == b"\r\n\r\n");
            if let Some(end) = found {
                break end;
            }
            if filled >= MOST {
                return Err("the head of an answer is too long".into());
            }
            let read = self.stream.read(&mut self.buffer[filled..])?;
            if read == 0 {
                return Err(Failure::from(io::Error::from(io::ErrorKind::UnexpectedEof)));
            }
            filled += read;
        };
        let head = core::str::from_utf8(&self.buffer[..end])?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let status: u16 = status.ok_or("an answer has no status")?.parse()?;
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(':').ok_or("a header has no value")?;
            headers.append(name.parse::<HeaderName>()?, HeaderValue::from_str(value.trim())?);
        }
        let len = match headers.get("content-length") {
            Some(len) => len.to_str()?.parse()?,
            None if status == 204 => 0,
            None => return Err("an answer has no length".into()),
        };
        self.used = Instant::now();
        Ok(Answer { status, headers, len, start: end + 4, end: filled })
    }

    fn body_of(
        &mut self,
        answer: Answer,
        statuses: core::ops::Range<u16>,
    ) -> Result<Vec<u8>, Failure> {
        let status = answer.status;
        if statuses.contains(&status) {
            return self.read_all(answer, MOST);
        }
        let text = self.text(answer)?;
        Err(format!("status {status}: {text}").into())
    }

    fn text(&mut self, answer: Answer) -> Result<String, Failure> {
        let body = self.read_all(answer, MOST)?;
        Ok(String::from_utf8_lossy(&body).chars().filter(|c| !c.is_control()).take(160).collect())
    }

    fn read_all(&mut self, answer: Answer, most: usize) -> Result<Vec<u8>, Failure> {
        let len = usize::try_from(answer.len).unwrap_or(usize::MAX);
        if len > most {
            return Err("an answer is longer than expected".into());
        }
        let mut body = self.buffer[answer.start..answer.end].to_vec();
        let known = body.len();
        body.resize(len, 0);
        self.stream.read_exact(&mut body[known.min(len)..])?;
        Ok(body)
    }
}
