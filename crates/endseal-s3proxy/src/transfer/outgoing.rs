//! Bodies of responses to clients.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use endseal_s3_protocol::S3Error;
use http_body::{Body, Frame, SizeHint};

use crate::transfer::{Awaited, Opened};
use crate::upstream::ResponseBody;

/// Body of a response to a client.
#[allow(missing_debug_implementations, reason = "it holds plaintext")]
pub struct Outgoing(Kind);

enum Kind {
    Full(Bytes),
    /// Body that the backend sends, unchanged.
    Backend(Box<ResponseBody>),
    /// Document that is not known yet.
    Awaited(Box<Awaited<Outgoing>>),
    /// Content that is opened, and the number of bytes that are left.
    Opened {
        opened: Box<Opened>,
        left: u64,
    },
}

impl Outgoing {
    /// Creates an empty body.
    #[must_use]
    pub const fn empty() -> Self {
        Self(Kind::Full(Bytes::new()))
    }

    /// Creates a body from bytes in memory.
    #[must_use]
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Full(bytes.into()))
    }

    /// Creates a body that forwards the backend's body.
    pub(crate) fn backend(body: ResponseBody) -> Self {
        if body.is_end_stream() { Self::empty() } else { Self(Kind::Backend(Box::new(body))) }
    }

    /// Creates a body with the document of an answer that is being worked on.
    pub(crate) const fn awaited(awaited: Box<Awaited<Self>>) -> Self {
        Self(Kind::Awaited(awaited))
    }

    /// Creates a body of `len` bytes of opened content.
    pub(crate) fn opened(opened: Opened, len: u64) -> Self {
        Self(Kind::Opened { opened: Box::new(opened), left: len })
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = S3Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, S3Error>>> {
        match &mut self.0 {
            Kind::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Kind::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(core::mem::take(bytes))))),
            Kind::Backend(body) => {
                let frame = ready!(Pin::new(body).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(|_| S3Error::unavailable())))
            }
            Kind::Awaited(awaited) => awaited.poll_frame(cx),
            Kind::Opened { opened, left } => Poll::Ready(match ready!(opened.poll_piece(cx)) {
                Some(Ok(piece)) => {
                    *left = left.saturating_sub(piece.len() as u64);
                    Some(Ok(Frame::data(piece)))
                }
                Some(Err(error)) => Some(Err(error)),
                None => None,
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Full(bytes) => bytes.is_empty(),
            Kind::Backend(body) => body.is_end_stream(),
            Kind::Awaited(_) | Kind::Opened { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Backend(body) => body.size_hint(),
            Kind::Awaited(_) => SizeHint::default(),
            Kind::Opened { left, .. } => SizeHint::with_exact(*left),
        }
    }
}
