//! A sealed object, opened on its way to the client.

use core::future::poll_fn;
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use http_body::Body as _;

use crate::body::room;
use crate::client::ResponseBody;
use crate::error::S3Error;
use crate::metrics::Metrics;
use crate::object::{RangeOpener, Unauthentic, WholeOpener};

/// What opens: all of an object, or a range of one.
pub(crate) enum Opener {
    Whole(WholeOpener),
    Range(RangeOpener),
}

impl Opener {
    fn push(&mut self, sealed: &[u8], out: &mut BytesMut) -> Result<(), Unauthentic> {
        match self {
            Self::Whole(opener) => opener.push(sealed, out),
            Self::Range(opener) => opener.push(sealed, out),
        }
    }

    fn finish(self, out: &mut BytesMut) -> Result<(), Unauthentic> {
        match self {
            Self::Whole(opener) => opener.finish(out).map(drop),
            Self::Range(opener) => opener.finish(),
        }
    }
}

/// Content of a sealed object, of which each piece is authentic before it leaves.
pub(crate) struct Opened {
    /// None if no byte is needed.
    sealed: Option<ResponseBody>,
    opener: Option<Opener>,
    /// Bytes before those that the opener takes.
    skip: u64,
    /// Bytes that the opener still takes; behind them may be more, which nobody wants.
    left: u64,
    /// Sealed bytes that came and are not opened yet.
    piece: Bytes,
    /// What was opened of them.
    out: BytesMut,
    /// Opened before the answer began.
    first: Option<Bytes>,
    metrics: Arc<Metrics>,
}

impl Opened {
    /// Opens the bytes `within` an answer of the backend.
    pub(crate) fn new(
        sealed: ResponseBody,
        opener: Opener,
        within: Range<u64>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            sealed: Some(sealed),
            opener: Some(opener),
            skip: within.start,
            left: within.end - within.start,
            piece: Bytes::new(),
            out: BytesMut::new(),
            first: None,
            metrics,
        }
    }

    /// An empty range.
    pub(crate) fn nothing(opener: Opener, metrics: Arc<Metrics>) -> Self {
        let (piece, out) = (Bytes::new(), BytesMut::new());
        let opener = Some(opener);
        Self { sealed: None, opener, skip: 0, left: 0, piece, out, first: None, metrics }
    }

    /// Opens the first piece, so that what does not authenticate from the start is an answer of its
    /// own and not one that breaks off. Small objects are opened to their end.
    ///
    /// # Errors
    /// As [`poll_piece`](Self::poll_piece).
    pub(crate) async fn begin(&mut self) -> Result<(), S3Error> {
        if let Some(piece) = poll_fn(|cx| self.poll_piece(cx)).await {
            self.first = Some(piece?);
        }
        Ok(())
    }

    /// All of it, which is known to be short.
    ///
    /// # Errors
    /// As [`poll_piece`](Self::poll_piece).
    pub(crate) async fn collect(mut self) -> Result<Bytes, S3Error> {
        let mut all = BytesMut::new();
        while let Some(piece) = poll_fn(|cx| self.poll_piece(cx)).await {
            all.extend_from_slice(&piece?);
        }
        Ok(all.freeze())
    }

    /// The next piece; `None` after the last.
    ///
    /// # Errors
    /// `ObjectNotAuthentic`; `ServiceUnavailable` if the backend breaks off.
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, S3Error>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        let piece = ready!(self.next(cx));
        match &piece {
            Some(Ok(piece)) => drop(self.metrics.opened.fetch_add(piece.len() as u64, Relaxed)),
            Some(Err(error)) => {
                self.opener = None;
                if error.code() == S3Error::not_authentic().code() {
                    self.metrics.unauthentic.fetch_add(1, Relaxed);
                }
            }
            None => {}
        }
        Poll::Ready(piece)
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>> {
        while let Some(opener) = &mut self.opener
            && self.left > 0
        {
            if self.piece.is_empty() {
                let Some(sealed) = &mut self.sealed else { break };
                match ready!(Pin::new(sealed).poll_frame(cx)) {
                    Some(Ok(frame)) => {
                        let Ok(mut data) = frame.into_data() else { continue };
                        data.advance(take(&mut self.skip, data.len()));
                        self.piece = data;
                    }
                    // The backend's answer is shorter than it said, or the connection broke.
                    Some(Err(_)) | None => return Poll::Ready(Some(Err(S3Error::unavailable()))),
                }
                continue;
            }
            let piece =
                self.piece.split_to(take(&mut self.left, self.piece.len().min(room::PIECE)));
            room::make(&mut self.out, piece.len() + 16_512);
            if opener.push(&piece, &mut self.out).is_err() {
                return Poll::Ready(Some(Err(S3Error::not_authentic())));
            }
            if self.left > 0 && !self.out.is_empty() {
                return Poll::Ready(Some(Ok(room::leave(&mut self.out))));
            }
        }
        if let Some(opener) = self.opener.take()
            && opener.finish(&mut self.out).is_err()
        {
            return Poll::Ready(Some(Err(S3Error::not_authentic())));
        }
        // What follows is read before the last piece leaves, behind which nobody asks any more: so
        // the connection serves again.
        if let Some(sealed) = &mut self.sealed {
            while let Some(Ok(_)) = ready!(Pin::new(&mut *sealed).poll_frame(cx)) {}
        }
        if self.out.is_empty() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(room::leave(&mut self.out))))
    }
}

/// Takes at most `available` off a count; how many.
fn take(count: &mut u64, available: usize) -> usize {
    let taken = usize::try_from(*count).map_or(available, |count| count.min(available));
    *count -= taken as u64;
    taken
}
