//! Head of an HTTP/1.1 request, read before it is known whether it asks for WebSocket.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// Most bytes of a head.
const MAX_HEAD: usize = 16 * 1024;

/// A connection that hands out the head of a request again, which was read from it before.
#[derive(Debug)]
pub(crate) struct HeadFirst<S> {
    stream: S,
    /// Bytes that are to be handed out again.
    ahead: Vec<u8>,
    /// Number of bytes of `ahead` that were handed out.
    done: usize,
}

impl<S> HeadFirst<S> {
    /// Makes a connection whose first bytes are `ahead`.
    pub(crate) fn new(ahead: Vec<u8>, stream: S) -> Self {
        Self { stream, ahead, done: 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HeadFirst<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.done == this.ahead.len() {
            return Pin::new(&mut this.stream).poll_read(cx, out);
        }
        let rest = &this.ahead[this.done..];
        let len = rest.len().min(out.remaining());
        out.put_slice(&rest[..len]);
        this.done += len;
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
