//! The rate limit: how much work each device may ask for at present.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use endseal_codec::hub::{Code, Refused};
use endseal_crypto::peer_id::PeerId;

use crate::limits::HubLimits;

/// The budgets of the devices that have asked for something since the hub started.
#[derive(Debug)]
pub(crate) struct Budgets {
    burst: u32,
    rate: u32,
    devices: Mutex<HashMap<PeerId, Budget>>,
}

impl Budgets {
    pub(crate) fn new(limits: &HubLimits) -> Self {
        Self { burst: limits.burst, rate: limits.rate, devices: Mutex::default() }
    }

    /// Takes the cost of a request, in frames, from the budget of a device. This happens before
    /// the writer gets the request, so that refused requests cause no work there.
    ///
    /// # Errors
    /// The refusal with the time to wait, if the budget is used up.
    pub(crate) fn take(&self, peer: &PeerId, cost: usize, now: u64) -> Result<(), Refused> {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        let budget = devices.entry(*peer).or_insert_with(|| Budget::full(self.burst, now));
        let taken = budget.take(cost, self.burst, self.rate, now);
        taken.map_err(|wait| Refused { code: Code::RATE, wait, ..Refused::default() })
    }

    /// Takes the cost of deliveries that are known after they were stored alone. What the budget of
    /// the device does not have is a debt, which is paid before the next request.
    pub(crate) fn spend(&self, peer: &PeerId, cost: usize) {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(budget) = devices.get_mut(peer) {
            budget.left = budget.left.saturating_sub(thousandths(cost));
        }
    }

    /// Returns the cost of a request that the hub has not executed.
    pub(crate) fn give_back(&self, peer: &PeerId, cost: usize) {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(budget) = devices.get_mut(peer) {
            budget.give_back(cost, self.burst);
        }
    }
}

/// Converts frames.
fn thousandths(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX).saturating_mul(1_000)
}

/// A token bucket that counts in thousandths of a frame.
#[derive(Clone, Copy, Debug)]
struct Budget {
    /// Below 0 if deliveries were stored that are not paid yet.
    left: i64,
    /// Microseconds since 1970.
    at: u64,
}

impl Budget {
    const fn full(burst: u32, now: u64) -> Self {
        Self { left: burst as i64 * 1_000, at: now }
    }

    /// Takes `count` frames from the bucket.
    ///
    /// # Errors
    /// The milliseconds after which the bucket holds `count` frames. More than it can hold take all
    /// of a full bucket.
    fn take(&mut self, count: usize, burst: u32, rate: u32, now: u64) -> Result<(), u64> {
        let full = i64::from(burst) * 1_000;
        let passed = now.saturating_sub(self.at);
        // A rate of one frame per second refills one thousandth of a frame per millisecond.
        let refill = passed.saturating_mul(u64::from(rate)) / 1_000;
        if refill > 0 || now < self.at {
            self.left = self.left.saturating_add_unsigned(refill).min(full);
            self.at = now;
        }
        let wanted = thousandths(count).min(full);
        if self.left >= wanted {
            self.left -= wanted;
            return Ok(());
        }
        let missing = wanted.abs_diff(self.left);
        Err(missing.div_ceil(u64::from(rate.max(1))))
    }

    /// Puts `count` frames back into the bucket, as far as it can hold them.
    fn give_back(&mut self, count: usize, burst: u32) {
        let full = i64::from(burst) * 1_000;
        self.left = self.left.saturating_add(thousandths(count)).min(full);
    }
}

#[cfg(test)]
mod tests {
    use endseal_crypto::peer_id::PeerId;

    use super::{Budget, Budgets};
    use crate::limits::HubLimits;

    /// A flood of frames to a large group is paid, though each costs 1 until it was stored.
    #[test]
    fn what_deliveries_cost_later_is_a_debt() {
        let mut limits = HubLimits::default();
        (limits.burst, limits.rate) = (10, 50);
        let (budgets, peer) = (Budgets::new(&limits), PeerId::from_bytes(&[1; 32]));
        for _ in 0..10 {
            assert_eq!(budgets.take(&peer, 1, 0), Ok(()));
        }
        budgets.spend(&peer, 640);
        let wait = |now| budgets.take(&peer, 1, now).err().map(|it| it.wait);
        assert_eq!(wait(0), Some(641 * 20));
        assert_eq!(wait(640 * 20_000), Some(20));
        assert_eq!(wait(641 * 20_000), None);
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut budget = Budget::full(10, 0);
        assert_eq!(budget.take(10, 10, 50, 0), Ok(()));
        assert_eq!(budget.take(1, 10, 50, 0), Err(20));
        assert_eq!(budget.take(1, 10, 50, 19_000), Err(1));
        assert_eq!(budget.take(1, 10, 50, 20_000), Ok(()));
        assert_eq!(budget.take(9, 10, 50, 10_000_000), Ok(()));
        assert_eq!(budget.take(11, 10, 50, 10_000_000), Err(180));
        assert_eq!(budget.take(11, 10, 50, 20_000_000), Ok(()), "all of a full bucket");
        // A clock that is set back adds nothing to the bucket, and blocks the sender only briefly.
        assert_eq!(budget.take(1, 10, 50, 0), Err(20));
        assert_eq!(budget.take(1, 10, 50, 20_000), Ok(()));
    }

    #[test]
    fn a_bucket_takes_back_no_more_than_it_holds() {
        let mut budget = Budget::full(10, 0);
        assert_eq!(budget.take(10, 10, 50, 0), Ok(()));
        budget.give_back(4, 10);
        assert_eq!(budget.take(4, 10, 50, 0), Ok(()));
        budget.give_back(100, 10);
        assert_eq!(budget.take(10, 10, 50, 0), Ok(()));
        assert_eq!(budget.take(1, 10, 50, 0), Err(20));
    }
}
