//! Slots of incoming handshakes, limited in total and per source network.
//!
//! A handshake that succeeds frees its slot. One that fails keeps it until the time limit of a
//! handshake has passed since its start. It has cost a signature, and the next one from the same
//! source must not start sooner than if it had been left idle.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::Instant;

/// A network that one customer usually holds: an IPv4 /24 or an IPv6 /56.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    V4([u8; 3]),
    V6([u8; 7]),
}

impl Source {
    fn of(address: SocketAddr) -> Self {
        // A dual-stack socket reports IPv4 peers as mapped addresses.
        match address.ip().to_canonical() {
            IpAddr::V4(ip) => {
                let [a, b, c, _] = ip.octets();
                Self::V4([a, b, c])
            }
            IpAddr::V6(ip) => {
                let [a, b, c, d, e, f, g, ..] = ip.octets();
                Self::V6([a, b, c, d, e, f, g])
            }
        }
    }
}

/// Limits on the slots of [`HalfOpen`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Limit of simultaneous handshakes.
    pub(crate) total: usize,
    /// Limit of simultaneous handshakes from one source network.
    pub(crate) per_source: usize,
    /// Number of simultaneous handshakes above which a client must prove its address.
    pub(crate) retry_above: usize,
    /// Time since its start for which a failed handshake keeps its slot.
    pub(crate) held: Duration,
}

/// Table of the slots of all incoming handshakes.
#[derive(Debug)]
pub(crate) struct HalfOpen {
    bounds: Bounds,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// Handshakes in progress, by number; the first is the oldest.
    entries: BTreeMap<u64, Entry>,
    /// Failed handshakes that still hold a slot, by number; the first is freed next.
    failed: BTreeMap<u64, Entry>,
    /// Slots per source network, of handshakes in progress and failed ones.
    per_source: HashMap<Source, usize>,
}

#[derive(Debug)]
struct Entry {
    source: Source,
    began: Instant,
    /// `None` for the moment between admission and [`HalfOpen::attach`].
    task: Option<AbortHandle>,
}

/// Decision about an incoming handshake.
#[derive(Debug)]
pub(crate) enum Admission {
    /// The handshake may start. True if the oldest one in progress was aborted for it.
    Admitted(HalfOpenSlot, bool),
    /// The client must prove its address first.
    Retry,
    /// The source network has used up its share; the packet is not answered.
    Ignored,
}

impl HalfOpen {
    pub(crate) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { bounds, table: Mutex::default() })
    }

    /// Returns the number of slots in use.
    pub(crate) fn len(&self) -> usize {
        self.table().len()
    }

    /// Decides about a new handshake from `address`.
    ///
    /// An address that is not `proved` may be forged. Such handshakes may use at most half of a
    /// source's share, so that a flood with forged addresses does not lock out their real owners.
    pub(crate) fn admit(self: &Arc<Self>, address: SocketAddr, proved: bool) -> Admission {
        let source = Source::of(address);
        let Bounds { total, per_source, retry_above, .. } = self.bounds;
        let mut table = self.table();
        let own = table.per_source.get(&source).copied().unwrap_or(0);
        let crowded = table.len() >= retry_above || own >= per_source.div_ceil(2);
        if crowded && !proved {
            return Admission::Retry;
        }
        if own >= per_source {
            return Admission::Ignored;
        }
        let evicts = table.len() >= total && table.make_room();
        let number = table.next;
        table.next += 1;
        table.entries.insert(number, Entry { source, began: Instant::now(), task: None });
        *table.per_source.entry(source).or_default() += 1;
        Admission::Admitted(HalfOpenSlot { owner: self.clone(), number }, evicts)
    }

    /// Registers the task of a handshake, which is aborted when its slot is needed. If the slot is
    /// gone already, the task is aborted now.
    pub(crate) fn attach(&self, number: u64, task: AbortHandle) {
        match self.table().entries.get_mut(&number) {
            Some(entry) => entry.task = Some(task),
            None => task.abort(),
        }
    }

    /// Returns the table, after failed handshakes have been removed whose time has passed.
    fn table(&self) -> MutexGuard<'_, Table> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(oldest) = table.failed.first_entry()
            && oldest.get().began.elapsed() >= self.bounds.held
        {
            let Entry { source, .. } = oldest.remove();
            table.give_back(source);
        }
        table
    }
}

impl Table {
    fn len(&self) -> usize {
        self.entries.len() + self.failed.len()
    }

    /// Frees a slot: that of the oldest failed handshake or, if there is none, of the oldest one in
    /// progress, which is aborted. Returns true if one in progress was aborted.
    fn make_room(&mut self) -> bool {
        if let Some((_, failed)) = self.failed.pop_first() {
            self.give_back(failed.source);
            return false;
        }
        let Some((_, oldest)) = self.entries.pop_first() else { return false };
        self.give_back(oldest.source);
        if let Some(task) = oldest.task {
            task.abort();
        }
        true
    }

