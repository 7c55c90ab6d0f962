//! Head of an HTTP/1.1 message: bounded, and checked before others parse it.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// Most bytes of a head.
const MAX_HEAD: usize = 16 * 1024;

/// Length in characters of `Sec-WebSocket-Accept`: 20 bytes in Base64.
const ACCEPT_LEN: usize = 28;

/// A connection that hands out a checked head before the rest.
///
/// tokio-websockets buffers an answer to its handshake without a bound, and panics if
/// `Sec-WebSocket-Accept` decodes to more than 20 bytes. A head that would do either is an error
/// here.
#[derive(Debug)]
pub(crate) struct HeadFirst<S> {
    stream: S,
    /// Bytes that were read and not yet handed out.
    ahead: Vec<u8>,
    /// Bytes of `ahead` that were handed out.
    done: usize,
    /// The head is still to be read and checked.
    is_open: bool,
}

impl<S> HeadFirst<S> {
    /// A connection whose first bytes are the answer to a handshake.
    pub(crate) fn checked(stream: S) -> Self {
        Self { stream, ahead: Vec::new(), done: 0, is_open: true }
    }

    /// A connection whose first bytes were read already.
    pub(crate) fn of(ahead: Vec<u8>, stream: S) -> Self {
        Self { stream, ahead, done: 0, is_open: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HeadFirst<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.is_open {
            let mut chunk = [0; 1024];
            let mut chunk = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.stream).poll_read(cx, &mut chunk))?;
            if chunk.filled().is_empty() {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            this.ahead.extend_from_slice(chunk.filled());
            match Head::end(&this.ahead) {
                Some(end) => check(&this.ahead[..end])?,
                None if this.ahead.len() > MAX_HEAD => return Poll::Ready(Err(too_large())),
                None => continue,
            }
            this.is_open = false;
        }
        if this.done == this.ahead.len() {
            return Pin::new(&mut this.stream).poll_read(cx, out);
        }
        let rest = &this.ahead[this.done..];
        let len = rest.len().min(out.remaining());
        out.put_slice(&rest[..len]);
        this.done += len;
        if this.done == this.ahead.len() {
            (this.ahead, this.done) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HeadFirst<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

fn check(head: &[u8]) -> io::Result<()> {
    let head = Head::parse(head).ok_or(io::ErrorKind::InvalidData)?;
    let is_short = |value: &str| value.len() == ACCEPT_LEN && value.ends_with('=');
    if head.headers("sec-websocket-accept").all(is_short) {
        Ok(())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the head of the HTTP message is too large")
}

/// Reads up to the end of a head; what was read behind it is in the result too.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    while Head::end(&read).is_none() {
        if read.len() > MAX_HEAD {
            return Err(too_large());
        }
        let mut chunk = [0; 1024];
        match stream.read(&mut chunk).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            len => read.extend_from_slice(&chunk[..len]),
        }
    }
    Ok(read)
}

/// First line and headers.
pub(crate) struct Head<'a> {
    pub(crate) first_line: &'a str,
    lines: &'a str,
}

impl<'a> Head<'a> {
    /// Length of the head at the front of `bytes`, with the empty line.
    pub(crate) fn end(bytes: &[u8]) -> Option<usize> {
        bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
    }

    /// Parses a whole head.
    pub(crate) fn parse(head: &'a [u8]) -> Option<Self> {
        let (first_line, lines) = str::from_utf8(head).ok()?.split_once('\n')?;
        Some(Self { first_line: first_line.trim_end(), lines })
    }

    /// Values of the headers of a name in lower case.
    pub(crate) fn headers(&self, name: &'static str) -> impl Iterator<Item = &'a str> {
        self.lines.split('\n').filter_map(move |line| {
            let (found, value) = line.split_once(':')?;
            found.trim().eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(accept: &str) -> Vec<u8> {
        format!(
            "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nSEC-websocket-accept: {accept}\r\n\r\nrest"
        )
        .into_bytes()
    }

    #[tokio::test]
    async fn a_checked_head_and_the_rest_are_handed_out() {
        let sent = answer("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        let mut read = Vec::new();
        HeadFirst::checked(&sent[..]).read_to_end(&mut read).await.unwrap();
        assert_eq!(read, sent);
    }

    #[tokio::test]
    async fn a_digest_that_would_overflow_is_refused() {
        for accept in ["", "c2hvcnQ=", "s3pPLMBiTxaQ9kYGzzhZRbK+xOoo", &"A".repeat(400)] {
            let sent = answer(accept);
            let mut read = Vec::new();
            let error = HeadFirst::checked(&sent[..]).read_to_end(&mut read).await.unwrap_err();
            assert_eq!((error.kind(), read.len()), (io::ErrorKind::InvalidData, 0), "{accept}");
        }
    }

    #[tokio::test]
    async fn a_head_without_end_is_refused() {
        let sent = [b'a'; 2 * MAX_HEAD];
        let error = HeadFirst::checked(&sent[..]).read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(read_head(&mut &sent[..]).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
