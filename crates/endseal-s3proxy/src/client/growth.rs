//! Reads that become longer.

use alloc::sync::Arc;
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
pub(crate) struct Kept(Arc<Mutex<Option<Bytes>>>);

impl Kept {
    /// hyper has memory to read into.
    pub(crate) fn let_go(&self) {
        self.keep(None);
    }

    fn keep(&self, piece: Option<Bytes>) {
        // Nobody can panic with the lock.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = piece;
    }
}

/// Keeps pieces of one body as long as they grow.
#[derive(Default)]
pub(crate) struct Growth {
    longest: usize,
    kept: Kept,
}

impl Growth {
    /// For a body that comes over the connection that lets go what is kept in `kept`.
    pub(crate) fn new(kept: Kept) -> Self {
        Self { longest: 0, kept }
    }

    /// Another piece came, and more will.
    pub(crate) fn came(&mut self, piece: &Bytes) {
        let grows = piece.len() > self.longest && piece.len() < read_len::MOST;
        self.kept.keep(grows.then(|| piece.clone()));
        self.longest = self.longest.max(piece.len());
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
            assert!(kept.0.lock().unwrap().is_none());
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
}
