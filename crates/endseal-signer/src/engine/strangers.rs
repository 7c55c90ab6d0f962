//! Work that strangers may cause.

use std::time::Instant;

/// Events of strangers that are verified in a second: a fifth of a CPU.
const RATE: u32 = 3_000;

/// Verifications that are left in this second.
pub(super) struct Budget {
    begun: Instant,
    left: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { begun: Instant::now(), left: RATE }
    }
}

impl Budget {
    /// Takes one. Returns false if none is left.
    pub(super) fn take(&mut self) -> bool {
        if self.begun.elapsed().as_secs() > 0 {
            *self = Self::default();
        }
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or_default();
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_so_many() {
        let mut budget = Budget::default();
        let taken = (0..RATE * 2).filter(|_| budget.take()).count();
        assert!((RATE..2 * RATE).contains(&u32::try_from(taken).unwrap()), "{taken}");
    }
}
