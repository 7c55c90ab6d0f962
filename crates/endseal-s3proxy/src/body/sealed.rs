//! Content, sealed on its way to the backend.

use core::sync::atomic::Ordering::Relaxed;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::Frame;

use crate::body::content::{Content, frame};
use crate::body::seal_room::SealRoom;
use crate::checksum::{ChecksumKind, ChecksumValue, Hasher, Outcome};
use crate::client::SourceError;
use crate::error::S3Error;
use crate::metrics::Metrics;
use crate::object::{PartSealer, SealError, WholeSealer};

/// Bytes of the end of a body for which memory is taken at once. Behind the last chunk there is hardly more.
const MOST_AT_ONCE: u64 = 64 * 1024;

/// What seals: all of an object, or a part of one.
pub(crate) enum Sealer {
    Whole(WholeSealer),
    Part(PartSealer),
}

impl Sealer {
    pub(super) fn seal_within(
        &mut self,
        buffer: &mut [u8],
        gap: usize,
    ) -> Result<usize, SealError> {
        match self {
            Self::Whole(sealer) => sealer.seal_within(buffer, gap),
            Self::Part(sealer) => sealer.seal_within(buffer, gap),
        }
    }

    pub(super) fn push(&mut self, content: &[u8], out: &mut BytesMut) -> Result<(), SealError> {
        match self {
            Self::Whole(sealer) => sealer.push(content, out),
            Self::Part(sealer) => sealer.push(content, out),
        }
    }

    /// Seals the end of the content, shorter than a chunk.
    fn finish(
        self,
        end: &[u8],
        checksum: Option<ChecksumValue>,
        out: &mut BytesMut,
    ) -> Result<(), SealError> {
        match self {
            Self::Whole(mut sealer) => {
                sealer.push(end, out)?;
                sealer.finish(checksum, out)
            }
            Self::Part(mut sealer) => {
                sealer.push(end, out)?;
                sealer.finish(out)
            }
        }
    }
}

/// Bytes around the content of a client's chunks, for which there is room even where little content is left: a trailer,
/// and the line of a chunk.
const AROUND: u64 = 4_096 + 128;

/// How it went, told to whoever waits for the backend's answer.
#[derive(Clone, Default)]
pub(crate) struct Report(Arc<Mutex<Option<Result<Outcome, S3Error>>>>);

impl Report {
    fn tell(&self, outcome: Result<Outcome, S3Error>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }

    /// SHA-256 of the content, if it was sealed to its end, and somebody had announced the digest.
    pub(crate) fn sha256(&self) -> Option<[u8; 32]> {
        let outcome = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.as_ref().and_then(|outcome| outcome.as_ref().ok()?.sha256)
    }

    /// How sealing went; `None` if the content was not taken to its end.
    pub(crate) fn take(&self) -> Option<Result<Outcome, S3Error>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The sealed bytes of content, as the body of a request to the backend.
///
/// The last chunk leaves only when everything that the client said of the content was found true:
/// before that the backend has less than it was told to expect, and keeps nothing.
pub(crate) struct Sealed {
    content: Content,
    sealer: Option<Sealer>,
    /// Bytes that are still to come.
    left: u64,
    /// Content that came and is not sealed yet.
    room: SealRoom,
    /// Of the sealed bytes, if one is wanted.
    sum: Option<Hasher>,
    report: Report,
    metrics: Arc<Metrics>,
}

impl Sealed {
    /// The content as `len` sealed bytes.
    pub(crate) fn new(
        content: Content,
        sealer: Sealer,
        len: u64,
        report: Report,
        metrics: Arc<Metrics>,
    ) -> Self {
        let room = SealRoom::default();
        Self { content, sealer: Some(sealer), left: len, room, sum: None, report, metrics }
    }

    /// The same, with a checksum of that kind of the sealed bytes.
    #[must_use]
    pub(crate) fn with_sum(self, kind: ChecksumKind) -> Self {
        Self { sum: Some(Hasher::new(kind)), ..self }
    }

    /// The checksum of what has left, once, if one was wanted.
    pub(crate) fn sum(&mut self) -> Option<ChecksumValue> {
        self.sum.take().map(Hasher::finish)
    }

    fn finish(&mut self, outcome: Outcome) -> Result<Bytes, S3Error> {
        let Some(sealer) = self.sealer.take() else { return Ok(Bytes::new()) };
        // All that is to come, but for lengths that nobody has memory for.
        let mut out = BytesMut::with_capacity(self.left.min(MOST_AT_ONCE) as usize);
        sealer.finish(self.room.content(), outcome.checksum, &mut out)?;
        if let Some(sum) = &mut self.sum {
            sum.update(&out);
        }
        self.room = SealRoom::default();
        self.report.tell(Ok(outcome));
        Ok(out.freeze())
    }

    /// What is sealed next of content that comes in pieces; nothing if it fills no chunk yet.
    fn next_pushed(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, S3Error>> {
        let Some(sealer) = &mut self.sealer else { return Poll::Ready(Ok(Bytes::new())) };
        let (read, left) = (self.content.read_len(), self.content.len());
        let (room, sum) = (&mut self.room, &mut self.sum);
        let most = ready!(room.poll_make_apart(cx, read, left));
        let mut came = 0;
        let outcome = ready!(self.content.poll_pieces(cx, most, |piece| {
            came += piece.len() as u64;
            Ok(room.push(piece, sealer, sum)?)
        }))?;
        self.metrics.sealed.fetch_add(came, Relaxed);
        Poll::Ready(match outcome {
            None => Ok(self.room.pushed()),
            Some(outcome) => self.finish(outcome),
        })
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>> {
        while let Some(sealer) = &mut self.sealer {
            let (read, left) = (self.content.read_len(), self.content.len());
            if self.content.is_in_pieces() {
                let sealed = ready!(self.next_pushed(cx))?;
                if !sealed.is_empty() {
                    self.left = self.left.saturating_sub(sealed.len() as u64);
                    return Poll::Ready(Some(Ok(sealed)));
                }
                continue;
            }
            let chunked = self.content.is_in_chunks();
            let left = if chunked { left.saturating_add(AROUND) } else { left };
            let most = ready!(self.room.poll_make(cx, read, left));
            let (before, room) = (self.content.len(), &mut self.room);
            let from = room.bytes().len();
            let came = match chunked {
                true => self.content.poll_chunks(cx, room.bytes(), most),
                false => self.content.poll_read(cx, room.bytes(), most),
            };
            let sealed = match (ready!(came)?, chunked) {
                (Some(outcome), _) => self.finish(outcome)?,
                (None, false) => room.seal(sealer, &mut self.sum)?,
                (None, true) => {
                    let next = |read: &[u8]| self.content.next_span(read);
                    room.seal_chunks(from, sealer, &mut self.sum, next)?
                }
            };
            let came = before - self.content.len();
            self.metrics.sealed.fetch_add(came, Relaxed);
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
        let piece = ready!(self.next(cx));
        if let Some(Err(error)) = &piece {
            self.sealer = None;
            self.report.tell(Err(error.clone()));
        }
        Poll::Ready(frame(piece))
    }
}
