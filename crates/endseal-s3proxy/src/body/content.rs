//! Content to be sealed: what a client uploads, or what another object holds.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use core::future::poll_fn;
use core::time::Duration;
use http::HeaderMap;
use http_body::{Body as _, Frame};
use tokio::time::timeout;

use crate::aws_chunked::Decoder;
use crate::body::{FormFile, Opened, Upload};
use crate::checksum::{Digests, Outcome};
use crate::client::{ResponseBody, SourceError};
use crate::error::S3Error;

/// What comes next of a content.
pub(crate) enum Step {
    Piece(Bytes),
    /// Behind the last piece, once: all that the request said of the content was found true.
    End(Outcome),
}

/// Content that comes in pieces, with what its request says that it must be.
pub(crate) struct Content {
    source: Source,
    /// Bytes that are still to come.
    left: u64,
    digests: Digests,
    trailers: Option<HeaderMap>,
    /// What was found true already, of content that is here.
    outcome: Option<Outcome>,
}

enum Source {
    /// Here, all of it.
    Held(Option<Bytes>),
    /// As it comes.
    Plain(Upload),
    /// In chunks; some pieces of them wait.
    Chunked { incoming: Upload, decoder: Option<Decoder>, waiting: VecDeque<Bytes> },
    /// Another object, or a range of it.
    Opened(Opened),
    /// An object of the backend that is not sealed.
    Backend(ResponseBody),
    /// The file of a form.
    Form(FormFile),
}

impl Content {
    /// What a client sends as it is; `digests` are compared at its end.
    pub(crate) fn plain(incoming: Upload, len: u64, digests: Digests) -> Self {
        Self::new(Source::Plain(incoming), len, digests)
    }

    /// What a client sends in chunks.
    pub(crate) fn chunked(incoming: Upload, decoder: Decoder, len: u64, digests: Digests) -> Self {
        let source = Source::Chunked { incoming, decoder: Some(decoder), waiting: VecDeque::new() };
        Self::new(source, len, digests)
    }

    /// Content of an object that was opened.
    pub(crate) fn opened(opened: Opened, len: u64) -> Self {
        Self::new(Source::Opened(opened), len, Digests::new())
    }

    /// Content of the backend that is not sealed.
    pub(crate) fn backend(body: ResponseBody, len: u64) -> Self {
        Self::new(Source::Backend(body), len, Digests::new())
    }

    /// The file of a form; `digests` are compared at its end.
    pub(crate) fn form(file: FormFile, len: u64, digests: Digests) -> Self {
        Self::new(Source::Form(file), len, digests)
    }

    fn new(source: Source, len: u64, digests: Digests) -> Self {
        Self { source, left: len, digests, trailers: None, outcome: None }
    }

    /// The MD5 that the content is announced to have.
    pub(crate) fn expected_md5(&self) -> Option<[u8; 16]> {
        self.digests.expected_md5()
    }

    /// Takes all of it, which is known to be short, and computes its MD5: the same content, of which
    /// all that the request said was found true. A piece has to come within `patience`.
    ///
    /// # Errors
    /// As [`poll_step`](Self::poll_step); `RequestTimeout`.
    pub(crate) async fn held(mut self, patience: Duration) -> Result<(Self, [u8; 16]), S3Error> {
        self.digests.want_md5();
        let len = self.left;
        let (content, outcome) = self.whole(patience).await?;
        let md5 = outcome.md5.ok_or_else(S3Error::internal)?;
        let mut held = Self::new(Source::Held(Some(content)), len, Digests::new());
        held.outcome = Some(outcome);
        Ok((held, md5))
    }