    fn give_back(&mut self, source: Source) {
        if let Some(count) = self.per_source.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.per_source.remove(&source);
            }
        }
    }
}

/// Slot of one handshake. Dropping it without [`Self::free`] marks the handshake as failed.
#[derive(Debug)]
pub(crate) struct HalfOpenSlot {
    owner: Arc<HalfOpen>,
    number: u64,
}

impl HalfOpenSlot {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Frees the slot at once, because the handshake has succeeded.
    pub(crate) fn free(self) {
        let mut table = self.owner.table();
        if let Some(entry) = table.entries.remove(&self.number) {
            table.give_back(entry.source);
        }
    }
}

impl Drop for HalfOpenSlot {
    fn drop(&mut self) {
        let mut table = self.owner.table();
        // The entry is gone if the slot was freed or was needed for another handshake.
        if let Some(entry) = table.entries.remove(&self.number) {
            table.failed.insert(self.number, entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: Duration = Duration::from_secs(3);

    fn table(total: usize, per_source: usize, retry_above: usize) -> Arc<HalfOpen> {
        HalfOpen::new(Bounds { total, per_source, retry_above, held: HELD })
    }

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn admitted(admission: Admission) -> (HalfOpenSlot, bool) {
        match admission {
            Admission::Admitted(slot, evicted) => (slot, evicted),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_source_is_a_network() {
        let of = |text| Source::of(address(text));
        assert_eq!(of("192.0.2.1:1"), of("192.0.2.255:9"));
        assert_eq!(of("192.0.2.1:1"), of("[::ffff:192.0.2.7]:1"));
        assert_ne!(of("192.0.2.1:1"), of("192.0.3.1:1"));
        assert_eq!(of("[2001:db8:1:200::1]:1"), of("[2001:db8:1:2ff:9::]:9"));
        assert_ne!(of("[2001:db8:1:200::1]:1"), of("[2001:db8:1:300::1]:1"));
    }

    #[test]
    fn a_source_gets_its_share_and_half_of_it_unproved() {
        let table = table(100, 4, 100);
        let (one, other) = (address("192.0.2.1:1"), address("192.0.3.1:1"));
        let mut slots: Vec<_> = (0..2).map(|_| admitted(table.admit(one, false)).0).collect();
        assert!(matches!(table.admit(one, false), Admission::Retry));
        slots.extend((0..2).map(|_| admitted(table.admit(one, true)).0));
        assert!(matches!(table.admit(one, true), Admission::Ignored));
        assert!(!admitted(table.admit(other, false)).1);
        slots.pop().unwrap().free();
        slots.push(admitted(table.admit(one, true)).0);
        slots.into_iter().for_each(HalfOpenSlot::free);
        assert_eq!(table.len(), 1);
    }

    /// The time counts from the start of the handshake. A client that returns afterwards is
    /// admitted.
    #[tokio::test(start_paused = true)]
    async fn a_handshake_that_fails_keeps_its_slot_for_its_time() {
        let table = table(100, 4, 100);
        let one = address("192.0.2.1:1");
        let slots: Vec<_> = (0..4).map(|_| admitted(table.admit(one, true)).0).collect();
        tokio::time::advance(HELD / 2).await;
        drop(slots);
        assert!(matches!(table.admit(one, true), Admission::Ignored));
        tokio::time::advance(HELD / 2).await;
        drop(admitted(table.admit(one, true)));
        assert_eq!(table.len(), 1);
        tokio::time::advance(HELD).await;
        assert_eq!(table.len(), 0);
        assert!(table.table().per_source.is_empty());
    }

    #[test]
    fn a_failed_handshake_makes_room_before_one_in_progress() {
        let table = table(2, 2, 100);
        let at = |n: u8| SocketAddr::from(([192, 0, n, 1], 1));
        let (oldest, _) = admitted(table.admit(at(0), true));
        drop(admitted(table.admit(at(1), true)));
        assert!(!admitted(table.admit(at(2), true)).1);
        oldest.free();
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn the_oldest_makes_room_and_its_slot_frees_nothing_twice() {
        let table = table(2, 2, 100);
        let at = |n: u8| SocketAddr::from(([192, 0, n, 1], 1));
        let (first, evicted) = admitted(table.admit(at(0), true));
        assert!(!evicted);
        let (_second, _) = admitted(table.admit(at(1), true));
        let (_third, evicted) = admitted(table.admit(at(2), true));
        assert!(evicted);
        assert_eq!(table.len(), 2);
        drop(first);
        assert_eq!(table.len(), 2);
    }
}
