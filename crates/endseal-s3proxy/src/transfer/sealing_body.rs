//! Content that is sealed on its way to the backend.

use core::sync::atomic::Ordering::Relaxed;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use endseal_crypto::segment::{CHUNK_LEN, SALT_LEN, SEALED_CHUNK_LEN};
use endseal_s3_format::{PartSealer, SealError, WholeSealer};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::{ChecksumKind, ChecksumValue, Hasher, Outcome};
use http_body::Frame;

use crate::content_checksum::kept;
use crate::observability::Metrics;
use crate::transfer::content::{Content, frame};
use crate::transfer::shared_buffer::SharedBuffer;
use crate::upstream::SourceError;

/// Number of chunks of content that the buffer holds: two reads of a client's connection.
const CHUNKS: usize = 32;

/// Amount of content that is sealed before the checksum of its sealed bytes is updated, so that
/// they are still in the CPU cache.
const SLICE: usize = 8 * CHUNK_LEN;

/// Maximum amount of memory that is allocated at once for the end of a body. It is usually short.
const MOST_AT_ONCE: u64 = 64 * 1024;

/// Sealer of an object or of a part.
pub(crate) enum Sealer {
    Whole(WholeSealer),
    Part(PartSealer),
}

impl Sealer {
    fn push(&mut self, content: &[u8], out: &mut BytesMut) -> Result<(), SealError> {
        match self {
            Self::Whole(sealer) => sealer.push(content, out),
            Self::Part(sealer) => sealer.push(content, out),
        }
    }

    /// Seals the last bytes of the content, which are shorter than a chunk.
    fn finish(self, checksum: Option<ChecksumValue>, out: &mut BytesMut) -> Result<(), SealError> {
        match self {
            Self::Whole(sealer) => sealer.finish(checksum.and_then(kept), out),
            Self::Part(sealer) => sealer.finish(out),
        }
    }
}

/// Converts the error of content that cannot be sealed.
fn seal_error(error: SealError) -> S3Error {
    match error {
        SealError::Length => S3Error::incomplete_body(),
        SealError::ContentTooLong => S3Error::too_large(),
        _ => S3Error::internal(),
    }
}

/// Result of sealing, for the task that waits for the backend's response.
#[derive(Clone, Default)]
pub(crate) struct Report(Arc<Mutex<Option<Result<Outcome, S3Error>>>>);

impl Report {
    fn tell(&self, outcome: Result<Outcome, S3Error>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }

    /// Returns the digests of the content if it was sealed completely.
    pub(crate) fn outcome(&self) -> Outcome {
        let outcome = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.as_ref().and_then(|outcome| outcome.as_ref().ok()).cloned().unwrap_or_default()
    }

    /// Takes the result of sealing. `None` if the content was not read to its end.
    pub(crate) fn take(&self) -> Option<Result<Outcome, S3Error>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Sealed bytes of content, as the body of a request to the backend.
///
/// The last chunk is sent only after all digests of the client were checked. Until then the backend
/// has fewer bytes than announced, and stores nothing.
pub(crate) struct Sealed {
    content: Content,
    sealer: Option<Sealer>,
    /// Number of sealed bytes that are still to be sent.
    left: u64,
    /// Sealed bytes that were not returned yet.
    buffer: SharedBuffer,
    /// Hasher of the sealed bytes, if a checksum is needed.
    sum: Option<Hasher>,
    report: Report,
    metrics: Arc<Metrics>,
}

impl Sealed {
    /// Creates a body that seals content into `len` bytes.
    pub(crate) fn new(
        content: Content,
        sealer: Sealer,
        len: u64,
        report: Report,
        metrics: Arc<Metrics>,
    ) -> Self {
        let buffer = SharedBuffer::default();
        Self { content, sealer: Some(sealer), left: len, buffer, sum: None, report, metrics }
    }

    /// Enables a checksum of this kind over the sealed bytes.
    #[must_use]
    pub(crate) fn with_sum(self, kind: ChecksumKind) -> Self {
        Self { sum: Some(Hasher::new(kind)), ..self }
    }

    /// Returns the checksum of the sealed bytes, if it was enabled. Only the first call returns it.
    pub(crate) fn sum(&mut self) -> Option<ChecksumValue> {
        self.sum.take().map(Hasher::finish)
    }

    fn finish(&mut self, outcome: Outcome) -> Result<Bytes, S3Error> {
        let Some(sealer) = self.sealer.take() else { return Ok(Bytes::new()) };
        // Capacity for the rest, but not for lengths that no memory could hold.
        let mut out = BytesMut::with_capacity(self.left.min(MOST_AT_ONCE) as usize);
        sealer.finish(outcome.checksum, &mut out).map_err(seal_error)?;
        if let Some(sum) = &mut self.sum {
            sum.update(&out);
        }
        self.buffer = SharedBuffer::default();
        self.report.tell(Ok(outcome));
        Ok(out.freeze())
    }

    /// Waits for a buffer for the next sealed bytes. Returns the number of content bytes that fit,
    /// above 0.
    fn poll_buffer(&mut self, cx: &Context<'_>) -> Poll<usize> {
        let left = usize::try_from(self.content.len()).unwrap_or(usize::MAX);
        // One chunk more than the content fills, because the sealer may already hold a partial
        // chunk.
        let fits = |len: usize| (len.saturating_sub(SALT_LEN) / SEALED_CHUNK_LEN).saturating_sub(1);
        let all = CHUNKS.min(left / CHUNK_LEN + 1);
        // A small buffer would lead to small writes.
        if fits(self.buffer.capacity()) < all.div_ceil(4) {
            ready!(self.buffer.poll_reserve(cx, SALT_LEN + (all + 1) * SEALED_CHUNK_LEN));
        }
        Poll::Ready(fits(self.buffer.capacity()) * CHUNK_LEN)
    }

    /// Returns the next sealed bytes, or `None` after the last ones. The result of sealing is in
    /// the report then.
    ///
    /// # Errors
    /// The error of the content.
    pub(crate) fn poll_sealed(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, S3Error>>> {
        let piece = ready!(self.next(cx));
        if let Some(Err(error)) = &piece {
            self.sealer = None;
            self.report.tell(Err(error.clone()));
        }
        Poll::Ready(piece)
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>> {
        while self.sealer.is_some() {
            let most = ready!(self.poll_buffer(cx));
            let Some(sealer) = &mut self.sealer else { break };
            let (buffer, sum) = (&mut self.buffer, &mut self.sum);
            let mut came = 0;
            let outcome = ready!(self.content.poll_pieces(cx, most, |piece| {
                came += piece.len() as u64;
                for slice in piece.chunks(SLICE) {
                    let before = buffer.len();
                    sealer.push(slice, buffer).map_err(seal_error)?;
                    if let Some(sum) = sum.as_mut() {
                        sum.update(&buffer[before..]);
                    }
                }
                Ok(())
            }))?;
            self.metrics.sealed.fetch_add(came, Relaxed);
            let sealed = match outcome {
                None => self.buffer.split_frozen(self.buffer.len()),
                Some(outcome) => self.finish(outcome)?,
            };
            if !sealed.is_empty() {
                self.left = self.left.saturating_sub(sealed.len() as u64);
                return Poll::Ready(Some(Ok(sealed)));
            }
        }
        Poll::Ready(None)
    }
}

impl http_body::Body for Sealed {
    type Data = Bytes;
    type Error = SourceError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, SourceError>>> {
        self.poll_sealed(cx).map(frame)
    }
}
