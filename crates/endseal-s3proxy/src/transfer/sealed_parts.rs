//! Sealed bytes of an object, cut into parts that are sent to the backend at the same time.

use core::mem;
use core::task::{Context, Poll};
use core::time::Duration;

use bytes::{Bytes, BytesMut};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::{ChecksumValue, Hasher};

use crate::transfer::{Sealed, TRAILER};
use crate::upstream::IdleTimeout;

/// Cuts the sealed bytes of an object into parts, each in memory of its own. The caller limits how
/// many parts are in memory.
pub(crate) struct SealedParts {
    sealed: Sealed,
    /// Number of sealed bytes that are not in a complete part yet.
    left: u64,
    part_len: usize,
    /// Part that is not complete yet, and its checksum.
    part: BytesMut,
    sum: Hasher,
    /// Sealed bytes that are not in a part yet.
    rest: Bytes,
    /// Memory of parts that were sent, for the next ones.
    spare: Vec<BytesMut>,
    idle: IdleTimeout,
    timeout: Duration,
}

/// Complete part with the checksum of its bytes.
pub(crate) struct SealedPart {
    pub(crate) bytes: Bytes,
    pub(crate) checksum: ChecksumValue,
}

impl SealedParts {
    /// Creates the parts of `len` sealed bytes. The content may not pause for longer than
    /// `timeout` while a part waits for it.
    pub(crate) fn new(sealed: Sealed, len: u64, part_len: usize, timeout: Duration) -> Self {
        Self {
            sealed,
            left: len,
            part_len,
            part: BytesMut::new(),
            sum: Hasher::new(TRAILER),
            rest: Bytes::new(),
            spare: Vec::new(),
            idle: IdleTimeout::default(),
            timeout,
        }
    }

    /// Returns true if there are no more parts.
    pub(crate) fn is_ended(&self) -> bool {
        self.left == 0
    }

    /// Gives back the memory of a part that was sent.
    pub(crate) fn reclaim(&mut self, part: Bytes) {
        if let Ok(mut part) = part.try_into_mut() {
            part.clear();
            self.spare.push(part);
        }
    }

    /// Returns the next part. The last one is complete after all digests of the content were
    /// checked.
    ///
    /// # Errors
    /// The error of the content, and `RequestTimeout`.
    pub(crate) fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Result<SealedPart, S3Error>> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let len = self.part_len.min(left);
        if self.part.capacity() == 0 {
            let spare = self.spare.pop();
            self.part = spare.unwrap_or_else(|| BytesMut::with_capacity(len));
        }
        while self.part.len() < len {
            if self.rest.is_empty() {
                let Poll::Ready(piece) = self.sealed.poll_sealed(cx) else {
                    core::task::ready!(self.idle.poll(cx, self.timeout));
                    return Poll::Ready(Err(S3Error::request_timeout()));
                };
                self.idle.progress();
                self.rest = match piece {
                    Some(piece) => piece?,
                    None => return Poll::Ready(Err(S3Error::incomplete_body())),
                };
            }
            let taken = self.rest.len().min(len - self.part.len());
            let piece = self.rest.split_to(taken);
            self.sum.update(&piece);
            self.part.extend_from_slice(&piece);
        }
        self.left -= len as u64;
        let sum = mem::replace(&mut self.sum, Hasher::new(TRAILER));
        let bytes = mem::take(&mut self.part).freeze();
        Poll::Ready(Ok(SealedPart { bytes, checksum: sum.finish() }))
    }
}
