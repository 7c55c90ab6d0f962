//! Request bodies. Their length must be known, because S3 requires it.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

/// Error of the source of a body.
pub type SourceError = Box<dyn core::error::Error + Send + Sync>;

/// Body of a request.
pub struct Body(Kind);

enum Kind {
    Empty,
    Full(Bytes),
    Channel { left: u64, receiver: mpsc::Receiver<Result<Bytes, SourceError>> },
    Stream { left: u64, source: Pin<Box<Source>> },
}

type Source = dyn http_body::Body<Data = Bytes, Error = SourceError> + Send;

impl Body {
    /// Creates an empty body.
    #[must_use]
    pub fn empty() -> Self {
        Self(Kind::Empty)
    }

    /// Creates a body from bytes in memory. If they are secret, create them with
    /// [`Bytes::from_owner`] from an owner that is wiped when dropped.
    #[must_use]
    pub fn full(bytes: Bytes) -> Self {
        if bytes.is_empty() { Self::empty() } else { Self(Kind::Full(bytes)) }
    }

    /// Creates a body of `len` bytes that another task sends. The request is aborted if the sender
    /// is dropped before it has sent all of them.
    #[must_use]
    pub fn channel(len: u64) -> (BodySender, Self) {
        // One frame is being sent and one is queued, so memory is bounded by the size of frames.
        let (sender, receiver) = mpsc::channel(1);
        (BodySender(sender), Self(Kind::Channel { left: len, receiver }))
    }

    /// Creates a body of `len` bytes that is polled from `source` while the request is sent. The
    /// request is aborted if the source fails, or has fewer or more bytes.
    ///
    /// The server has the complete request once it has the last of the `len` bytes. A source that
    /// can still fail then, for instance because of a checksum, MUST withhold that byte until it
    /// knows.
    #[must_use]
    pub fn stream(
        len: u64,
        source: impl http_body::Body<Data = Bytes, Error = SourceError> + Send + 'static,
    ) -> Self {
        Self(Kind::Stream { left: len, source: Box::pin(source) })
    }

    /// Returns a copy of the body if it is in memory.
    pub(super) fn replay(&self) -> Option<Self> {
        match &self.0 {
            Kind::Empty => Some(Self(Kind::Empty)),
            Kind::Full(bytes) => Some(Self(Kind::Full(bytes.clone()))),
            Kind::Channel { .. } | Kind::Stream { .. } => None,
        }
    }

    pub(super) fn left(&self) -> u64 {
        match &self.0 {
            Kind::Empty => 0,
            Kind::Full(bytes) => bytes.len() as u64,
            Kind::Channel { left, .. } | Kind::Stream { left, .. } => *left,
        }
    }

    /// Returns true if the body is empty or was sent completely.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::empty()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = SourceError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, SourceError>>> {
        loop {
            let (item, left) = match &mut self.0 {
                Kind::Empty => return Poll::Ready(None),
                Kind::Full(_) => {
                    let Kind::Full(bytes) = core::mem::replace(&mut self.0, Kind::Empty) else {
                        return Poll::Ready(None);
                    };
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Kind::Channel { left, receiver } => (ready!(receiver.poll_recv(cx)), left),
                Kind::Stream { left, source } => {
                    let item = match ready!(source.as_mut().poll_frame(cx)) {
                        // S3 has no trailers at this level, so they are ignored.
                        Some(Ok(frame)) => Some(Ok(frame.into_data().unwrap_or_default())),
                        Some(Err(error)) => Some(Err(error)),
                        None => None,
                    };
                    (item, left)
                }
            };
            return Poll::Ready(match item {
                Some(Ok(data)) => match left.checked_sub(data.len() as u64) {
                    Some(_) if data.is_empty() => continue,
                    Some(rest) => {
                        *left = rest;
                        Some(Ok(Frame::data(data)))
                    }
                    None => Some(Err(Box::new(WrongLength))),
                },
                Some(Err(error)) => Some(Err(error)),
                None if *left == 0 => None,
                None => Some(Err(Box::new(WrongLength))),
            });
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The content may be secret.
        write!(f, "Body({} bytes)", self.left())
    }
}

/// Sender for the body of a request.
pub struct BodySender(mpsc::Sender<Result<Bytes, SourceError>>);

impl BodySender {
    /// Sends the next frame. Waits until the previous one was taken.
    ///
    /// # Errors
    /// [`BodyUnwanted`] if the request has ended with an error or with an early response.
    pub async fn send(&mut self, frame: Bytes) -> Result<(), BodyUnwanted> {
        self.0.send(Ok(frame)).await.map_err(|_| BodyUnwanted)
    }

    /// Aborts the request with `error`. The server sees a broken connection.
    pub async fn abort(self, error: SourceError) {
        // If the request has ended, the error is not needed.
        let _ended = self.0.send(Err(error)).await;
    }
}

impl fmt::Debug for BodySender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BodySender")
    }
}

/// Error of [`BodySender::send`]: the request has ended before its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("the request has ended before its body")]
pub struct BodyUnwanted;

/// Error of a body with fewer or more bytes than its announced length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("the body is shorter or longer than announced")]
pub struct WrongLength;
