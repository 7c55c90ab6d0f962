//! The content of a request or an object, in pieces, verified against the request's headers.

use alloc::collections::VecDeque;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;

use crate::S3Error;
use crate::aws_chunked::Decoder;
use crate::checksum::{Digests, Outcome};

/// A body as it arrives.
pub trait Pieces {
    /// Returns the next piece; `None` after the last. The caller MUST NOT ask again after an error.
    ///
    /// # Errors
    /// Those of where it comes from.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>>;
}

/// The next step of a content.
#[derive(Debug)]
#[allow(clippy::exhaustive_enums, reason = "pieces and their end")]
pub enum Step {
    /// A piece of the content, in order.
    Piece(Bytes),
    /// Comes once, behind the last piece: all that the request said of the content was found true.
    End(Outcome),
}

/// Content that comes in pieces, with the lengths, digests and signatures that its request
/// announces.
#[derive(Debug)]
pub struct Content<S> {
    source: S,
    chunks: Option<Box<Chunks>>,
    /// Bytes that are still to come.
    left: u64,
    digests: Box<Digests>,
    trailers: Option<Box<HeaderMap>>,
    /// The outcome of content that was verified before.
    outcome: Option<Box<Outcome>>,
    /// The rest of a piece that did not fit into the buffer of [`poll_pieces`](Self::poll_pieces).
    rest: Bytes,
    /// The outcome at the end, until more is asked for.
    ended: Option<Box<Outcome>>,
}

/// The framing of `aws-chunked`, and content that was read out of it.
#[derive(Debug)]
struct Chunks {
    /// The decoder; `None` after the end of the content.
    decoder: Option<Decoder>,
    waiting: VecDeque<Bytes>,
}

impl<S: Pieces> Content<S> {
    /// Content that comes as it is, `len` bytes; `digests` are compared at its end.
    #[must_use]
    pub fn plain(source: S, len: u64, digests: Digests) -> Self {
        Self {
            source,
            chunks: None,
            left: len,
            digests: Box::new(digests),
            trailers: None,
            outcome: None,
            rest: Bytes::new(),
            ended: None,
        }
    }

    /// Content of `len` bytes that comes in chunks.
    #[must_use]
    pub fn chunked(source: S, decoder: Decoder, len: u64, digests: Digests) -> Self {
        let chunks = Chunks { decoder: Some(decoder), waiting: VecDeque::new() };
        Self { chunks: Some(Box::new(chunks)), ..Self::plain(source, len, digests) }
    }

    /// The source of the content.
    #[must_use]
    pub const fn source(&self) -> &S {
        &self.source
    }

    /// Length of the content that has not been taken yet; at first, of all of it.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a length in a header, not a collection's")]
    pub const fn len(&self) -> u64 {
        self.left + self.rest.len() as u64
    }

    /// Gives the pieces that have arrived to `take`, at most `most` bytes, so that their sealed
    /// bytes are written together. At the end of the content it returns the result of the
    /// verification.
    ///
    /// The caller MUST let `most` be above 0, and not ask for steps besides; its other duties are
    /// those of [`poll_step`](Self::poll_step).
    ///
    /// # Errors
    /// As [`poll_step`](Self::poll_step); those of `take`.
    pub fn poll_pieces(
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
            // The end is asked for even if the buffer is full.
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

    /// Returns the next step. The caller MUST hold back the last of the data that it makes from the
    /// pieces until the end has come, and MUST NOT ask again after that or after an error.
    ///
    /// # Errors
    /// If the content ends early, is too long, breaks off, has invalid chunks, or does not match
    /// its request's headers: `BadDigest` and similar errors.
    pub fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Result<Step, S3Error>> {
        Poll::Ready(Ok(match ready!(self.poll_piece(cx)) {
            Some(piece) => Step::Piece(piece?),
            None => Step::End(self.finish()?),
        }))
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>> {
        let next = match &mut self.chunks {
            None => self.source.poll_piece(cx),
            Some(chunks) => chunks.poll_piece(&mut self.source, cx, &mut self.trailers),
        };
        let piece = match ready!(next) {
            Some(Ok(piece)) => piece,
            None if self.left > 0 => return Poll::Ready(Some(Err(S3Error::incomplete_body()))),
            other => return Poll::Ready(other),
        };
        Poll::Ready(Some(self.count(&piece).map(|()| piece)))
    }

    fn count(&mut self, piece: &[u8]) -> Result<(), S3Error> {
        let left = self.left.checked_sub(piece.len() as u64);
        self.left = left.ok_or_else(S3Error::incomplete_body)?;
        self.digests.update(piece);
        Ok(())
    }

    fn finish(&mut self) -> Result<Outcome, S3Error> {
        if let Some(outcome) = self.outcome.take() {
            return Ok(*outcome);
        }
        let digests = core::mem::take(&mut self.digests);
        Ok(digests.finish(self.trailers.as_deref())?)
    }
}

impl Chunks {
    /// The next piece of the content; `None` after the last, with `trailers` of it.
    fn poll_piece(
        &mut self,
        source: &mut impl Pieces,
        cx: &mut Context<'_>,
        trailers: &mut Option<Box<HeaderMap>>,
    ) -> Poll<Option<Result<Bytes, S3Error>>> {
        loop {
            if let Some(piece) = self.waiting.pop_front() {
                return Poll::Ready(Some(Ok(piece)));
            }
            let Some(decoder) = &mut self.decoder else { return Poll::Ready(None) };
            match ready!(source.poll_piece(cx)) {
                Some(Ok(chunks)) => {
                    if let Err(error) = decoder.push(chunks, &mut self.waiting) {
                        return Poll::Ready(Some(Err(error.into())));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(self.end(trailers).err().map(Err)),
            }
        }
    }

    /// Ends the chunks, of which all are read.
    fn end(&mut self, trailers: &mut Option<Box<HeaderMap>>) -> Result<(), S3Error> {
        if let Some(decoder) = self.decoder.take() {
            *trailers = Some(Box::new(decoder.finish()?));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use core::task::Waker;

    use super::*;

    struct Whole(Option<Bytes>);

    impl Pieces for Whole {
        fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>> {
            Poll::Ready(self.0.take().map(Ok))
        }
    }

    #[test]
    fn pieces_are_cut_and_the_end_is_told_alone() {
        let mut cx = Context::from_waker(Waker::noop());
        let source = Whole(Some(Bytes::from_static(b"0123456789")));
        let mut content = Content::plain(source, 10, Digests::new());
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
