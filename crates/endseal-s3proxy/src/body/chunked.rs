//! Content that a client sends in chunks (`aws-chunked`).

use alloc::collections::VecDeque;
use core::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;

use super::Upload;
use crate::aws_chunked::{Decoder, Span};
use crate::error::S3Error;

/// An upload in chunks, and the content of those that were read.
pub(super) struct Chunked {
    upload: Box<Upload>,
    /// None at the end.
    decoder: Option<Decoder>,
    /// Also at the end: as it was taken it is taken to there.
    is_signed: bool,
    /// Content that was read.
    waiting: VecDeque<Bytes>,
}

impl Chunked {
    pub(super) fn new(upload: Box<Upload>, decoder: Decoder) -> Self {
        let is_signed = decoder.is_signed();
        Self { upload, decoder: Some(decoder), is_signed, waiting: VecDeque::new() }
    }

    /// How many bytes are worth being read at once.
    pub(super) fn read_len(&self) -> usize {
        self.upload.read_len()
    }

    /// Whether content waits for signatures. If not, it may be taken where it was read.
    pub(super) fn is_signed(&self) -> bool {
        self.is_signed
    }

    /// Reads on to the end of `room`, at most `most` bytes and as many as it has capacity for, both above 0: content and
    /// what is around it, all of which MUST be given to [`Self::next_span`] before the next call. `None` behind the last,
    /// with `trailers` of it. Neither pieces nor signed chunks are taken like that.
    ///
    /// # Errors
    /// As those of the upload; if the chunks are not complete.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        room: &mut BytesMut,
        most: usize,
        trailers: &mut Option<Box<HeaderMap>>,
    ) -> Poll<Option<Result<(), S3Error>>> {
        let read = ready!(self.upload.poll_read(cx, room, most));
        Poll::Ready(read.or_else(|| self.end(trailers).err().map(Err)))
    }

    /// What those bytes begin with that were read and not given to this before.
    ///
    /// # Errors
    /// If the chunks are wrong, or signed.
    pub(super) fn next_span(&mut self, read: &[u8]) -> Result<Span, S3Error> {
        // Nothing comes behind the end.
        let decoder = self.decoder.as_mut().ok_or_else(S3Error::incomplete_body)?;
        Ok(decoder.next_span(read)?)
    }

    /// Ends the chunks, of which all are read.
    fn end(&mut self, trailers: &mut Option<Box<HeaderMap>>) -> Result<(), S3Error> {
        if let Some(decoder) = self.decoder.take() {
            *trailers = Some(Box::new(decoder.finish()?));
        }
        Ok(())
    }

    /// The next piece of the content; `None` after the last, with `trailers` of it.
    ///
    /// # Errors
    /// As those of the upload; if the chunks are wrong.
    pub(super) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
        trailers: &mut Option<Box<HeaderMap>>,
    ) -> Poll<Option<Result<Bytes, S3Error>>> {
        loop {
            if let Some(piece) = self.waiting.pop_front() {
                return Poll::Ready(Some(Ok(piece)));
            }
            let Some(decoder) = &mut self.decoder else { return Poll::Ready(None) };
            match ready!(self.upload.poll_piece(cx)) {
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
}
