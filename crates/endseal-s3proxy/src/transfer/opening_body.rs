//! Sealed object that is opened on its way to the client.

use core::future::poll_fn;
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::SEALED_CHUNK_LEN;
use endseal_s3_format::{AuthenticationFailed, RangeOpener, Taken, WholeOpener};
use endseal_s3_protocol::S3Error;
use http_body::Body as _;

use crate::observability::{Metrics, failure};
use crate::transfer::shared_buffer::SharedBuffer;
use crate::upstream::{ResponseBody, ResponseError, broken};

/// Maximum size of the buffer in bytes: two reads of the backend's connection.
const BUFFER: usize = 32 * SEALED_CHUNK_LEN;

/// Opener of a whole object, or of a range.
pub(crate) enum Opener {
    Whole(WholeOpener),
    Range(RangeOpener),
}

impl Opener {
    fn open(&mut self, buffer: &mut [u8]) -> Result<Taken, AuthenticationFailed> {
        match self {
            Self::Whole(opener) => opener.open(buffer),
            Self::Range(opener) => opener.open(buffer),
        }
    }

    /// Returns the last bytes of the content once everything is authenticated.
    fn finish(self) -> Result<Zeroizing<Vec<u8>>, AuthenticationFailed> {
        match self {
            Self::Whole(opener) => opener.finish().map(|(last, _)| last),
            Self::Range(opener) => opener.finish().map(|()| Zeroizing::default()),
        }
    }
}

/// Content of a sealed object. Each chunk is authenticated before it is sent.
pub(crate) struct Opened {
    /// Body from the backend; `None` if no byte is needed.
    sealed: Option<ResponseBody>,
    opener: Option<Opener>,
    /// Number of bytes to skip before those that the opener needs.
    skip: u64,
    /// Number of bytes that the opener still needs. More bytes may follow, which are ignored.
    left: u64,
    /// Sealed bytes that were received and not yet opened. They are opened in place.
    buffer: SharedBuffer,
    /// The end of the content, when all of it is authentic.
    end: Bytes,
    /// Last bytes of the content, once everything is authenticated.
    first: Option<Bytes>,
    metrics: Arc<Metrics>,
    /// Bucket and key, for the log.
    object: [Box<str>; 2],
    /// True once the response has started. A failure can then only be logged.
    began: bool,
}

impl Opened {
    /// Opens the bytes `within` a body of the backend.
    pub(crate) fn new(
        sealed: ResponseBody,
        opener: Opener,
        within: Range<u64>,
        metrics: Arc<Metrics>,
        object: [&str; 2],
    ) -> Self {
        Self {
            sealed: Some(sealed),
            opener: Some(opener),
            skip: within.start,
            left: within.end - within.start,
            buffer: SharedBuffer::default(),
            end: Bytes::new(),
            first: None,
            metrics,
            object: object.map(Box::from),
            began: false,
        }
    }

    /// Creates an empty content.
    pub(crate) fn nothing(opener: Opener, metrics: Arc<Metrics>, object: [&str; 2]) -> Self {
        let (buffer, end) = (SharedBuffer::default(), Bytes::new());
        let opener = Some(opener);
        let object = object.map(Box::from);
        let (sealed, first, began) = (None, None, false);
        Self { sealed, opener, skip: 0, left: 0, buffer, end, first, metrics, object, began }
    }

    /// Opens the first chunk. So an object that does not authenticate from the start gets an error
    /// response instead of a truncated body. Small objects are opened completely.
    ///
    /// # Errors
    /// The same errors as [`poll_piece`](Self::poll_piece).
    pub(crate) async fn begin(&mut self) -> Result<(), S3Error> {
        if let Some(piece) = poll_fn(|cx| self.poll_piece(cx)).await {
            self.first = Some(piece?);
        }
        self.began = true;
        Ok(())
    }

    /// Reads all of the content, which must be small.
    ///
    /// # Errors
    /// The same errors as [`poll_piece`](Self::poll_piece).
    pub(crate) async fn collect(mut self) -> Result<Bytes, S3Error> {
        let mut all = BytesMut::new();
        while let Some(piece) = poll_fn(|cx| self.poll_piece(cx)).await {
            all.extend_from_slice(&piece?);
        }
        Ok(all.freeze())
    }

    /// Returns the next chunk, or `None` after the last one. The memory of returned chunks is
    /// reused: the caller MUST drop them before it waits for another one.
    ///
    /// # Errors
    /// `ObjectNotAuthentic`, or `ServiceUnavailable` if the backend's response breaks off.
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
                    self.metrics.authentication.fetch_add(1, Relaxed);
                }
                if self.began {
                    let [bucket, key] = &self.object;
                    failure::broken_off(error, bucket, key);
                }
            }
            None => {}
        }
        Poll::Ready(piece)
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, S3Error>>> {
        while let (Some(opener), Some(sealed)) = (&mut self.opener, &mut self.sealed)
            && self.left > 0
        {
            let most = usize::try_from(self.skip + self.left).unwrap_or(usize::MAX);
            ready!(poll_buffer(&mut self.buffer, cx, most));
            let before = self.buffer.len();
            match ready!(sealed.poll_read(cx, &mut self.buffer, most)) {
                Some(Ok(())) => {}
                // The backend's response is shorter than announced, or the connection broke.
                Some(Err(error)) => return Poll::Ready(Some(Err(broken(&error)))),
                None => return Poll::Ready(Some(Err(broken(&ResponseError::Broken)))),
            }
            // While bytes are skipped, the buffer contains no earlier ones.
            let came = self.buffer.len() - before;
            let skipped = take(&mut self.skip, came);
            self.buffer.advance(skipped);
            take(&mut self.left, came - skipped);
            let Ok(taken) = opener.open(&mut self.buffer) else {
                return Poll::Ready(Some(Err(S3Error::not_authentic())));
            };
            if self.left == 0 {
                // If bytes are missing, the opener returns an error.
                self.buffer.truncate(taken.content);
                break;
            }
            let content = self.buffer.split_frozen(taken.content);
            self.buffer.advance(taken.sealed - taken.content);
            if !content.is_empty() {
                return Poll::Ready(Some(Ok(content)));
            }
        }
        if let Some(opener) = self.opener.take() {
            let Ok(last) = opener.finish() else {
                return Poll::Ready(Some(Err(S3Error::not_authentic())));
            };
            // The buffer has capacity where the sealed bytes were.
            self.buffer.extend_from_slice(&last);
            self.end = self.buffer.split_frozen(self.buffer.len());
        }
        // The rest is read before the last chunk is returned, because the caller does not poll
        // after it. The connection can then be reused.
        if let Some(sealed) = &mut self.sealed {
            while let Some(Ok(_)) = ready!(Pin::new(&mut *sealed).poll_frame(cx)) {}
        }
        if self.end.is_empty() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(core::mem::take(&mut self.end))))
    }
}

/// Waits for buffer capacity for some of the `most` bytes that are still expected.
fn poll_buffer(buffer: &mut SharedBuffer, cx: &Context<'_>, most: usize) -> Poll<()> {
    let len = BUFFER.min(buffer.len().saturating_add(most));
    // A small buffer would lead to small writes.
    if buffer.capacity() - buffer.len() < most.min(len / 4) {
        ready!(buffer.poll_reserve(cx, len));
    }
    Poll::Ready(())
}

/// Subtracts at most `available` from a count and returns the difference.
fn take(count: &mut u64, available: usize) -> usize {
    let taken = usize::try_from(*count).map_or(available, |count| count.min(available));
    *count -= taken as u64;
    taken
}
