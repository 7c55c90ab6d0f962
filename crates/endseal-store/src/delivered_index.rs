//! Tombstones of the messages that were delivered last (docs/spec/store.md, "Recent messages"): a
//! pack a transaction in the database, and all of them in memory while the store is open.
//!
//! Ids have no order. To put each into its place in `seen` at once changes a page a message as soon
//! as there are many; a pack is one or two pages, and to sort many in together changes each page
//! once.

pub(crate) mod pack;

use core::hash::{BuildHasher as _, BuildHasherDefault, Hasher};
use core::ops::Range;
use std::collections::{HashMap, hash_map};
use std::hash::RandomState;

use rusqlite::Connection;

use crate::error::{Finding, StoreError};
use crate::limits::MAX_NAME_LEN;
use crate::seen::Seen;
use crate::{limits, rows};
use pack::Mark;

/// Number of messages from which sorting in is worth its cost: with fewer, the second writing costs
/// more than it saves. In memory they take about 2 MB, and reading them takes 1.6 ms
/// (docs/design/store-tuning.md).
pub(crate) const MANY: usize = 16_384;

/// Number of messages for which memory is reserved at the start: those that are too few to be
/// sorted in, and one batch of a node.
const RESERVED: usize = MANY + 5_000;

/// Length of most ids in bytes.
const USUAL_ID_LEN: usize = 32;

/// Messages that were asked for and did not come, which are remembered.
const MAX_ASKED: usize = 4_096;

/// Conversations whose next message is guessed.
const MAX_NEXT: usize = 8;

/// Usual length of a message in a pack, in bytes.
const MARK_LEN: usize = 40;

/// Messages in the packs, and those that are in none yet. A caller that rolls a transaction back
/// drops it, if the transaction changed it.
pub(crate) struct DeliveredIndex {
    entries: Vec<Entry>,
    /// The ids, one after the other.
    ids: Vec<u8>,
    /// The last entry with a hash.
    places: HashMap<u64, usize, BuildHasherDefault<AsIs>>,
    /// The ids are hashed with a random key, because the delivery service chooses them.
    hasher: RandomState,
    /// Entries that are in no pack yet, by their numbers.
    due: Vec<usize>,
    /// Number of entries that were delivered.
    delivered: usize,
    /// By conversation, the entry that is probably delivered next: messages come in the order in
    /// which they were asked for.
    next: Vec<(i64, usize)>,
    /// Conversation → true if some of its messages were sorted in.
    sorted: HashMap<i64, bool>,
}

struct Entry {
    conversation: i64,
    /// Offset and length of the message id in `ids`.
    id: usize,
    len: usize,
    /// 0: it was asked for, and is not among those that were sorted in.
    seq: u64,
    digest: [u8; 16],
    /// Another entry with this hash.
    next: Option<usize>,
}

/// Answer of the index about a message.
pub(crate) enum Known {
    Delivered(Seen),
    /// The message was not delivered: it was asked for, or gets its number now.
    Fresh,
    /// Nothing: `seen` has to be asked.
    Nothing,
}

impl DeliveredIndex {
    /// Its memory is reserved at once: growing by doubling would fragment memory, and reserved
    /// pages that are not used cost nothing.
    fn new() -> Self {
        let ids = RESERVED * USUAL_ID_LEN;
        Self {
            entries: Vec::with_capacity(RESERVED),
            ids: Vec::with_capacity(ids),
            places: HashMap::with_capacity_and_hasher(RESERVED, BuildHasherDefault::default()),
            hasher: RandomState::new(),
            due: Vec::new(),
            delivered: 0,
            next: Vec::new(),
            sorted: HashMap::new(),
        }
    }

