//! Reads that become longer.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::read_len;

/// What a connection read last, until it reads again, if that was longer than all before.
///
/// hyper doubles what it reads at once. If it is the only one who has the memory that it read into before,
/// it makes that memory longer, by all that was read before: twice of what it needs in the end, in which it
/// reads at changing places. If somebody has the last piece, it takes new memory of just that length. Once
/// it has, the piece is to be let go: it would be half as much again.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Place>);

#[derive(Default)]
struct Place {
    /// Whether there may be a piece. Mostly there is none, and a load costs less than a lock.
    is_taken: AtomicBool,
    piece: Mutex<Option<Bytes>>,
}

impl Kept {
    /// hyper has memory to read into.
    pub(crate) fn let_go(&self) {
        self.keep(None);
    }

    fn keep(&self, piece: Option<Bytes>) {
        // What keeps and what lets go is polled by one task, so that it sees what it said itself.
        if piece.is_none() && !self.0.is_taken.load(Relaxed) {
            return;
        }
        self.0.is_taken.store(piece.is_some(), Relaxed);
        // Nobody can panic with the lock.
        *self.0.piece.lock().unwrap_or_else(PoisonError::into_inner) = piece;
    }
}

/// Keeps pieces of one body as long as reads grow.
pub(crate) struct Growth {
    /// What hyper reads at once next, if this is its first body; less than that otherwise. It doubles when a read gave
    /// as much, and halves when two in turn gave less than half.
    next: usize,
    shrinks: bool,
    /// The longest memory that it took for that.
    memory: usize,
    kept: Kept,
}

/// What hyper reads at once first.
const FIRST: usize = 8 * 1024;

impl Growth {
    /// For a body that comes over the connection that lets go what is kept in `kept`.
    pub(crate) fn new(kept: Kept) -> Self {
        Self { next: FIRST, shrinks: false, memory: FIRST, kept }
    }

    /// Another piece came, and more will.
    pub(crate) fn came(&mut self, piece: &Bytes) {
        if piece.len() >= self.next {
            self.next = (self.next * 2).min(read_len::MOST);
            self.shrinks = false;
        } else {
            // The power of two below, and never less than the half of FIRST.
            let half = 1 << (self.next.ilog2() - 1);
            let is_little = piece.len() < half;
            if is_little && self.shrinks {
                self.next = half.max(FIRST);
            }
            self.shrinks = is_little && !self.shrinks;
        }
        let grows = self.next > self.memory;
        self.memory = self.memory.max(self.next);
        self.kept.keep(grows.then(|| piece.clone()));
    }

    /// No more pieces will come.
    pub(crate) fn ended(&mut self) {
        self.kept.let_go();
    }
}

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};

    use super::{Growth, Kept};

    /// Reads as hyper does, more and more: reserves, fills, and gives away what it has. How much memory that
    /// takes in the end.
    fn memory(kept: &Kept, mut came: impl FnMut(&Bytes)) -> usize {
        let mut buffer = BytesMut::new();
        for len in [8, 16, 32, 64, 128, 128, 128].map(|kib| kib * 1024) {
            buffer.reserve(len);
            kept.let_go();
            assert!(kept.0.piece.lock().unwrap().is_none());
            buffer.resize(len, 1);
            came(&buffer.split().freeze());
        }
        let most = (1..1024).rev().map(|kib| kib * 1024).find(|len| buffer.try_reclaim(*len));
        most.unwrap_or_default()
    }

    #[test]
    fn memory_is_as_long_as_the_longest_read() {
        let kept = Kept::default();
        let mut growth = Growth::new(kept.clone());
        assert_eq!(memory(&kept, |piece| growth.came(piece)), 128 * 1024);
        assert!(
            memory(&kept, |_| ()) > 200 * 1024,
            "hyper's buffers do not grow by more than they need"
        );
    }

    /// Reads that give more than was asked for, and then less than that: they grow, though no piece is longer than all
    /// before.
    #[test]
    fn reads_grow_without_longer_pieces() {
        let kept = Kept::default();
        let mut growth = Growth::new(kept.clone());
        let mut buffer = BytesMut::with_capacity(300 * 1024);
        for (asked, came) in [(128, 300), (256, 280), (512, 512)].map(|(a, c)| (a * 1024, c * 1024))
        {
            buffer.reserve(asked);
            kept.let_go();
            assert!(buffer.capacity() <= 512 * 1024, "{asked}: {}", buffer.capacity());
            buffer.resize(came, 1);
            growth.came(&buffer.split().freeze());
        }
    }

    #[test]
    fn nothing_is_kept_when_reads_do_not_grow() {
        let kept = Kept::default();
        let mut growth = Growth::new(kept.clone());
        let piece = Bytes::from(vec![1; 20_000]);
        let mut count = 0;
        for _ in 0..20 {
            growth.came(&piece);
            count += usize::from(kept.0.piece.lock().unwrap().is_some());
        }
        // Of 8, and of 16 KiB.
        assert_eq!(count, 2);
        for _ in 0..20 {
            growth.came(&piece.slice(..1_000));
            assert!(kept.0.piece.lock().unwrap().is_none());
        }
        growth.came(&piece);
        assert!(kept.0.piece.lock().unwrap().is_none(), "there is memory for that");
    }
}
