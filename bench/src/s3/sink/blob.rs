//! Bytes that a sink keeps in memory.

use bytes::{Bytes, BytesMut};

/// Bytes that are copied together, so that kept bytes do not keep the buffers of sockets alive.
const TOGETHER: usize = 1 << 20;

/// Bytes in pieces, each with its offset.
#[derive(Debug, Default)]
pub(super) struct Blob {
    pieces: Vec<(u64, Bytes)>,
    len: u64,
    /// Bytes that are not a whole piece yet.
    together: BytesMut,
}

impl Blob {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Returns some bytes from `offset` on, at most `most`; empty at the end.
    pub(super) fn read(&self, offset: u64, most: usize) -> Bytes {
        let after = self.pieces.partition_point(|(start, _)| *start <= offset);
        let Some((start, piece)) = after.checked_sub(1).map(|at| &self.pieces[at]) else {
            return Bytes::new();
        };
        let at = usize::try_from(offset - start).unwrap_or(usize::MAX).min(piece.len());
        piece.slice(at..piece.len().min(at + most))
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.together.capacity() == 0 {
                self.together.reserve(TOGETHER);
            }
            let room = TOGETHER - self.together.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.together.extend_from_slice(now);
            bytes = later;
            if self.together.len() == TOGETHER {
                self.finish();
            }
        }
    }

    /// Ends the last piece, which makes it readable.
    pub(super) fn finish(&mut self) {
        let piece = core::mem::take(&mut self.together).freeze();
        self.push(piece);
    }

    fn push(&mut self, piece: Bytes) {
        let start = self.len;
        self.len += piece.len() as u64;
        self.pieces.extend((!piece.is_empty()).then_some((start, piece)));
    }

    /// Joins blobs in order into one.
    pub(super) fn join(blobs: impl IntoIterator<Item = Self>) -> Self {
        let mut whole = Self::default();
        for (_, piece) in blobs.into_iter().flat_map(|blob| blob.pieces) {
            whole.push(piece);
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_and_joined_is_read() {
        let content: Vec<u8> = (0..2_500_000_u32).map(|i| (i % 251) as u8).collect();
        let blobs = content.chunks(1_300_000).map(|part| {
            let mut blob = Blob::default();
            part.chunks(300_001).for_each(|piece| blob.write(piece));
            blob.finish();
            blob
        });
        let whole = Blob::join(blobs);
        let mut read = Vec::new();
        while read.len() < content.len() {
            read.extend_from_slice(&whole.read(read.len() as u64, 777_777));
        }
        assert!(read == content && whole.read(whole.len(), 10).is_empty());
    }
}
