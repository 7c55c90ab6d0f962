//! Incoming handshakes in progress, limited in total and per source network.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

/// A network that one customer usually holds: a /24 of IPv4, a /56 of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    V4([u8; 3]),
    V6([u8; 7]),
}

impl Source {
    fn of(address: SocketAddr) -> Self {
        // A dual-stack socket names IPv4 peers by mapped addresses.
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

/// Limits of [`HalfOpen`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Handshakes at once.
    pub(crate) total: usize,
    /// Handshakes at once from one source network.
    pub(crate) per_source: usize,
    /// Handshakes at once above which a client must prove its address.
    pub(crate) retry_above: usize,
}

/// Table of the incoming handshakes in progress.
#[derive(Debug)]
pub(crate) struct HalfOpen {
    bounds: Bounds,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    /// By age: the first is the oldest.
    entries: BTreeMap<u64, Entry>,
    per_source: HashMap<Source, usize>,
}

#[derive(Debug)]
struct Entry {
    source: Source,
    /// `None` until the task is known, for a moment.
    task: Option<AbortHandle>,
}

/// Decision about an incoming handshake.
#[derive(Debug)]
pub(crate) enum Admission {
    /// It may begin; true if the oldest was given up for it.
    Admitted(HalfOpenSlot, bool),
    /// The client must prove its address first.
    Retry,
    /// Its source has as many as it may have.
    Ignored,
}

impl HalfOpen {
    pub(crate) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { bounds, table: Mutex::default() })
    }

    /// Handshakes in progress.
    pub(crate) fn len(&self) -> usize {
        self.table().entries.len()
    }

    /// Decides about a handshake from `address`.
    ///
    /// An address that is not `proved` may be false. Such handshakes take at most half of what a source
    /// may have, so that a flood under false addresses does not lock their owners out.
    pub(crate) fn admit(self: &Arc<Self>, address: SocketAddr, proved: bool) -> Admission {
        let source = Source::of(address);
        let Bounds { total, per_source, retry_above } = self.bounds;
        let mut table = self.table();
        let own = table.per_source.get(&source).copied().unwrap_or(0);
        let crowded = table.entries.len() >= retry_above || own >= per_source.div_ceil(2);
        if crowded && !proved {
            return Admission::Retry;
        }
        if own >= per_source {
            return Admission::Ignored;
        }
        let evicts = table.entries.len() >= total;
        if evicts {
            table.evict_oldest();
        }
        let number = table.next;
        table.next += 1;
        table.entries.insert(number, Entry { source, task: None });
        *table.per_source.entry(source).or_default() += 1;
        Admission::Admitted(HalfOpenSlot { owner: self.clone(), number }, evicts)
    }

    /// Names the task of a handshake, which is aborted if it has to make room. It may be done by now.
    pub(crate) fn attach(&self, number: u64, task: AbortHandle) {
        match self.table().entries.get_mut(&number) {
            Some(entry) => entry.task = Some(task),
            None => task.abort(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn evict_oldest(&mut self) {
        let oldest = self.entries.first_key_value().map(|(number, _)| *number);
        let evicted = oldest.and_then(|number| self.remove(number));
        if let Some(task) = evicted.and_then(|entry| entry.task) {
            task.abort();
        }
    }

    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.entries.remove(&number)?;
        if let Some(count) = self.per_source.get_mut(&entry.source) {
            *count -= 1;
            if *count == 0 {
                self.per_source.remove(&entry.source);
            }
        }
        Some(entry)
    }
}

/// A handshake's place in the table, given back on drop.
#[derive(Debug)]
pub(crate) struct HalfOpenSlot {
    owner: Arc<HalfOpen>,
    number: u64,
}

impl HalfOpenSlot {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for HalfOpenSlot {
    fn drop(&mut self) {
        self.owner.table().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(total: usize, per_source: usize, retry_above: usize) -> Arc<HalfOpen> {
        HalfOpen::new(Bounds { total, per_source, retry_above })
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
        let mut slots: Vec<_> = (0..2).map(|_| admitted(table.admit(one, false))).collect();
        assert!(matches!(table.admit(one, false), Admission::Retry));
        slots.extend((0..2).map(|_| admitted(table.admit(one, true))));
        assert!(matches!(table.admit(one, true), Admission::Ignored));
        assert!(!admitted(table.admit(other, false)).1);
        slots.pop();
        admitted(table.admit(one, true));
        drop(slots);
        assert_eq!(table.len(), 0);
        assert!(table.table().per_source.is_empty());
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
