//! Work that strangers and apps may cause.

use core::time::Duration;
use std::collections::HashMap;
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

/// Requests of one app in ten minutes. Two windows are less than the signer remembers, so that one
/// app cannot keep the others from being answered.
const REQUESTS: u32 = 40_000;
const WINDOW: Duration = Duration::from_secs(600);

/// Requests of each app.
#[derive(Default)]
pub(super) struct Quotas(HashMap<[u8; 32], (Instant, u32)>);

impl Quotas {
    /// Counts a request. Returns false if the app has made too many.
    pub(super) fn take(&mut self, transport: &[u8; 32]) -> bool {
        let now = Instant::now();
        let (begun, used) = self.0.entry(*transport).or_insert((now, 0));
        if now.duration_since(*begun) >= WINDOW {
            (*begun, *used) = (now, 0);
        }
        *used = used.saturating_add(1);
        *used <= REQUESTS
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

    #[test]
    fn one_app_cannot_take_all() {
        let mut quotas = Quotas::default();
        assert!((0..REQUESTS).all(|_| quotas.take(&[1; 32])));
        assert!(!quotas.take(&[1; 32]) && quotas.take(&[2; 32]));
    }
}
