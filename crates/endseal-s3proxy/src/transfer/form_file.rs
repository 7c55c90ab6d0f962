//! The file in a form, and what must stand behind it.

use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use endseal_s3_protocol::S3Error;

use crate::transfer::RequestBody;

/// The bytes of a file of known length, then `ending`, then nothing. A delimiter within the file is
/// an error: then the form has something behind the file, and its length is not what it seemed.
pub(crate) struct FormFile {
    upload: Box<RequestBody>,
    /// Came together with the fields before the file.
    buffered: Bytes,
    left: u64,
    /// CRLF, `--` and the boundary.
    delimiter: Bytes,
    ending: Bytes,
    /// The last bytes, which may be the beginning of a delimiter.
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

    /// The next piece; `None` after the last, when the form has ended as it must.
    ///
    /// # Errors
    /// If the form is cut, goes on, or ends otherwise.
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

/// Where `wanted` begins, which begins with CR as few other bytes do.
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
