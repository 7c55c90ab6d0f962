//! Texts that arrived and that no receipt confirms yet.
//!
//! A scan of the new messages in the inbox records the texts and removes the receipts. It is part
//! of each transaction in which messages arrive or are read. If a process is killed before its
//! scan, the next one scans the messages that it left.

use alloc::collections::BTreeMap;
use std::collections::{HashMap, HashSet};

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::hash;
use endseal_keyring::device::{Address, Certificate};
use endseal_session::{ConversationId, Engine, EngineError, ReceivedKind, SendError};

use super::blocked_person::{self, BlockedPerson};
use super::confirmation;
use super::conversation::Conversation;
use super::directory::{self, Found};
use super::error::SyncError;
use super::hub::HubClient;
use super::known_persons::KnownPersons;
use super::letter_keys::LetterKeys;
use super::payload::ADDRESS_LEN;
use super::receipt::{MAX_RUNS, TextReceipt};
use super::records::{self, ARRIVED, DUE, NOTED, RECEIPT, Transaction};
use super::request::{Held, Requests};
use super::runs::Runs;
use super::shared_engine::SharedEngine;
use super::text::Text;
use super::text_id::{SERIES_LEN, TextId, series_name};
use crate::frame_target::Target;

/// Messages of the inbox that are read at once.
const PAGE: usize = 32;
/// Limit on the receipts of a sync: a quarter of the frames that a hub accepts at once. The others
/// leave with the next sync.
const MAX_RECEIPTS: usize = 256;
/// Texts of a series whose digests are remembered: as many as a hub's window has frames.
const MAX_DIGESTS: usize = 1_024;
/// Length of a digest in bytes.
const DIGEST_LEN: usize = 8;
/// Series of a person that are remembered: one for each device, and for each time that it got new
/// keys.
const MAX_SERIES: usize = 64;

/// Texts of a series that arrived.
#[derive(Default)]
struct Arrived {
    /// When the last one was noted, in milliseconds since 1970.
    time: u64,
    runs: Runs,
    /// Digests of the latest texts, by their numbers.
    digests: BTreeMap<u64, [u8; DIGEST_LEN]>,
}

