//! Deletion of old rows by a policy (docs/spec/session.md, "Retention").
//!
//! A tombstone has a number and no time. Each call records the current number and the time, so that
//! a later call knows which numbers are older than an age.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use endseal_store::{AddressRef, ConversationRef, ParkedTotal, PrunePosition};

use super::EngineTransaction;
use super::conversation::Conversation;
use super::inbox::conversation_id;
use super::parking_reason::Reason;
use super::records;
use super::references::address_of;
use super::store_request::Write;
use crate::fields::Fields;
use crate::group::GroupDevice;
use crate::{EngineError, PairwiseAccount};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Largest number of recorded marks within the age of a policy.
const MAX_MARKS: u32 = 256;
const MARK_LEN: usize = 16;

/// Ages at which [`Engine::prune`](crate::Engine::prune) deletes rows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrunePolicy {
    /// Current time since 1970.
    pub now: Duration,
    /// Age of tombstones of consumed messages. It MUST exceed the time for which a message may be
    /// delivered again, such as the retention of the server or the age of files that are read
    /// again.
    pub tombstones: Duration,
    /// Time after the end of its lifetime (84 days) at which an unused key package is deleted, as
    /// is the record of a used one. It covers welcomes that are late or are delivered again.
    pub key_packages: Duration,
    /// Age of parked messages that may never open: those of unknown groups and identities, and
    /// those that are too far ahead.
    pub parked: Duration,
    /// If set, deletes sessions with identities that have no rows left: no tombstone, no message in
    /// inbox or outbox, and no parked message. Later messages on such a session fail with
    /// `no-session`.
    pub unknown_senders: bool,
    /// Largest number of rows of each kind that one call examines.
    pub rows: usize,
}

impl PrunePolicy {
    /// Returns the default policy: tombstones after 90 days, key packages 30 days after their
    /// lifetime, parked messages after 30 days, no sessions, 10,000 rows per call. `now` is the
    /// time since 1970.
    #[must_use]
    pub fn new(now: Duration) -> Self {
        let (tombstones, key_packages, parked) = (90 * DAY, 30 * DAY, 30 * DAY);
        Self { now, tombstones, key_packages, parked, unknown_senders: false, rows: 10_000 }
    }

    /// Sets the age of tombstones.
    #[must_use]
    pub fn tombstones(mut self, age: Duration) -> Self {
        self.tombstones = age;
        self
    }

    /// Sets the age of parked messages.
    #[must_use]
    pub fn parked(mut self, age: Duration) -> Self {
        self.parked = age;
        self
    }

    /// Enables or disables the deletion of sessions with identities that have no rows left.
    #[must_use]
    pub fn unknown_senders(mut self, unknown_senders: bool) -> Self {
        self.unknown_senders = unknown_senders;
        self
    }

    /// Sets the largest number of rows that one call examines; 0 counts as 1.
    #[must_use]
    pub fn rows(mut self, rows: usize) -> Self {
        self.rows = rows.max(1);
        self
    }
}

/// Numbers of rows that one call of [`Engine::prune`](crate::Engine::prune) has deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// Deleted tombstones.
    pub tombstones: u64,
    /// Deleted key packages, and records of used ones.
    pub key_packages: u64,
    /// Deleted parked messages.
    pub parked: u64,
    /// Deleted sessions with identities that had no rows left.
    pub sessions: u64,
    /// Deleted tags of dropped sessions.
    pub dropped_sessions: u64,
    /// Rows that cannot be decoded; they are not deleted.
    pub damaged: u64,
    /// True if more rows must be examined: call it again.
    pub more: bool,
}

/// Reads the end of a key package's lifetime from its record.
type Expiry<'a> = &'a dyn Fn(&[u8]) -> Option<Duration>;

/// Positions at which the next call continues. A round visits each table once.
#[derive(Clone, Default)]
pub(super) struct Walk {
    tombstones: Place<PrunePosition>,
    key_packages: Place<Vec<u8>>,
    used_key_packages: Place<Vec<u8>>,
    added_key_packages: Place<Vec<u8>>,
    addresses: Place<AddressRef>,
    dropped_sessions: Place<Vec<u8>>,
}

/// Position in a table.
#[derive(Clone, Default)]
enum Place<P> {
    #[default]
    Start,
    /// After this row.
    At(P),
    /// All rows were examined in this round.
    End,
}

impl<P> Place<P> {
    /// Returns the row after which to continue (`None` at the start), or `None` at the end. Sets
    /// the position to the end.
    fn take(&mut self) -> Option<Option<P>> {
        match core::mem::replace(self, Self::End) {
            Self::Start => Some(None),
            Self::At(row) => Some(Some(row)),
            Self::End => None,
        }
    }

    /// Sets the position after this row, or to the end.
    fn go_on(&mut self, behind: Option<P>) {
        *self = behind.map_or(Self::End, Self::At);
    }

    fn is_end(&self) -> bool {
        matches!(self, Self::End)
    }
}

/// Limit below which rows are older than the age of a policy.
struct Old {
    /// Inbox numbers below this one were assigned before `at`.
    below: u64,
    /// Time since 1970.
    at: Duration,
}