    /// Loads the index from all packs of the table.
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let mut recent = Self::new();
        each(connection, |mark, seq| {
            let hash = recent.hash(mark.conversation, mark.message);
            recent.push(hash, mark.conversation, mark.message, seq, mark.digest);
        })?;
        Ok(recent)
    }

    /// Returns the number of messages that were delivered.
    pub(crate) fn len(&self) -> usize {
        self.delivered
    }

    /// Returns true if so many messages were asked for and not delivered that the index should be
    /// dropped and loaded again.
    pub(crate) fn is_cluttered(&self) -> bool {
        self.entries.len() - self.delivered > MAX_ASKED
    }

    /// Reserves memory for this number of further messages of a conversation.
    pub(crate) fn expect(&mut self, conversation: i64, messages: usize) {
        self.entries.reserve(messages);
        self.places.reserve(messages);
        self.note_next(conversation, self.entries.len());
    }

    pub(crate) fn find(&self, conversation: i64, message: &[u8]) -> Known {
        let hash = self.hash(conversation, message);
        self.entry(hash, conversation, message)
            .and_then(|at| self.entries.get(at))
            .map_or(Known::Nothing, Entry::known)
    }

    /// [`Self::find`] of a message that is not in `seen`, which is noted.
    pub(crate) fn ask(&mut self, conversation: i64, message: &[u8]) -> Known {
        let hash = self.hash(conversation, message);
        match self.place(hash, conversation, message) {
            Ok(entry) => entry.known(),
            Err(next) => {
                self.add(conversation, message, 0, &[0; 16], next);
                Known::Fresh
            }
        }
    }

    /// Finds the entry of a message. If there is none, its hash is linked to the entry that is
    /// added next, and the error holds the entry that the hash was linked to before.
    fn place(
        &mut self,
        hash: u64,
        conversation: i64,
        message: &[u8],
    ) -> Result<&Entry, Option<usize>> {
        let new = self.entries.len();
        let mut place = match self.places.entry(hash) {
            hash_map::Entry::Vacant(place) => {
                place.insert(new);
                return Err(None);
            }
            hash_map::Entry::Occupied(place) => place,
        };
        match entry_from(&self.entries, &self.ids, *place.get(), conversation, message) {
            Some(at) => self.entries.get(at).ok_or(None),
            None => Err(Some(place.insert(new))),
        }
    }

    /// [`Self::find`] that gives a message its number if it was asked for and not delivered.
    pub(crate) fn deliver(
        &mut self,
        conversation: i64,
        message: &[u8],
        seq: u64,
        digest: &[u8; 16],
    ) -> Known {
        let Some(at) = self.asked(conversation, message) else { return Known::Nothing };
        let Some(entry) = self.entries.get_mut(at) else { return Known::Nothing };
        let known = entry.known();
        if matches!(known, Known::Fresh) {
            (entry.seq, entry.digest) = (seq, *digest);
            self.due.push(at);
            self.delivered += 1;
        }
        known
    }

    /// The entry of a message that is about to be delivered.
    fn asked(&mut self, conversation: i64, message: &[u8]) -> Option<usize> {
        let next = self.next.iter_mut().find(|(of, _)| *of == conversation);
        if let Some((_, next)) = next
            && let Some(entry) = self.entries.get(*next)
            && entry.is(&self.ids, conversation, message)
        {
            let at = *next;
            *next += 1;
            return Some(at);
        }
        let hash = self.hash(conversation, message);
        let at = self.entry(hash, conversation, message)?;
        self.note_next(conversation, at + 1);
        Some(at)
    }

    fn note_next(&mut self, conversation: i64, at: usize) {
        if let Some((_, next)) = self.next.iter_mut().find(|(of, _)| *of == conversation) {
            *next = at;
            return;
        }
        if self.next.len() == MAX_NEXT {
            self.next.clear();
        }
        self.next.push((conversation, at));
    }

    /// Returns true if `seen` has rows of a conversation; `None` if that is not known.
    pub(crate) fn is_sorted(&self, conversation: i64) -> Option<bool> {
        self.sorted.get(&conversation).copied()
    }

    pub(crate) fn note_sorted(&mut self, conversation: i64, is_sorted: bool) {
        if self.sorted.len() >= MAX_ASKED {
            self.sorted.clear();
        }
        self.sorted.insert(conversation, is_sorted);
    }

    /// Writes the messages that are in no pack yet.
    pub(crate) fn write(&mut self, connection: &Connection) -> Result<(), StoreError> {
        for due in self.due.chunks(pack::MAX_LEN) {
            let entries = || due.iter().filter_map(|at| self.entries.get(*at));
            let Some(first) = entries().next() else { continue };
            let mut pack = Vec::with_capacity(due.len() * MARK_LEN);
            for entry in entries() {
                pack::push(
                    &mut pack,
                    Mark {
                        conversation: entry.conversation,
                        message: self.id(entry),
                        digest: &entry.digest,
                    },
                );
            }
            let mut insert = connection.prepare_cached("INSERT INTO recent VALUES (?1, ?2)")?;
            insert.execute((limits::number(first.seq)?, pack))?;
        }
        self.due.clear();
        Ok(())
    }

    /// Adds a message that is not there.
    fn push(&mut self, hash: u64, conversation: i64, message: &[u8], seq: u64, digest: &[u8; 16]) {
        let next = self.places.insert(hash, self.entries.len());
        self.add(conversation, message, seq, digest, next);
    }

    /// Adds an entry to which its hash leads already.
    fn add(
        &mut self,
        conversation: i64,
        message: &[u8],
        seq: u64,
        digest: &[u8; 16],
        next: Option<usize>,
    ) {
        let (id, len) = (self.ids.len(), message.len());
        self.ids.extend_from_slice(message);
        self.entries.push(Entry { conversation, id, len, seq, digest: *digest, next });
        self.delivered += usize::from(seq > 0);
    }

    fn entry(&self, hash: u64, conversation: i64, message: &[u8]) -> Option<usize> {
        let at = *self.places.get(&hash)?;
        entry_from(&self.entries, &self.ids, at, conversation, message)
    }

    fn id(&self, entry: &Entry) -> &[u8] {
        entry.id(&self.ids)
    }

    fn hash(&self, conversation: i64, message: &[u8]) -> u64 {
        // In one piece: each further one costs as much as some bytes.
        let mut bytes = [0; 8 + MAX_NAME_LEN];
        let (number, id) = bytes.split_at_mut(8);
        number.copy_from_slice(&conversation.to_le_bytes());
        // A longer id is none that is here, and may have the hash of another one.
        let len = message.len().min(MAX_NAME_LEN);
        for (to, from) in id.iter_mut().zip(message) {
            *to = *from;
        }
        let mut hasher = self.hasher.build_hasher();
        hasher.write(bytes.get(..8 + len).unwrap_or_default());
        hasher.finish()
    }
}