impl Arrived {
    fn of(
        transaction: &Transaction<'_, '_>,
        writer: &PublicKey,
        series: &[u8; SERIES_LEN],
    ) -> Result<Option<Self>, EngineError> {
        let value = transaction.record(ARRIVED, &series_name(writer, series))?;
        value.map(|value| Self::read(&value).ok_or(EngineError::Damaged("arrived"))).transpose()
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (time, rest) = value.split_first_chunk::<8>()?;
        let (len, rest) = rest.split_first_chunk::<2>()?;
        let (runs, digests) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        let (digests, []) = digests.as_chunks::<{ 8 + DIGEST_LEN }>() else { return None };
        let digest = |it: &[u8; 8 + DIGEST_LEN]| {
            let (number, digest) = it.split_first_chunk::<8>()?;
            Some((u64::from_le_bytes(*number), digest.try_into().ok()?))
        };
        Some(Self {
            time: u64::from_le_bytes(*time),
            runs: Runs::read(runs)?,
            digests: digests.iter().map(digest).collect::<Option<_>>()?,
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let runs = self.runs.to_bytes();
        let len = u16::try_from(runs.len()).unwrap_or_default().to_le_bytes();
        let mut value = [&self.time.to_le_bytes()[..], &len, &runs].concat();
        for (number, digest) in &self.digests {
            value.extend_from_slice(&number.to_le_bytes());
            value.extend_from_slice(digest);
        }
        value
    }

    /// Adds a text. Returns false if it has arrived before. Another text under the number of one
    /// that has arrived is new: its writer's state went back in time.
    fn add(&mut self, number: u64, plaintext: &[u8]) -> bool {
        let mut digest = [0; DIGEST_LEN];
        digest.copy_from_slice(&hash::digest(plaintext)[..DIGEST_LEN]);
        let before = self.digests.insert(number, digest);
        if self.digests.len() > MAX_DIGESTS {
            self.digests.pop_first();
        }
        let is_repeated =
            self.runs.contains(number) && before.is_none_or(|before| before == digest);
        self.runs.add(number, number, MAX_RUNS);
        !is_repeated
    }

    fn put(
        &self,
        transaction: &Transaction<'_, '_>,
        writer: &PublicKey,
        series: &[u8; SERIES_LEN],
    ) -> Result<(), EngineError> {
        transaction.put_record(ARRIVED, &series_name(writer, series), &self.to_bytes())
    }

    /// Forgets the series of a person in which nothing arrived for longest, of more than
    /// [`MAX_SERIES`].
    fn forget_old(
        transaction: &Transaction<'_, '_>,
        writer: &PublicKey,
    ) -> Result<(), EngineError> {
        let prefix = writer.as_bytes();
        let page = transaction.records_after(ARRIVED, prefix, MAX_SERIES + 1)?;
        let own = page.iter().take_while(|(name, _)| name.starts_with(prefix));
        let series = own.map(|(name, value)| Some((Self::read(value)?.time, name)));
        let series: Option<Vec<_>> = series.collect();
        let series = series.ok_or(EngineError::Damaged("arrived"))?;
        if series.len() > MAX_SERIES
            && let Some((_, oldest)) = series.into_iter().min()
        {
            transaction.remove_record(ARRIVED, oldest)?;
        }
        Ok(())
    }
}

/// Name of a receipt that is due: device (36) || series (8).
type DueName = [u8; ADDRESS_LEN + SERIES_LEN];

fn due_name(device: &Address, series: &[u8; SERIES_LEN]) -> DueName {
    let mut name = [0; ADDRESS_LEN + SERIES_LEN];
    let (address, rest) = name.split_at_mut(ADDRESS_LEN);
    address.copy_from_slice(&records::device_name(device));
    rest.copy_from_slice(series);
    name
}

/// Device that gets a receipt, and the series that it confirms.
type OfSeries = (Address, [u8; SERIES_LEN]);

fn read_due(name: &[u8]) -> Option<OfSeries> {
    let (device, series) = name.split_last_chunk()?;
    Some((records::device_in_name(device)?, *series))
}

/// Messages that [`note`] took out of the inbox.
#[derive(Default)]
pub(super) struct Noted {
    /// Number of receipts, and of texts that had arrived before.
    pub(super) receipts: u64,
    /// Number of texts of blocked persons and unknown senders.
    pub(super) others: u64,
    /// Texts of blocked persons, which were dropped.
    pub(super) blocked: TextsOf,
    /// Texts of unknown senders, which wait in requests.
    pub(super) requests: TextsOf,
    /// Texts of unknown senders for which there was no room.
    pub(super) no_room: TextsOf,
}

/// Numbers of texts by their writers.
pub(super) type TextsOf = HashMap<PublicKey, u64>;

/// Treatment of the texts of a person.
#[derive(Clone, Copy)]
enum Treatment {
    Shown,
    Requested,
    Dropped,
}

impl Treatment {
    fn of(
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
        known: &KnownPersons<'_>,
    ) -> Result<Self, EngineError> {
        if BlockedPerson::of(transaction, person)?.is_some() {
            return Ok(Self::Dropped);
        }
        Ok(if known.has(transaction, person)? { Self::Shown } else { Self::Requested })
    }
}

/// Returns the number in the inbox up to which messages were noted.
pub(super) fn noted(transaction: &Transaction<'_, '_>) -> Result<u64, EngineError> {
    records::counter(transaction, NOTED)
}

/// Processes the messages that arrived in the inbox since the last call. Records the texts of known
/// persons as arrived. Takes out receipts, repeated texts, texts of blocked persons, and texts of
/// unknown senders, which become requests. `own` is this identity.
pub(super) fn note(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    known: &KnownPersons<'_>,
) -> Result<Noted, EngineError> {
    let noted = noted(transaction)?;
    let mut after = noted;
    let mut arrived = HashMap::<_, Arrived>::new();
    let (mut due, mut receipts) = (HashSet::new(), HashMap::new());
    let (mut result, mut waiting) = (Noted::default(), None);
    let mut treatments = HashMap::new();
    loop {
        let page = transaction.inbox(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.number;
        let (mut consumed, mut taken_out) = (Vec::new(), Vec::new());
        for it in &page {
            let ConversationId::Person(_) = it.conversation else { continue };
            let writer = it.sender;
            if it.kind != ReceivedKind::Text {
                continue;
            }
            if TextReceipt::is_in(&it.plaintext) {
                consumed.push(it.number);
                if let Some(receipt) = TextReceipt::read(&it.plaintext, &writer.identity, own) {
                    receipts.entry(writer).or_insert_with(Vec::new).push(receipt);
                }
                continue;
            }
            if writer.identity == *own {
                continue;
            }
            let treatment = match treatments.get(&writer.identity) {
                Some(treatment) => *treatment,
                None => {
                    let treatment = Treatment::of(transaction, &writer.identity, known)?;
                    treatments.insert(writer.identity, treatment);
                    treatment
                }
            };
            if !matches!(treatment, Treatment::Shown) {
                taken_out.push(it.number);
            }
            if matches!(treatment, Treatment::Dropped) {
                *result.blocked.entry(writer.identity).or_default() += 1;
            } else if matches!(treatment, Treatment::Requested) {
                let requests = match &mut waiting {
                    Some(requests) => requests,
                    None => waiting.insert(Requests::load(transaction)?),
                };
                match requests.hold(transaction, writer, &it.plaintext)? {
                    Held::Waits(dropped) => {
                        *result.requests.entry(writer.identity).or_default() += 1;
                        for (person, texts) in dropped {
                            *result.no_room.entry(person).or_default() += texts;
                        }
                    }
                    Held::Repeated => {}
                    Held::Dropped => *result.no_room.entry(writer.identity).or_default() += 1,
                }
            } else if let Some(id) = id_of(&it.plaintext, &writer.identity, own) {
                let of = (writer.identity, id.series);
                let known = match arrived.remove(&of) {
                    Some(known) => Some(known),
                    None => Arrived::of(transaction, &of.0, &of.1)?,
                };
                let mut known = known.unwrap_or_default();
                // It came in another ciphertext: its writer did not get the receipt, or has new
                // keys, or a hub says that the mailbox of one that it has delivered does not exist.
                if !known.add(id.number, &it.plaintext) {
                    consumed.push(it.number);
                }
                known.time = records::now();
                arrived.insert(of, known);
                due.insert(due_name(&writer, &id.series));
            }
        }
        drop(page);
        for number in consumed {
            result.receipts += u64::from(transaction.consume(number)?);
        }
        for number in taken_out {
            result.others += u64::from(transaction.consume(number)?);
        }
    }
    for (person, texts) in &result.blocked {
        blocked_person::count_dropped(transaction, person, *texts)?;
    }
    for ((writer, series), arrived) in &arrived {
        arrived.put(transaction, writer, series)?;
        Arrived::forget_old(transaction, writer)?;
    }
    for name in &due {
        transaction.put_record(DUE, name, &[])?;
    }
    for (from, receipts) in &receipts {
        confirmation::take(transaction, from, receipts)?;
    }
    if after > noted {
        transaction.put_record(NOTED, &[], &after.to_le_bytes())?;
    }
    Ok(result)
}

/// Returns the id of a text from `writer` to `own`. `None` if the plaintext is not such a text.
fn id_of(plaintext: &[u8], writer: &PublicKey, own: &PublicKey) -> Option<TextId> {
    TextId::read(Text::read(plaintext, writer, &Conversation::Person(*own))?.id())
}

/// Returns true if receipts are due.
pub(super) fn is_due(engine: &mut Engine) -> Result<bool, EngineError> {
    engine.transaction(|it| Ok(!it.records_after(DUE, &[], 1)?.is_empty()))
}

/// Returns true if receipts are due, or encrypted and waiting to be sent.
pub(super) fn waits(engine: &mut Engine) -> Result<bool, EngineError> {
    Ok(is_due(engine)? || !engine.transaction(|it| receipts_that_wait(it))?.is_empty())
}

/// Encrypts the receipts that are due. Only contacts and persons to whom this device has written
/// receive them. The caller MUST have sent the texts before: a receipt stays due while texts for
/// the same mailbox wait. An older receipt that still waits for the same device is dropped. Returns
/// true if receipts wait.
pub(super) async fn encrypt_receipts(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    keys: &LetterKeys<'_>,
) -> Result<bool, SyncError> {
    let due = engine.transaction(|it| it.records_after(DUE, &[], MAX_RECEIPTS))?;
    if due.is_empty() {
        return Ok(!engine.transaction(|it| receipts_that_wait(it))?.is_empty());
    }
    let due = due.iter().map(|(name, _)| read_due(name));
    let due: Vec<_> = due.collect::<Option<_>>().ok_or(EngineError::Damaged("due"))?;
    let contacts = keys.contacts();
    let mut known = Vec::new();
    for (writer, _) in &due {
        let person = &writer.identity;
        let is_known = engine.transaction(|it| {
            let is_blocked = BlockedPerson::of(it, person)?.is_some();
            let is_contact = contacts.name_of(person).is_some();
            Ok::<_, EngineError>(!is_blocked && (is_contact || TextId::has_written_to(it, person)?))
        })?;
        if is_known && !known.contains(person) {
            known.push(*person);
        }
    }
    let mut devices = HashMap::new();
    for found in directory::find_many(hub, engine, &known).await? {
        if let Found::Person(_, certificates) = found {
            devices.extend(certificates.into_iter().map(|it| (it.address(), it)));
        }
    }
    let own = engine.address().identity;
    Ok(engine.transaction(|transaction| {
        let mut busy = HashSet::new();
        Target::each(transaction, &mut |_, target| {
            if !target.is_receipt() {
                busy.extend(target.mailboxes.iter().map(|(peer, _)| *peer));
            }
        })?;
        let due: Vec<_> = due
            .into_iter()
            .filter(|(it, _)| devices.get(it).is_none_or(|it| !busy.contains(&it.keys().peer_id)))
            .collect();
        for (number, of) in receipts_that_wait(transaction)? {
            if due.contains(&of) {
                forget_receipt(transaction, number)?;
            }
        }
        for (writer, series) in &due {
            if let Some(device) = devices.get(writer) {
                encrypt(transaction, &own, device, *series)?;
            }
            transaction.remove_record(DUE, &due_name(writer, series))?;
        }
        Ok::<_, EngineError>(!receipts_that_wait(transaction)?.is_empty())
    })?)
}

/// Receipts in the outbox, each with the device that gets it and the series.
fn receipts_that_wait(
    transaction: &Transaction<'_, '_>,
) -> Result<Vec<(u64, OfSeries)>, EngineError> {
    let (mut after, mut found) = (Vec::new(), Vec::new());
    loop {
        let page = transaction.records_after(RECEIPT, &after, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(found) };
        after.clone_from(last);
        for (name, device) in &page {
            let number = records::number_in_name(name).ok_or(EngineError::Damaged("receipt"))?;
            let of = read_due(device).ok_or(EngineError::Damaged("receipt"))?;
            if Target::of(transaction, number)?.is_some() {
                found.push((number, of));
            } else {
                // The receipt was sent.
                transaction.remove_record(RECEIPT, name)?;
            }
        }
    }
}

fn forget_receipt(transaction: &Transaction<'_, '_>, number: u64) -> Result<(), EngineError> {
    transaction.remove_record(RECEIPT, &number.to_be_bytes())?;
    Target::settle(transaction, number)
}

/// Marks a receipt of the outbox as due again. The caller MUST remove it from the outbox.
pub(super) fn make_due(transaction: &Transaction<'_, '_>, number: u64) -> Result<(), EngineError> {
    match transaction.record(RECEIPT, &number.to_be_bytes())? {
        Some(device) => transaction.put_record(DUE, &device, &[]),
        None => Ok(()),
    }
}

/// Encrypts the receipt for a device, if there is a session that can send.
fn encrypt(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    device: &Certificate,
    series: [u8; SERIES_LEN],
) -> Result<(), EngineError> {
    let writer = device.address();
    let arrived = Arrived::of(transaction, &writer.identity, &series)?;
    let Some(Arrived { runs, .. }) = arrived else { return Ok(()) };
    let receipt = TextReceipt { series, runs }.plaintext(own, &writer.identity);
    let Some(plaintext) = receipt else { return Ok(()) };
    match transaction.encrypt(writer, &plaintext) {
        Ok(sequence) => {
            let name = due_name(&writer, &series);
            transaction.put_record(RECEIPT, &sequence.to_be_bytes(), &name)?;
            Target::receipt(device.keys().peer_id).put(transaction, sequence)
        }
        Err(SendError::Engine(error)) => Err(error),
        // No session is established for a receipt.
        Err(_) => Ok(()),
    }
}
