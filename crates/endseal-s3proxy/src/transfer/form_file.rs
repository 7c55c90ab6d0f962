//! File of a form, and the check of the form's end.

use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use endseal_s3_protocol::S3Error;

use crate::transfer::RequestBody;

/// Reads a file of known length, then `ending`, then the end of the body. A delimiter within the
/// file is an error: then further fields follow the file, and its length was computed wrongly.
pub(crate) struct FormFile {
    upload: Box<RequestBody>,
    /// Bytes that were received together with the preceding fields.
    buffered: Bytes,
    left: u64,
    /// CRLF, `--` and the boundary.
    delimiter: Bytes,
    ending: Bytes,
    /// Last bytes of the previous chunk, which may be the start of a delimiter.
    carry: BytesMut,
}

impl FormFile {
    pub(crate) fn new(
        upload: Box<RequestBody>,
        buffered: Bytes,
        len: u64,
        delimiter: Bytes,
        ending: Bytes,
    ) -> Self {
        Self { upload, buffered, left: len, delimiter, ending, carry: BytesMut::new() }
    }

    /// Returns the next chunk, or `None` after the last one if the form ends correctly.
    ///
    /// # Errors
    /// If the form is truncated, continues after the file, or ends in another way.
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, S3Error>>> {
        loop {
            if self.buffered.is_empty() {
                match ready!(self.upload.poll_piece(cx)) {
                    Some(Ok(piece)) => self.buffered = piece,
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None if self.left > 0 => {
                        return Poll::Ready(Some(Err(S3Error::incomplete_body())));
                    }
                    None if self.ending.is_empty() => return Poll::Ready(None),
                    None => return Poll::Ready(Some(Err(S3Error::malformed_form()))),
                }
            }
            if self.left > 0 {
                let len = self.buffered.len();
                let taken = usize::try_from(self.left).map_or(len, |left| left.min(len));
                self.left -= taken as u64;
                let piece = self.buffered.split_to(taken);
                if self.has_delimiter(&piece) {
                    return Poll::Ready(Some(Err(S3Error::malformed_form())));
                }
                return Poll::Ready(Some(Ok(piece)));
            }
            let common = self.buffered.len().min(self.ending.len());
            if common == 0 || self.buffered[..common] != self.ending[..common] {
                return Poll::Ready(Some(Err(S3Error::malformed_form())));
            }
            self.buffered.advance(common);
            self.ending.advance(common);
        }
    }

    fn has_delimiter(&mut self, piece: &[u8]) -> bool {
        let before = self.delimiter.len() - 1;
        self.carry.extend_from_slice(&piece[..piece.len().min(before)]);
        if find(&self.carry, &self.delimiter).is_some() || find(piece, &self.delimiter).is_some() {
            return true;
        }
        if piece.len() >= before {
            self.carry.clear();
            self.carry.extend_from_slice(&piece[piece.len() - before..]);
        } else {
            let surplus = self.carry.len().saturating_sub(before);
            self.carry.advance(surplus);
        }
        false
    }
}

/// Returns the position of `wanted`. It is fast if the first byte of `wanted` is rare, like CR.
pub(crate) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut start = 0;
    while let Some(at) = bytes.get(start..)?.iter().position(|byte| *byte == first) {
        if bytes[start + at..].starts_with(wanted) {
            return Some(start + at);
        }
        start += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn delimiters_are_found_wherever_they_begin() {
        let wanted = b"\r\n--x";
        for (bytes, at) in [
            (&b"\r\n--x"[..], Some(0)),
            (b"\r\r\n--x", Some(1)),
            (b"a\r\n-\r\n--xy", Some(4)),
            (b"\r\n--", None),
            (b"", None),
            (b"abc", None),
        ] {
            assert_eq!(find(bytes, wanted), at, "{bytes:?}");
        }
    }
}
