//! Body in chunks with a checksum trailer (`STREAMING-UNSIGNED-PAYLOAD-TRAILER`). It lets the
//! server detect a truncated body. Some servers would otherwise take the end of a connection for
//! the end of the body.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::{ChecksumKind, ChecksumValue, Hasher};
use endseal_s3_protocol::sigv4::PayloadHash;
use http::header::{CONTENT_ENCODING, HeaderMap, HeaderValue};
use http_body::Frame;

use crate::headers::{self, AMZ_TRAILER, DECODED_LENGTH, SDK_CHECKSUM};
use crate::transfer::Sealed;
use crate::upstream::{Body, SourceError};

/// Size of a chunk in bytes. It is fixed so that the total length is known in advance, and large so
/// that few buffers are split. MinIO accepts up to 16 MiB.
const CHUNK: u64 = 4 * 1024 * 1024;

/// Checksum algorithm of the trailer. It is fast and supported by all servers.
pub(crate) const TRAILER: ChecksumKind = ChecksumKind::Crc32c;

/// Returns the checksum of a short body, which is sent in a header before it.
pub(crate) fn checksum_of(body: &[u8]) -> ChecksumValue {
    let mut hasher = Hasher::new(TRAILER);
    hasher.update(body);
    hasher.finish()
}

/// Sealed bytes in chunks.
pub(crate) struct Framed {
    sealed: Sealed,
    is_ended: bool,
    /// Number of sealed bytes that are not yet in chunks.
    left: u64,
    /// Number of bytes that the current chunk still needs.
    chunk: u64,
    waiting: VecDeque<Bytes>,
}

impl Framed {
    /// Returns the body for `len` sealed bytes, and how it is signed. If the backend
    /// `has_trailers`, the body is sent in chunks, and the headers for this are set.
    ///
    /// # Errors
    /// If a header cannot be built.
    pub(crate) fn body(
        sealed: Sealed,
        len: u64,
        headers: &mut HeaderMap,
        has_trailers: bool,
    ) -> Result<(Body, PayloadHash), S3Error> {
        if !has_trailers {
            return Ok((Body::stream(len, sealed), PayloadHash::Unsigned));
        }
        let coding = match headers::text(headers, CONTENT_ENCODING) {
            Some(coding) => format!("{coding},aws-chunked"),
            None => "aws-chunked".to_owned(),
        };
        headers::insert(headers, CONTENT_ENCODING, &coding)?;
        headers.insert(DECODED_LENGTH, HeaderValue::from(len));
        headers::insert(headers, AMZ_TRAILER, TRAILER.header())?;
        headers::insert(headers, SDK_CHECKSUM, TRAILER.name())?;
        let own = Self {
            sealed: sealed.with_sum(TRAILER),
            is_ended: false,
            left: len,
            chunk: 0,
            waiting: VecDeque::new(),
        };
        Ok((Body::stream(framed_len(len), own), PayloadHash::StreamingUnsignedTrailer))
    }

    /// Splits a buffer into chunks. It may end and start several.
    fn put(&mut self, mut piece: Bytes) {
        while !piece.is_empty() {
            if self.chunk == 0 {
                self.chunk = self.left.min(CHUNK);
                self.waiting.push_back(Bytes::from(format!("{:x}\r\n", self.chunk)));
            }
            let taken = usize::try_from(self.chunk).map_or(piece.len(), |c| c.min(piece.len()));
            self.waiting.push_back(piece.split_to(taken));
            self.chunk -= taken as u64;
            self.left = self.left.saturating_sub(taken as u64);
            if self.chunk == 0 {
                self.waiting.push_back(Bytes::from_static(b"\r\n"));
            }
        }
    }
}

impl http_body::Body for Framed {
    type Data = Bytes;
    type Error = SourceError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, SourceError>>> {
        loop {
            if let Some(waiting) = self.waiting.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(waiting))));
            }
            if self.is_ended {
                return Poll::Ready(None);
            }
            match ready!(Pin::new(&mut self.sealed).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        self.put(piece);
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    self.is_ended = true;
                    let Some(sum) = self.sealed.sum() else { continue };
                    let end = format!("0\r\n{}:{}\r\n\r\n", TRAILER.header(), sum.to_base64());
                    self.waiting.push_back(Bytes::from(end));
                }
            }
        }
    }
}

/// Returns the length of the chunked body of `len` bytes.
fn framed_len(len: u64) -> u64 {
    let around = |chunk: u64| 4 + u64::from(chunk.ilog2() / 4 + 1);
    let last = len % CHUNK;
    let chunks = len / CHUNK * around(CHUNK) + if last > 0 { around(last) } else { 0 };
    // "0", line end, name, ":", base64 of four bytes, two line ends.
    let end = 3 + TRAILER.header().len() as u64 + 1 + 8 + 4;
    len + chunks + end
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, framed_len};

    #[test]
    fn lengths_are_those_of_chunks_and_trailer() {
        let end = "0\r\nx-amz-checksum-crc32c:AAAAAA==\r\n\r\n".len() as u64;
        assert_eq!(framed_len(0), end);
        assert_eq!(framed_len(15), 15 + "f\r\n\r\n".len() as u64 + end);
        assert_eq!(framed_len(16), 16 + "10\r\n\r\n".len() as u64 + end);
        assert_eq!(framed_len(CHUNK), CHUNK + "400000\r\n\r\n".len() as u64 + end);
        let two = "400000\r\n\r\n1\r\n\r\n".len() as u64;
        assert_eq!(framed_len(CHUNK + 1), CHUNK + 1 + two + end);
    }
}
