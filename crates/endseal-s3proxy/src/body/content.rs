//! Content to be sealed: what a client uploads, or what another object holds.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use core::future::poll_fn;
use core::time::Duration;
use http::HeaderMap;
use http_body::{Body as _, Frame};
use tokio::time::timeout;

use crate::aws_chunked::Decoder;
use crate::body::{Chunked, FormFile, Opened, Upload};
use crate::checksum::{Digests, Outcome};
use crate::client::{ResponseBody, SourceError};
use crate::error::S3Error;

/// The next step of a content.
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
    digests: Box<Digests>,
    trailers: Option<Box<HeaderMap>>,
    /// The outcome of content that is here and was verified before.
    outcome: Option<Box<Outcome>>,
    /// The part of a piece that [`poll_pieces`](Self::poll_pieces) had no room for.
    rest: Bytes,
    /// The outcome at the end, until more is asked for.
    ended: Option<Box<Outcome>>,
}

// All of it is boxed: content is moved a dozen times before it is read.
enum Source {
    /// Here, all of it.
    Held(Option<Bytes>),
    /// As it comes.
    Plain(Box<Upload>),
    Chunked(Box<Chunked>),
    /// Another object, or a range of it.
    Opened(Box<Opened>),
    /// An object of the backend that is not sealed.
    Backend(Box<ResponseBody>),
    /// The file of a form.
    Form(Box<FormFile>),
}

impl Content {
    /// Content that a client sends as it is; `digests` are compared at its end.
    pub(crate) fn plain(incoming: Box<Upload>, len: u64, digests: Digests) -> Self {
        Self::new(Source::Plain(incoming), len, digests)
    }

    /// Content that a client sends in chunks.
    pub(crate) fn chunked(
        incoming: Box<Upload>,
        decoder: Decoder,
        len: u64,
        digests: Digests,
    ) -> Self {
        Self::new(Source::Chunked(Box::new(Chunked::new(incoming, decoder))), len, digests)
    }

    /// Content of an object that was opened.
    pub(crate) fn opened(opened: Opened, len: u64) -> Self {
        Self::new(Source::Opened(Box::new(opened)), len, Digests::new())
    }

    /// Content of the backend that is not sealed.
    pub(crate) fn backend(body: ResponseBody, len: u64) -> Self {
        Self::new(Source::Backend(Box::new(body)), len, Digests::new())
    }

    /// The file of a form; `digests` are compared at its end.
    pub(crate) fn form(file: FormFile, len: u64, digests: Digests) -> Self {
        Self::new(Source::Form(Box::new(file)), len, digests)
    }

    fn new(source: Source, len: u64, digests: Digests) -> Self {
        Self {
            source,
            left: len,
            digests: Box::new(digests),
            trailers: None,
            outcome: None,
            rest: Bytes::new(),
            ended: None,
        }
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
        held.outcome = Some(Box::new(outcome));
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
            // Mostly it came with its head, and nothing has to be waited for.
            let step = match poll_fn(|cx| Poll::Ready(self.poll_step(cx))).await {
                Poll::Ready(step) => step,
                Poll::Pending => {
                    let step = poll_fn(|cx| self.poll_step(cx));
                    Box::pin(timeout(patience, step))
                        .await
                        .map_err(|_| S3Error::request_timeout())?
                }
            };
            match step? {
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

    /// Its length; once some of it was taken, of what is left.
    pub(crate) const fn len(&self) -> u64 {
        self.left + self.rest.len() as u64
    }

    /// Gives pieces to `take`: as many as are there, at most `most` bytes, so that their sealed bytes are written
    /// together. At the end, what was found true.
    ///
    /// The caller MUST let `most` be above 0, and not ask for steps besides; its other duties are those of
    /// [`poll_step`](Self::poll_step).
    ///
    /// # Errors
    /// As [`poll_step`](Self::poll_step); those of `take`.
    pub(crate) fn poll_pieces(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
        mut take: impl FnMut(&[u8]) -> Result<(), S3Error>,
    ) -> Poll<Result<Option<Outcome>, S3Error>> {
        if let Some(outcome) = self.ended.take() {
            return Poll::Ready(Ok(Some(*outcome)));
        }
        let mut taken = 0;
        loop {
            // The end is asked for even where there is no room.
            if self.rest.is_empty() {
                match self.poll_step(cx)? {
                    Poll::Ready(Step::Piece(piece)) => self.rest = piece,
                    Poll::Ready(Step::End(outcome)) if taken > 0 => {
                        self.ended = Some(Box::new(outcome));
                        return Poll::Ready(Ok(None));
                    }
                    Poll::Ready(Step::End(outcome)) => return Poll::Ready(Ok(Some(outcome))),
                    Poll::Pending if taken > 0 => return Poll::Ready(Ok(None)),
                    Poll::Pending => return Poll::Pending,
                }
            }
            let piece = self.rest.split_to(self.rest.len().min(most - taken));
            take(&piece)?;
            taken += piece.len();
            if taken >= most {
                return Poll::Ready(Ok(None));
            }
        }
    }

    /// The next bytes of it.
    fn came(&mut self, piece: &[u8]) -> Result<(), S3Error> {
        let left = self.left.checked_sub(piece.len() as u64);
        self.left = left.ok_or_else(S3Error::incomplete_body)?;
        self.digests.update(piece);
        Ok(())
    }

    /// Returns the next step. The caller MUST hold back the last of what it makes of the pieces until the
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
        Poll::Ready(Some(self.came(&piece).map(|()| piece)))
    }

    fn finish(&mut self) -> Result<Outcome, S3Error> {
        if let Some(outcome) = self.outcome.take() {
            return Ok(*outcome);
        }
        let digests = core::mem::take(&mut self.digests);
        Ok(digests.finish(self.trailers.as_deref())?)
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
        trailers: &mut Option<Box<HeaderMap>>,
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
            Self::Chunked(chunked) => chunked.poll_piece(cx, trailers),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::task::Waker;

    use super::*;

    #[test]
    fn pieces_are_cut_and_the_end_is_told_alone() {
        let mut cx = Context::from_waker(Waker::noop());
        let source = Source::Held(Some(Bytes::from_static(b"0123456789")));
        let mut content = Content::new(source, 10, Digests::new());
        let mut taken = Vec::new();
        let mut read = |most| {
            let take = |piece: &[u8]| {
                taken.extend_from_slice(piece);
                Ok(())
            };
            match content.poll_pieces(&mut cx, most, take) {
                Poll::Ready(read) => read.unwrap().is_some(),
                Poll::Pending => unreachable!("all of it is here"),
            }
        };
        assert!(!read(4));
        assert!(!read(6));
        assert!(read(1), "the end");
        assert_eq!(taken, b"0123456789");
    }
}