impl<A: PairwiseAccount> EngineTransaction<'_, '_, A> {
    pub(super) fn prune(
        &mut self,
        policy: &PrunePolicy,
        walk: &mut Walk,
    ) -> Result<Pruned, EngineError> {
        let pruned = self.prune_all(policy, walk);
        self.fail_if(pruned.is_err());
        pruned
    }

    fn prune_all(&mut self, policy: &PrunePolicy, walk: &mut Walk) -> Result<Pruned, EngineError> {
        let store = self.store();
        let mut pruned = Pruned::default();
        let old = self.mark(policy, &mut pruned)?;
        if let (Some(from), Some(old)) = (walk.tombstones.take(), &old) {
            let seen = store.prune_seen(old.below, from, policy.rows)?;
            pruned.tombstones = seen.removed;
            walk.tombstones.go_on(seen.next);
        }
        if let (Some(from), Some(old)) = (walk.dropped_sessions.take(), &old) {
            self.prune_dropped(from, old, policy, walk, &mut pruned)?;
        }

        let unused = |data: &[u8]| GroupDevice::key_package_expiry(data).ok();
        let added = |data: &[u8]| {
            let seconds = data.try_into().ok().map(u64::from_le_bytes);
            seconds.map(Duration::from_secs)
        };
        let used = |data: &[u8]| records::UsedKeyPackage::from_bytes(data).map(|it| it.expiry);
        for (kind, position, expiry) in [
            (records::KEY_PACKAGE, &mut walk.key_packages, &unused as Expiry<'_>),
            (records::USED_KEY_PACKAGE, &mut walk.used_key_packages, &used as Expiry<'_>),
            (records::ADDED_KEY_PACKAGE, &mut walk.added_key_packages, &added as Expiry<'_>),
        ] {
            let Some(from) = position.take() else { continue };
            let packages = store.records_after(kind, &from.unwrap_or_default(), policy.rows)?;
            if packages.len() == policy.rows {
                position.go_on(packages.last().map(|(name, _)| name.clone()));
            }
            for (name, data) in packages {
                let Some(expiry) = expiry(&data) else {
                    pruned.damaged += 1;
                    continue;
                };
                if expiry.saturating_add(policy.key_packages) < policy.now {
                    pruned.key_packages += u64::from(store.remove_record(kind, &name)?);
                }
            }
        }

        let (parked, more) = self.prune_parked(policy)?;
        pruned.parked = parked;

        if let (Some(from), true) = (walk.addresses.take(), policy.unknown_senders) {
            let addresses = store.addresses_after(from, policy.rows)?;
            if addresses.len() == policy.rows {
                walk.addresses.go_on(addresses.last().map(|(reference, _)| *reference));
            }
            for (reference, row) in addresses {
                let name = Conversation::person(&row.identity);
                let traces = match store.find_conversation(name.name())? {
                    Some(conversation) => store.has_traces(conversation)?,
                    None => false,
                };
                if !traces && !store.sessions_of(reference)?.is_empty() {
                    let remote_device = match address_of(store, reference) {
                        Ok(address) => self.partner_if_readable(address)?,
                        Err(EngineError::Damaged(_)) => None,
                        Err(error) => return Err(error),
                    };
                    let Some(remote_device) = remote_device else {
                        pruned.damaged += 1;
                        continue;
                    };
                    pruned.sessions += remote_device.sessions.len() as u64;
                    remote_device.drop_sessions();
                }
            }
        }
        let through = walk.tombstones.is_end()
            && walk.key_packages.is_end()
            && walk.used_key_packages.is_end()
            && walk.added_key_packages.is_end()
            && walk.addresses.is_end()
            && walk.dropped_sessions.is_end();
        if through {
            *walk = Walk::default();
        }
        pruned.more = more || !through;
        Ok(pruned)
    }

    /// Deletes old parked messages that may never open. Returns their number, and true if there are
    /// more. A parked message has no time, so each call records the last message and the time.
    fn prune_parked(&mut self, policy: &PrunePolicy) -> Result<(u64, bool), EngineError> {
        let store = self.store();
        let mut last: BTreeMap<ConversationRef, ParkedTotal> = BTreeMap::new();
        for total in store.parked_totals()? {
            let before = last.get(&total.conversation);
            let is_last = before.is_none_or(|it| it.last_place < total.last_place);
            if Reason::from_number(total.reason).ages() && is_last {
                last.insert(total.conversation, total);
            }
        }
        let mut noted: BTreeMap<Vec<u8>, _> = store.records(records::PARKED)?.into_iter().collect();
        let (mut deleted, mut conversations) = (0, 0);
        for total in last.into_values() {
            let name = store.conversation_name(total.conversation)?;
            let note = noted.remove(&name);
            let note = note.as_ref().and_then(|it| it.split_first_chunk());
            let note = note.map(|(time, id)| (u64::from_le_bytes(*time), id));
            let is_old = note.is_some_and(|(time, _)| {
                Duration::from_millis(time).saturating_add(policy.parked) <= policy.now
            });
            if is_old && conversations == policy.rows {
                return Ok((deleted, true));
            }
            if let Some((_, id)) = note.filter(|_| is_old) {
                conversations += 1;
                deleted += self.expire_parked(&name, id)?;
            }
            let now = u64::try_from(policy.now.as_millis()).unwrap_or(u64::MAX);
            match note {
                // The record is from a clock that was ahead; it is set to the current time.
                Some((time, id)) if !is_old && time > now => self.note_parked(&name, now, id)?,
                Some(_) if !is_old => {}
                _ if note.is_some_and(|(_, id)| id == total.last) => {
                    store.remove_record(records::PARKED, &name)?;
                }
                _ => self.note_parked(&name, now, &total.last)?,
            }
        }
        for name in noted.into_keys() {
            store.remove_record(records::PARKED, &name)?;
        }
        Ok((deleted, false))
    }

    fn note_parked(&self, name: &[u8], time: u64, id: &[u8]) -> Result<(), EngineError> {
        let note = [&time.to_le_bytes(), id].concat();
        Ok(self.store().put_record(records::PARKED, name, &note)?)
    }

    /// Deletes the parked messages of a conversation up to id `last` that may never open.
    fn expire_parked(&mut self, name: &[u8], last: &[u8]) -> Result<u64, EngineError> {
        let Some(conversation) = conversation_id(name).ok().and_then(|id| id.conversation()) else {
            return Ok(0);
        };
        let expired = self.take_expired(&conversation, last)?;
        let count = expired.len() as u64;
        let writes = expired.into_iter().map(|id| {
            let conversation = conversation.clone();
            Write::Unpark { conversation, id: id.into() }
        });
        self.write(writes.collect())?;
        Ok(count)
    }

    /// Deletes the tags of sessions that were dropped long ago. A fallback key from that time would
    /// accept their first messages again, so tags are kept until it is deleted.
    fn prune_dropped(
        &mut self,
        from: Option<Vec<u8>>,
        old: &Old,
        policy: &PrunePolicy,
        walk: &mut Walk,
        pruned: &mut Pruned,
    ) -> Result<(), EngineError> {
        let since = self.fallback_since();
        if since.is_some_and(|since| Duration::from_millis(since) <= old.at) {
            return Ok(());
        }
        let after = from.unwrap_or_default();
        let rows = self.store().records_after(records::FORGOTTEN, &after, policy.rows)?;
        if rows.len() == policy.rows {
            walk.dropped_sessions.go_on(rows.last().map(|(name, _)| name.clone()));
        }
        for (name, value) in rows {
            let (dropped, _) = records::forgotten(&value);
            let Some(address) = records::address_in(&name) else { continue };
            if dropped.iter().any(|it| it.number.is_some_and(|number| number < old.below))
                && let Some(remote_device) = self.partner_if_readable(address)?
            {
                pruned.dropped_sessions += remote_device.prune_forgotten(old.below) as u64;
            }
        }
        Ok(())
    }

    /// Records the last number and the time. Returns the limit of old rows, if there are any.
    fn mark(&self, policy: &PrunePolicy, pruned: &mut Pruned) -> Result<Option<Old>, EngineError> {
        let store = self.store();
        let bytes = store.record(records::MARKS, &[])?.unwrap_or_default();
        // Without marks no row is old, and new marks are made.
        let mut marks = marks_in(&bytes).unwrap_or_else(|| {
            pruned.damaged += 1;
            Vec::new()
        });
        // Marks of a clock that was ahead are set to the current time; their rows are at least that
        // old.
        marks.iter_mut().for_each(|(time, _)| *time = policy.now.min(*time));
        marks.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                earlier.1 = later.1;
            }
            is_same
        });
        let old = |time: &Duration| time.saturating_add(policy.tombstones) <= policy.now;
        // The last of the old marks gives the number; the marks before it are not needed.
        let first = marks.iter().rposition(|(time, _)| old(time));
        marks.drain(..first.unwrap_or(0));
        let oldest = marks.first().filter(|_| first.is_some());
        let old = oldest.map(|(at, last)| Old { below: last + 1, at: *at });
        let spacing = policy.tombstones / MAX_MARKS;
        if marks.last().is_none_or(|(time, _)| time.saturating_add(spacing) < policy.now) {
            marks.push((policy.now, store.last_number()?));
        }
        let mut bytes = Vec::with_capacity(marks.len() * MARK_LEN);
        for (time, number) in marks {
            let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            bytes.extend_from_slice(&time.to_le_bytes());
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        store.put_record(records::MARKS, &[], &bytes)?;
        Ok(old)
    }
}

/// Decodes the marks as times and numbers; `None` if the record is damaged.
fn marks_in(bytes: &[u8]) -> Option<Vec<(Duration, u64)>> {
    let mut marks = Vec::with_capacity(bytes.len() / MARK_LEN + 1);
    let mut fields = Fields::new(bytes);
    while !fields.rest().is_empty() {
        let time = Duration::from_millis(u64::from_le_bytes(*fields.array()?));
        marks.push((time, u64::from_le_bytes(*fields.array()?)));
    }
    Some(marks)
}