    /// Takes all of it, which is known to be short, and what of it was found true: all that the request said.
    /// A piece has to come within `patience`.
    ///
    /// # Errors
    /// As [`poll_step`](Self::poll_step); `RequestTimeout`.
    pub(crate) async fn whole(mut self, patience: Duration) -> Result<(Bytes, Outcome), S3Error> {
        let len = self.left;
        let mut first = Bytes::new();
        let mut all = BytesMut::new();
        let outcome = loop {
            let step = timeout(patience, poll_fn(|cx| self.poll_step(cx))).await;
            match step.map_err(|_| S3Error::request_timeout())?? {
                // Not copied, as it keeps nothing alive but itself.
                Step::Piece(piece) if piece.len() as u64 == len => first = piece,
                Step::Piece(piece) => {
                    if all.is_empty() {
                        all.reserve(usize::try_from(len).map_err(|_| S3Error::too_large())?);
                    }
                    all.extend_from_slice(&piece);
                }
                Step::End(outcome) => break outcome,
            }
        };
        Ok((if all.is_empty() { first } else { all.freeze() }, outcome))
    }

    /// Its length.
    pub(crate) const fn len(&self) -> u64 {
        self.left
    }

    /// What comes next. The caller MUST hold back the last of what it makes of the pieces until the
    /// end has come, and MUST NOT ask again after that or after an error.
    ///
    /// # Errors
    /// If it ends early, goes on too long, breaks off, its chunks are wrong, or it is not what the
    /// request said: `BadDigest` and its like.
    pub(crate) fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Result<Step, S3Error>> {
        Poll::Ready(Ok(match ready!(self.poll_piece(cx)) {
            Some(piece) => Step::Piece(piece?),
            None => Step::End(self.finish()?),
        }))
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>> {
        let piece = match ready!(self.source.poll(cx, &mut self.trailers)) {
            Some(Ok(piece)) => piece,
            None if self.left > 0 => return Poll::Ready(Some(Err(S3Error::incomplete_body()))),
            other => return Poll::Ready(other),
        };
        let Some(left) = self.left.checked_sub(piece.len() as u64) else {
            return Poll::Ready(Some(Err(S3Error::incomplete_body())));
        };
        self.left = left;
        self.digests.update(&piece);
        Poll::Ready(Some(Ok(piece)))
    }

    fn finish(&mut self) -> Result<Outcome, S3Error> {
        if let Some(outcome) = self.outcome.take() {
            return Ok(outcome);
        }
        let digests = core::mem::take(&mut self.digests);
        Ok(digests.finish(self.trailers.as_ref())?)
    }
}

/// A piece as a frame of a request's body.
pub(super) fn frame(
    piece: Option<Result<Bytes, S3Error>>,
) -> Option<Result<Frame<Bytes>, SourceError>> {
    Some(match piece? {
        Ok(data) => Ok(Frame::data(data)),
        Err(error) => Err(Box::new(error)),
    })
}

impl Source {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        trailers: &mut Option<HeaderMap>,
    ) -> Poll<Option<Result<Bytes, S3Error>>> {
        match self {
            Self::Held(content) => {
                let content = content.take().filter(|content| !content.is_empty());
                Poll::Ready(content.map(Ok))
            }
            Self::Plain(incoming) => incoming.poll_piece(cx),
            Self::Opened(opened) => opened.poll_piece(cx),
            Self::Form(file) => file.poll_piece(cx),
            Self::Backend(body) => loop {
                return Poll::Ready(match ready!(Pin::new(&mut *body).poll_frame(cx)) {
                    None => None,
                    Some(Err(_)) => Some(Err(S3Error::unavailable())),
                    Some(Ok(frame)) => match frame.into_data() {
                        Ok(data) if !data.is_empty() => Some(Ok(data)),
                        _ => continue,
                    },
                });
            },
            Self::Chunked { incoming, decoder, waiting } => loop {
                if let Some(piece) = waiting.pop_front() {
                    return Poll::Ready(Some(Ok(piece)));
                }
                let Some(decoding) = decoder else { return Poll::Ready(None) };
                match ready!(incoming.poll_piece(cx)) {
                    Some(Ok(data)) => {
                        if let Err(error) = decoding.push(data, waiting) {
                            return Poll::Ready(Some(Err(error.into())));
                        }
                    }
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None => {
                        let Some(decoder) = decoder.take() else { return Poll::Ready(None) };
                        match decoder.finish() {
                            Ok(found) => *trailers = Some(found),
                            Err(error) => return Poll::Ready(Some(Err(error.into()))),
                        }
                    }
                }
            },
        }
    }
}
