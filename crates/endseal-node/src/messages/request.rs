//! Requests: texts of unknown senders, which wait until the user accepts them (docs/spec/node.md,
//! "Requests").

use alloc::collections::BTreeMap;
use std::collections::{HashMap, HashSet};

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::hash;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, DeviceId};
use endseal_session::{Engine, EngineError, Outcome};

use super::conversation::Conversation;
use super::known_persons::KnownPersons;
use super::records::{self, REQUEST, Transaction};
use super::rule_change::change;

/// Limit on the bytes of all requests.
const MAX_BYTES: usize = 4 << 20;
/// Limit on the persons whose requests wait.
const MAX_PERSONS: usize = 256;
/// Limits on the texts and the bytes of a person's request.
const MAX_OF_PERSON: (usize, usize) = (100, (1 << 20) + (1 << 16));
/// Bytes that a text counts beyond its plaintext: its record and its place in the store.
const ROW_BYTES: usize = 128;
/// Records that are read at once.
const PAGE: usize = 64;
/// Start of the ids under which texts of accepted requests are delivered to the inbox.
const ID_LABEL: &[u8] = b"request";

/// A text of an unknown sender.
#[allow(missing_debug_implementations, reason = "it is secret")]
#[non_exhaustive]
pub struct RequestText {
    /// Number of the text. Later texts have higher numbers.
    pub number: u64,
    /// Device that wrote it, authenticated by its session.
    pub writer: Address,
    /// Encoded message.
    pub plaintext: Zeroizing<Vec<u8>>,
}

impl RequestText {
    fn name(&self) -> Vec<u8> {
        [&self.writer.identity.as_bytes()[..], &self.number.to_be_bytes()].concat()
    }

    fn put(&self, transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        let mut value = Zeroizing::new(Vec::with_capacity(4 + self.plaintext.len()));
        value.extend_from_slice(&self.writer.device.number().to_le_bytes());
        value.extend_from_slice(&self.plaintext);
        transaction.put_record(REQUEST, &self.name(), &value)
    }

    fn read(name: &[u8], value: &[u8]) -> Result<Self, EngineError> {
        let read = || {
            let (identity, number) = name.split_first_chunk()?;
            let (device, plaintext) = value.split_first_chunk::<4>()?;
            let identity = PublicKey::from_bytes(identity).ok()?;
            let device = DeviceId::new(u32::from_le_bytes(*device))?;
            let writer = Address { identity, device };
            let plaintext = Zeroizing::new(plaintext.to_vec());
            Some(Self { number: records::number_in_name(number)?, writer, plaintext })
        };
        read().ok_or(EngineError::Damaged("request"))
    }

    fn len(&self) -> usize {
        ROW_BYTES + self.plaintext.len()
    }
}

