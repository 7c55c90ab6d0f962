//! Content that is held back until the signature of its chunk is verified.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Slices shorter than this are copied together: a slice costs as much as this to keep.
const SMALL: usize = 2_048;
const TOGETHER: usize = 16_384;

/// Slices in their order, with those that are too short to be kept alone put together.
#[derive(Debug, Default)]
pub(super) struct Held {
    slices: VecDeque<Bytes>,
    together: BytesMut,
    len: u64,
}

impl Held {
    pub(super) fn push(&mut self, slice: Bytes) {
        self.len += slice.len() as u64;
        if slice.len() >= SMALL {
            self.join();
            self.slices.push_back(slice);
            return;
        }
        // Released bytes share one allocation with the bytes that follow, so that chunks of one
        // byte do not need an allocation each.
        if self.together.capacity() - self.together.len() < slice.len() {
            self.join();
            self.together.reserve(TOGETHER);
        }
        self.together.extend_from_slice(&slice);
        if self.together.len() >= TOGETHER - SMALL {
            self.join();
        }
    }

    /// Gives up all but the last `keep` bytes, as far as slices allow without cutting.
    pub(super) fn release_but(&mut self, keep: u64, out: &mut VecDeque<Bytes>) {
        while let Some(first) = self.slices.front() {
            let rest = self.len - first.len() as u64;
            if rest < keep {
                return;
            }
            self.len = rest;
            out.extend(self.slices.pop_front());
        }
    }

    /// Releases all bytes that are held.
    pub(super) fn release(&mut self, out: &mut VecDeque<Bytes>) {
        self.join();
        self.len = 0;
        out.extend(self.slices.drain(..));
    }

    fn join(&mut self) {
        if !self.together.is_empty() {
            self.slices.push_back(self.together.split().freeze());
        }
    }
}
