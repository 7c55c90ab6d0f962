//! Bodies of requests. Their length is always known: S3 takes no others.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

/// Error of a source of a body.
pub type SourceError = Box<dyn core::error::Error + Send + Sync>;

/// The body of a request.
pub struct Body(Kind);

enum Kind {
    Empty,
    Full(Bytes),
    Channel { left: u64, receiver: mpsc::Receiver<Result<Bytes, SourceError>> },
    Stream { left: u64, source: Pin<Box<Source>> },
}

type Source = dyn http_body::Body<Data = Bytes, Error = SourceError> + Send;

impl Body {
    /// No body.
    #[must_use]
    pub fn empty() -> Self {
        Self(Kind::Empty)
    }

    /// A body that is there. If it is a secret, make the bytes by [`Bytes::from_owner`] of
    /// something that wipes itself.
    #[must_use]
    pub fn full(bytes: Bytes) -> Self {
        if bytes.is_empty() { Self::empty() } else { Self(Kind::Full(bytes)) }
    }

    /// A body of `len` bytes that another task sends. The request is aborted when the sender is
    /// dropped before it has sent that many.
    #[must_use]
    pub fn channel(len: u64) -> (BodySender, Self) {
        // One frame is on its way and one waits: memory stays bounded by the size of frames.
        let (sender, receiver) = mpsc::channel(1);
        (BodySender(sender), Self(Kind::Channel { left: len, receiver }))
    }

    /// A body of `len` bytes that is drawn from `source` by whoever sends the request: no task, no
    /// channel. The request is aborted when the source fails, or has fewer or more bytes.
    ///
    /// The server has the whole request with the last of the `len` bytes. A source that may still
    /// fail then, by a checksum, MUST hold that byte back until it knows.
    #[must_use]
    pub fn stream(
        len: u64,
        source: impl http_body::Body<Data = Bytes, Error = SourceError> + Send + 'static,
    ) -> Self {
        Self(Kind::Stream { left: len, source: Box::pin(source) })
    }

    /// The same body once more, if it can be had.
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

    /// Returns true if there is nothing to send.
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
                        // Trailers are none of S3's.
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
        // The content may be a secret.
        write!(f, "Body({} bytes)", self.left())
    }
}

/// Sends the body of a request, frame by frame.
pub struct BodySender(mpsc::Sender<Result<Bytes, SourceError>>);

impl BodySender {
    /// Sends the next frame, as soon as there is room.
    ///
    /// # Errors
    /// [`BodyUnwanted`] if the request has ended, with an error or an early response.
    pub async fn send(&mut self, frame: Bytes) -> Result<(), BodyUnwanted> {
        self.0.send(Ok(frame)).await.map_err(|_| BodyUnwanted)
    }

    /// Breaks the request off. It fails with `error`, and the server sees the connection break.
    pub async fn abort(self, error: SourceError) {
        // Nobody waits for the error of a request that has ended.
        let _ended = self.0.send(Err(error)).await;
    }
}

impl fmt::Debug for BodySender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BodySender")
    }
}

/// The request has ended and takes nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BodyUnwanted;

impl fmt::Display for BodyUnwanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request has ended before its body")
    }
}

impl core::error::Error for BodyUnwanted {}

/// A body with fewer or more bytes than its announced length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrongLength;

impl fmt::Display for WrongLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body is shorter or longer than announced")
    }
}

impl core::error::Error for WrongLength {}
