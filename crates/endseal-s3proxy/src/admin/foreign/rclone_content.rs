//! Content of objects in crypt remotes of rclone: boxes of 64 KiB behind a header.

use bytes::{Bytes, BytesMut};
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::secretbox::{self, NONCE_LEN, TAG_LEN};
use endseal_s3_protocol::S3Error;

use super::not_authentic;
use crate::transfer::Converter;

const MAGIC: &[u8] = b"RCLONE\0\0";
const HEADER_LEN: usize = MAGIC.len() + NONCE_LEN;
/// Content of a box, and its length with the tag.
const CONTENT_LEN: usize = 64 * 1024;
const BOX_LEN: usize = TAG_LEN + CONTENT_LEN;

/// Returns the length of the content of an object of `len` bytes. `None` if rclone writes none of
/// that length.
pub(super) fn content_len(len: u64) -> Option<u64> {
    let (header, sealed, tag) = (HEADER_LEN as u64, BOX_LEN as u64, TAG_LEN as u64);
    let boxes = len.checked_sub(header)?;
    let rest = match boxes % sealed {
        0 => 0,
        last => last.checked_sub(tag).filter(|last| *last > 0)?,
    };
    Some(boxes / sealed * CONTENT_LEN as u64 + rest)
}

/// Opens an object box by box.
pub(super) struct BoxReader {
    key: Zeroizing<[u8; secretbox::KEY_LEN]>,
    /// Nonce of the next box, once the header was read.
    nonce: Option<[u8; NONCE_LEN]>,
    /// Sealed bytes that are still to come.
    left: u64,
    buffer: BytesMut,
}

impl BoxReader {
    /// Begins an object of `len` sealed bytes.
    pub(super) fn new(key: Zeroizing<[u8; secretbox::KEY_LEN]>, len: u64) -> Self {
        Self { key, nonce: None, left: len, buffer: BytesMut::new() }
    }

    fn read_header(&mut self) -> Result<[u8; NONCE_LEN], S3Error> {
        let header = self.buffer.split_to(HEADER_LEN);
        let nonce = header.strip_prefix(MAGIC).and_then(|nonce| nonce.try_into().ok());
        nonce.ok_or_else(not_authentic)
    }
}

impl Converter for BoxReader {
    fn convert(&mut self, sealed: Bytes) -> Result<Bytes, S3Error> {
        self.left = self.left.checked_sub(sealed.len() as u64).ok_or_else(not_authentic)?;
        self.buffer.extend_from_slice(&sealed);
        if self.nonce.is_none() && self.buffer.len() >= HEADER_LEN {
            self.nonce = Some(self.read_header()?);
        }
        let Some(nonce) = &mut self.nonce else { return Ok(Bytes::new()) };
        let mut content = BytesMut::new();
        loop {
            let next = match self.buffer.len() {
                0 => break,
                BOX_LEN.. => BOX_LEN,
                // The last box is shorter.
                short if self.left == 0 => short,
                _ => break,
            };
            let mut sealed = self.buffer.split_to(next);
            let opened = secretbox::open(&self.key, nonce, &mut sealed);
            content.extend_from_slice(opened.map_err(|_| not_authentic())?);
            increment(nonce);
        }
        Ok(content.freeze())
    }
}

/// Adds 1 to a nonce, whose first byte is the least significant.
fn increment(nonce: &mut [u8; NONCE_LEN]) {
    for byte in nonce {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
}

/// Object without bytes.
pub(super) struct Nothing;

impl Converter for Nothing {
    fn convert(&mut self, sealed: Bytes) -> Result<Bytes, S3Error> {
        if sealed.is_empty() { Ok(sealed) } else { Err(not_authentic()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_that_rclone_writes() {
        let full = BOX_LEN as u64;
        for (len, expected) in [
            (0, None),
            (31, None),
            (32, Some(0)),
            (33, None),
            (48, None),
            (49, Some(1)),
            (32 + full, Some(65_536)),
            (32 + full + 16, None),
            (32 + full + 17, Some(65_537)),
            (32 + 2 * full, Some(131_072)),
        ] {
            assert_eq!(content_len(len), expected, "{len}");
        }
    }

    #[test]
    fn nonces_carry() {
        let mut nonce = [0xff; NONCE_LEN];
        nonce[2] = 7;
        increment(&mut nonce);
        assert_eq!(nonce[..4], [0, 0, 8, 0xff]);
        nonce = [0xff; NONCE_LEN];
        increment(&mut nonce);
        assert_eq!(nonce, [0; NONCE_LEN]);
    }
}
