//! Chains on which messages were opened, with their highest numbers. A message that was parked as
//! too far ahead can open only after its chain has advanced.

use alloc::collections::BTreeMap;

use endseal_keyring::device::DeviceId;

use crate::{Message, Ratchet, SessionTag};

/// Highest opened message number of each chain.
#[derive(Default)]
pub(in crate::engine) struct Reached(BTreeMap<Chain, u64>);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Chain {
    /// Number of the sending device.
    device: u32,
    session: SessionTag,
    ratchet_key: [u8; 32],
}

impl Chain {
    /// Returns the chain and the number that the head of a message states, unauthenticated.
    fn of<R: Ratchet>(device: u32, body: &[u8]) -> Option<(Self, u64)> {
        let message = Message::parse(body).ok()?;
        let place = R::place(message.ratchet_body()?)?;
        Some((Self { device, session: message.tag()?, ratchet_key: place.chain }, place.index))
    }
}

impl Reached {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records a message that was opened.
    pub(super) fn note<R: Ratchet>(&mut self, sender: DeviceId, body: &[u8]) {
        if let Some((chain, index)) = Chain::of::<R>(sender.number(), body) {
            let highest = self.0.entry(chain).or_insert(index);
            *highest = index.max(*highest);
        }
    }

    /// Returns true if a message is on one of the chains and within the gap that the ratchet skips.
    pub(super) fn covers<R: Ratchet>(&self, device: u32, body: &[u8]) -> bool {
        if self.is_empty() {
            return false;
        }
        let Some((chain, index)) = Chain::of::<R>(device, body) else { return false };
        let is_near = |highest: &u64| {
            let next = highest.saturating_add(1);
            index.saturating_sub(next) <= R::limits().gap
        };
        self.0.get(&chain).is_some_and(is_near)
    }
}
