//! Content, sealed on its way to the backend.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use endseal_crypto::random::OsRandom;
use http_body::Frame;

use crate::body::content::{Content, Step, frame};
use crate::body::room;
use crate::checksum::{ChecksumValue, Outcome};
use crate::client::SourceError;
use crate::error::S3Error;
use crate::metrics::Metrics;
use crate::object::{PartSealer, SealError, WholeSealer};

/// What seals: all of an object, or a part of one.
pub(crate) enum Sealer {
    Whole(WholeSealer),
    Part(PartSealer),
}

impl Sealer {
    fn push(&mut self, data: &[u8], out: &mut BytesMut) -> Result<(), SealError> {
        match self {
            Self::Whole(sealer) => sealer.push(data, out),
            Self::Part(sealer) => sealer.push(data, out),
        }
    }

    fn finish(self, checksum: Option<ChecksumValue>, out: &mut BytesMut) -> Result<(), SealError> {
        match self {
            Self::Whole(sealer) => sealer.finish(checksum, &mut OsRandom, out),
            Self::Part(sealer) => sealer.finish(out),
        }
    }
}

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
    piece: Bytes,
    /// What was sealed of it.
    out: BytesMut,
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
        let (piece, out) = (Bytes::new(), BytesMut::new());
        Self { content, sealer: Some(sealer), left: len, piece, out, report, metrics }
    }

    fn finish(&mut self, outcome: Outcome) -> Result<(), S3Error> {
        let Some(sealer) = self.sealer.take() else { return Ok(()) };
        sealer.finish(outcome.checksum, &mut self.out).map_err(seal_error)?;
        self.report.tell(Ok(outcome));
        Ok(())
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>> {
        while let Some(sealer) = &mut self.sealer {
            if self.piece.is_empty() {
                match ready!(self.content.poll_step(cx))? {
                    Step::Piece(piece) => {
                        self.metrics
                            .sealed
                            .fetch_add(piece.len() as u64, core::sync::atomic::Ordering::Relaxed);
                        self.piece = piece;
                        continue;
                    }
                    Step::End(outcome) => self.finish(outcome)?,
                }
            } else {
                let piece = self.piece.split_to(self.piece.len().min(room::PIECE));
                // Room for the tags too, so that it does not grow while it is filled.
                let most = piece.len() + piece.len() / 512 + 16_512;
                let most = usize::try_from(self.left).map_or(most, |left| left.min(most));
                room::make(&mut self.out, most);
                sealer.push(&piece, &mut self.out).map_err(seal_error)?;
            }
            if !self.out.is_empty() {
                self.left = self.left.saturating_sub(self.out.len() as u64);
                return Poll::Ready(Some(Ok(room::leave(&mut self.out))));
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

fn seal_error(error: SealError) -> S3Error {
    match error {
        SealError::Length => S3Error::incomplete_body(),
        SealError::ContentTooLong => S3Error::too_large(),
        _ => S3Error::internal(),
    }
}
