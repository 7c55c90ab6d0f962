//! Bytes that a sink keeps: in memory up to a limit, then in a file without a name.

use core::sync::atomic::{AtomicU64, Ordering};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

/// Largest number of bytes that are kept in memory.
const MOST_HELD: u64 = 2 << 30;
/// Bytes that are copied together, so that kept bytes do not keep the buffers of sockets alive.
const TOGETHER: usize = 1 << 20;

/// Counter of the bytes that are kept in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Held(Arc<AtomicU64>);

/// Immutable bytes in memory or in files.
#[derive(Debug, Default)]
pub(super) struct Blob {
    /// Extents in order, each with its offset.
    extents: Vec<(u64, Extent)>,
    len: u64,
    in_memory: u64,
    held: Held,
}

#[derive(Debug)]
enum Extent {
    Memory(Bytes),
    File(File, u64),
}

impl Extent {
    fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, len) => *len,
        }
    }
}

impl Blob {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Reads some bytes from `offset` on, at most `most`; empty at the end.
    pub(super) fn read(&self, offset: u64, most: usize) -> io::Result<Bytes> {
        let after = self.extents.partition_point(|(start, _)| *start <= offset);
        let Some((start, extent)) = after.checked_sub(1).and_then(|at| self.extents.get(at)) else {
            return Ok(Bytes::new());
        };
        let within = offset - start;
        let left = extent.len().saturating_sub(within);
        let len = usize::try_from(left).map_or(most, |left| left.min(most));
        match extent {
            Extent::Memory(bytes) => {
                let at = usize::try_from(within).unwrap_or(usize::MAX).min(bytes.len());
                Ok(bytes.slice(at..at + len))
            }
            Extent::File(file, _) => {
                let mut bytes = BytesMut::zeroed(len);
                file.read_exact_at(&mut bytes, within)?;
                Ok(bytes.freeze())
            }
        }
    }

    /// Joins blobs in order into one.
    pub(super) fn join(blobs: impl IntoIterator<Item = Self>) -> Self {
        let mut whole = Self::default();
        for mut blob in blobs {
            whole.held = blob.held.clone();
            whole.in_memory += core::mem::take(&mut blob.in_memory);
            for (_, extent) in core::mem::take(&mut blob.extents) {
                let len = extent.len();
                whole.extents.push((whole.len, extent));
                whole.len += len;
            }
        }
        whole
    }
}

impl Drop for Blob {
    fn drop(&mut self) {
        self.held.0.fetch_sub(self.in_memory, Ordering::Relaxed);
    }
}

/// Writes a new blob.
#[derive(Debug)]
pub(super) enum Writer {
    Memory { blob: Blob, together: BytesMut },
    File { file: File, len: u64 },
}

impl Writer {
    /// Creates a writer for about `len` bytes.
    pub(super) fn new(held: &Held, len: u64) -> io::Result<Self> {
        if held.0.load(Ordering::Relaxed).saturating_add(len) <= MOST_HELD {
            let held = held.clone();
            let blob = Blob { extents: Vec::new(), len: 0, in_memory: 0, held };
            return Ok(Self::Memory { blob, together: BytesMut::new() });
        }
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("endseal-bench-sink-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        // The file is freed when its last reader closes it, however this process ends.
        fs::remove_file(&path)?;
        Ok(Self::File { file, len: 0 })
    }

    pub(super) fn write(&mut self, mut piece: &[u8]) -> io::Result<()> {
        match self {
            Self::Memory { blob, together } => {
                while !piece.is_empty() {
                    if together.capacity() == 0 {
                        together.reserve(TOGETHER);
                    }
                    let room = TOGETHER - together.len();
                    let (now, later) = piece.split_at(room.min(piece.len()));
                    together.extend_from_slice(now);
                    piece = later;
                    if together.len() == TOGETHER {
                        blob.push(core::mem::take(together).freeze());
                    }
                }
                Ok(())
            }
            Self::File { file, len } => {
                *len += piece.len() as u64;
                file.write_all(piece)
            }
        }
    }

    pub(super) fn finish(self) -> Blob {
        match self {
            Self::Memory { mut blob, together } => {
                if !together.is_empty() {
                    blob.push(together.freeze());
                }
                blob
            }
            Self::File { file, len } => {
                let extents = vec![(0, Extent::File(file, len))];
                Blob { extents, len, in_memory: 0, held: Held::default() }
            }
        }
    }
}

impl Blob {
    fn push(&mut self, bytes: Bytes) {
        let len = bytes.len() as u64;
        self.extents.push((self.len, Extent::Memory(bytes)));
        self.len += len;
        self.in_memory += len;
        self.held.0.fetch_add(len, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(blob: &Blob) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let piece = blob.read(bytes.len() as u64, 777_777).unwrap();
            if piece.is_empty() {
                return bytes;
            }
            bytes.extend_from_slice(&piece);
        }
    }

    #[test]
    fn what_was_written_is_read_from_memory_and_from_files() {
        let content: Vec<u8> = (0..2_500_000_u32).map(|i| (i % 251) as u8).collect();
        let held = Held::default();
        for announced in [0, MOST_HELD + 1] {
            let mut writer = Writer::new(&held, announced).unwrap();
            assert_eq!(matches!(writer, Writer::File { .. }), announced > MOST_HELD);
            for piece in content.chunks(300_001) {
                writer.write(piece).unwrap();
            }
            let blob = writer.finish();
            assert_eq!(blob.len(), content.len() as u64);
            assert!(all(&blob) == content);
            assert!(blob.read(blob.len(), 10).unwrap().is_empty());
            assert_eq!(
                blob.read(1_048_570, 100).unwrap(),
                &content[1_048_570..][..blob.read(1_048_570, 100).unwrap().len()]
            );
        }
        assert_eq!(held.0.load(Ordering::Relaxed), 0, "nothing is held that was dropped");
    }

    #[test]
    fn joined_blobs_follow_each_other() {
        let held = Held::default();
        let blobs: Vec<Blob> = ["ab", "", "cde"]
            .map(|text| {
                let mut writer = Writer::new(&held, 0).unwrap();
                writer.write(text.as_bytes()).unwrap();
                writer.finish()
            })
            .into();
        let whole = Blob::join(blobs);
        assert_eq!(all(&whole), b"abcde");
        assert_eq!(held.0.load(Ordering::Relaxed), 5);
        drop(whole);
        assert_eq!(held.0.load(Ordering::Relaxed), 0);
    }
}