impl Entry {
    fn id<'i>(&self, ids: &'i [u8]) -> &'i [u8] {
        ids.get(self.id..self.id + self.len).unwrap_or_default()
    }

    fn is(&self, ids: &[u8], conversation: i64, message: &[u8]) -> bool {
        self.conversation == conversation && self.id(ids) == message
    }

    fn known(&self) -> Known {
        match self.seq {
            0 => Known::Fresh,
            seq => Known::Delivered(Seen { seq, digest: self.digest }),
        }
    }
}

/// The entry of a message among those that share a hash, of which one is at `at`.
fn entry_from(
    entries: &[Entry],
    ids: &[u8],
    mut at: usize,
    conversation: i64,
    message: &[u8],
) -> Option<usize> {
    loop {
        let entry = entries.get(at)?;
        if entry.is(ids, conversation, message) {
            return Some(at);
        }
        at = entry.next?;
    }
}

/// All that is in the packs, in the order of delivery, with the numbers.
pub(crate) fn each(
    connection: &Connection,
    mut take: impl FnMut(Mark<'_>, u64),
) -> Result<(), StoreError> {
    let mut select = connection.prepare_cached("SELECT first, pack FROM recent ORDER BY first")?;
    let mut found = select.query([])?;
    while let Some(row) = found.next()? {
        let (first, mut rest) = (rows::number::<u64>(row, 0)?, rows::blob(row, 1)?);
        if first == 0 || rest.is_empty() {
            return Err(malformed());
        }
        for seq in first.. {
            let mark = pack::next(&mut rest).ok_or_else(malformed)?;
            limits::number(seq).map_err(|_| malformed())?;
            take(mark, seq);
            if rest.is_empty() {
                break;
            }
            if seq - first + 1 == pack::MAX_LEN as u64 {
                return Err(malformed());
            }
        }
    }
    Ok(())
}

/// Moves what is in the packs into `seen`, within a transaction.
pub(crate) fn sort_in(connection: &Connection) -> Result<(), StoreError> {
    // Two pieces of memory instead of one for each message, between which others would settle.
    let mut ids = Vec::with_capacity(RESERVED * USUAL_ID_LEN);
    let mut marks = Vec::with_capacity(RESERVED);
    each(connection, |mark, seq| {
        let from = ids.len();
        ids.extend_from_slice(mark.message);
        marks.push((mark.conversation, from..ids.len(), seq, *mark.digest));
    })?;
    let id = |range: &Range<usize>| ids.get(range.clone()).unwrap_or_default();
    // In the order of the table, so that each of its pages is changed once.
    marks.sort_unstable_by(|a, b| (a.0, id(&a.1)).cmp(&(b.0, id(&b.1))));
    let mut insert = connection.prepare_cached("INSERT INTO seen VALUES (?1, ?2, ?3, ?4)")?;
    for (conversation, message, seq, digest) in &marks {
        let inserted = insert.execute((conversation, id(message), limits::number(*seq)?, digest));
        inserted.map_err(|error| match StoreError::from(error) {
            StoreError::Duplicate => malformed(),
            error => error,
        })?;
    }
    connection.prepare_cached("DELETE FROM recent")?.execute([])?;
    Ok(())
}

fn malformed() -> StoreError {
    StoreError::Damaged(Finding::Rows { rule: MALFORMED, count: 1 })
}

const MALFORMED: &str = "a malformed pack of delivered messages";

/// Takes a hash for its own.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    /// Not used, and right all the same.
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}
