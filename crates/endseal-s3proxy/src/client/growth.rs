//! Reads that become longer.

use bytes::Bytes;

use crate::read_len;

/// Keeps a piece until the next one came, if it is longer than all before.
///
/// hyper doubles what it reads at once. If it is the only one who has the memory that it read into before,
/// it makes that memory longer, by all that was read before: twice of what it needs in the end, in which it
/// reads at changing places. If somebody has the last piece, it takes new memory of just that length.
#[derive(Default)]
pub(crate) struct Growth {
    longest: usize,
    kept: Option<Bytes>,
}

impl Growth {
    /// Another piece came, and more will.
    pub(crate) fn came(&mut self, piece: &Bytes) {
        let grows = piece.len() > self.longest && piece.len() < read_len::MOST;
        self.kept = grows.then(|| piece.clone());
        self.longest = self.longest.max(piece.len());
    }

    /// No more pieces will come.
    pub(crate) fn ended(&mut self) {
        self.kept = None;
    }
}

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};

    use super::Growth;

    /// Reads as hyper does, more and more: reserves, fills, and gives away what it has. How much memory that
    /// takes in the end.
    fn memory(mut came: impl FnMut(&Bytes)) -> usize {
        let mut buffer = BytesMut::new();
        for len in [8, 16, 32, 64, 128, 128, 128].map(|kib| kib * 1024) {
            buffer.reserve(len);
            buffer.resize(len, 1);
            came(&buffer.split().freeze());
        }
        let most = (1..1024).rev().map(|kib| kib * 1024).find(|len| buffer.try_reclaim(*len));
        most.unwrap_or_default()
    }

    #[test]
    fn memory_is_as_long_as_the_longest_read() {
        let mut growth = Growth::default();
        assert_eq!(memory(|piece| growth.came(piece)), 128 * 1024);
        assert!(memory(|_| ()) > 200 * 1024, "hyper's buffers do not grow by more than they need");
    }
}
