//! Content that a client sends in chunks (`aws-chunked`).

use alloc::collections::VecDeque;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;

use super::Upload;
use crate::aws_chunked::Decoder;
use crate::error::S3Error;

/// An upload in chunks, and the content of those that were read.
pub(super) struct Chunked {
    upload: Box<Upload>,
    /// None at the end.
    decoder: Option<Decoder>,
    /// Content that was read.
    waiting: VecDeque<Bytes>,
}

impl Chunked {
    pub(super) fn new(upload: Box<Upload>, decoder: Decoder) -> Self {
        Self { upload, decoder: Some(decoder), waiting: VecDeque::new() }
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

    /// Ends the chunks, of which all are read.
    fn end(&mut self, trailers: &mut Option<Box<HeaderMap>>) -> Result<(), S3Error> {
        if let Some(decoder) = self.decoder.take() {
            *trailers = Some(Box::new(decoder.finish()?));
        }
        Ok(())
    }
}