/// Calls `work` with the texts of all requests, or of one person, in the order of persons and
/// numbers.
fn each(
    transaction: &Transaction<'_, '_>,
    person: Option<&PublicKey>,
    work: &mut dyn FnMut(RequestText) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let prefix = person.map_or(&[][..], |person| person.as_bytes());
    let mut after = prefix.to_vec();
    loop {
        let page = transaction.records_after(REQUEST, &after, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after.clone_from(last);
        for (name, value) in &page {
            if !name.starts_with(prefix) {
                return Ok(());
            }
            work(RequestText::read(name, value)?)?;
        }
    }
}

/// The request of one person, without its texts.
#[derive(Default)]
struct Share {
    /// Number of the first text: persons with higher ones are newer.
    first: u64,
    bytes: usize,
    digests: HashSet<[u8; 32]>,
}

/// Result of a text of an unknown sender.
pub(super) enum Held {
    /// It waits in a request. These numbers of texts of newer requests were dropped for it.
    Waits(Vec<(PublicKey, u64)>),
    /// It waits already: its writer sent it again.
    Repeated,
    /// There is no room.
    Dropped,
}

/// All requests that wait, with their sizes. Read at most once in a transaction.
pub(super) struct Requests {
    shares: BTreeMap<[u8; 32], (PublicKey, Share)>,
    bytes: usize,
}

impl Requests {
    pub(super) fn load(transaction: &Transaction<'_, '_>) -> Result<Self, EngineError> {
        let mut all = Self { shares: BTreeMap::new(), bytes: 0 };
        each(transaction, None, &mut |text| {
            all.count(&text);
            Ok(())
        })?;
        Ok(all)
    }

    fn count(&mut self, text: &RequestText) {
        let person = text.writer.identity;
        let (_, share) = self
            .shares
            .entry(*person.as_bytes())
            .or_insert_with(|| (person, Share { first: text.number, ..Share::default() }));
        share.bytes += text.len();
        share.digests.insert(hash::digest(&text.plaintext));
        self.bytes += text.len();
    }

    /// Adds a text, if there is room. If all requests together are too large, the newest person
    /// loses: the request of that person is dropped.
    pub(super) fn hold(
        &mut self,
        transaction: &Transaction<'_, '_>,
        writer: Address,
        plaintext: &[u8],
    ) -> Result<Held, EngineError> {
        let person = writer.identity;
        let plaintext = Zeroizing::new(plaintext.to_vec());
        let text = RequestText { number: records::next_number(transaction)?, writer, plaintext };
        let mut dropped = Vec::new();
        if let Some((_, share)) = self.shares.get(person.as_bytes()) {
            if share.digests.contains(&hash::digest(&text.plaintext)) {
                return Ok(Held::Repeated);
            }
            if share.digests.len() >= MAX_OF_PERSON.0 || share.bytes + text.len() > MAX_OF_PERSON.1
            {
                return Ok(Held::Dropped);
            }
        } else if self.shares.len() >= MAX_PERSONS || text.len() > MAX_OF_PERSON.1 {
            return Ok(Held::Dropped);
        }
        while self.bytes + text.len() > MAX_BYTES {
            let newest = self.shares.values().max_by_key(|(_, share)| share.first);
            let newest = newest.map(|(newest, _)| *newest);
            let is_newest = !self.shares.contains_key(person.as_bytes()) || newest == Some(person);
            let Some(newest) = newest.filter(|_| !is_newest) else {
                return Ok(Held::Dropped);
            };
            let texts = forget(transaction, &newest)?;
            if let Some((_, share)) = self.shares.remove(newest.as_bytes()) {
                self.bytes -= share.bytes;
            }
            dropped.push((newest, texts));
        }
        text.put(transaction)?;
        self.count(&text);
        Ok(Held::Waits(dropped))
    }
}

/// Counts the texts of requests by their writers.
pub(super) fn count_by_person(
    transaction: &Transaction<'_, '_>,
) -> Result<HashMap<PublicKey, u64>, EngineError> {
    let mut counts = HashMap::new();
    each(transaction, None, &mut |text| {
        *counts.entry(text.writer.identity).or_default() += 1;
        Ok(())
    })?;
    Ok(counts)
}

/// Deletes the request of a person. Returns the number of its texts.
pub(super) fn forget(
    transaction: &Transaction<'_, '_>,
    person: &PublicKey,
) -> Result<u64, EngineError> {
    let mut names = Vec::new();
    each(transaction, Some(person), &mut |text| {
        names.push(text.name());
        Ok(())
    })?;
    for name in &names {
        transaction.remove_record(REQUEST, name)?;
    }
    Ok(names.len() as u64)
}

/// Moves requests of persons who are known now to the inbox, where they get later numbers than all
/// messages that are there. `own` is this identity. Returns the persons. The caller MUST call
/// [`unconfirmed::note`](super::unconfirmed::note) before others arrive.
pub(super) fn release_known(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    known: &KnownPersons<'_>,
) -> Result<Vec<PublicKey>, EngineError> {
    let mut released = Vec::new();
    if transaction.records_after(REQUEST, &[], 1)?.is_empty() {
        return Ok(released);
    }
    for person in count_by_person(transaction)?.into_keys() {
        if known.has(transaction, &person)? {
            change(transaction, own, &person, |rule| rule.accepted.infer())?;
            release(transaction, &person)?;
            released.push(person);
        }
    }
    Ok(released)
}

fn release(transaction: &mut Transaction<'_, '_>, person: &PublicKey) -> Result<(), EngineError> {
    let mut texts = Vec::new();
    each(transaction, Some(person), &mut |text| {
        texts.push(text);
        Ok(())
    })?;
    let conversation = Conversation::Person(*person).id();
    for text in texts {
        let name = text.name();
        let RequestText { number, writer, plaintext } = text;
        let id = [ID_LABEL, &number.to_be_bytes()].concat();
        match transaction.deliver(&conversation, &id, writer, plaintext)? {
            Outcome::Delivered(_) | Outcome::AlreadyDelivered(_) => {
                transaction.remove_record(REQUEST, &name)?;
            }
            _ => return Err(EngineError::Damaged("request")),
        }
    }
    Ok(())
}

/// Returns the texts of all requests, the oldest first: at most 4 MiB.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn requests(engine: &mut Engine) -> Result<Vec<RequestText>, EngineError> {
    let mut found = Vec::new();
    engine.transaction(|transaction| {
        each(transaction, None, &mut |text| {
            found.push(text);
            Ok(())
        })
    })?;
    found.sort_unstable_by_key(|text| text.number);
    Ok(found)
}
