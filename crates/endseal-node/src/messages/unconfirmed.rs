//! Texts that arrived and that no receipt confirms yet.
//!
//! [`note`](super::arrivals::note) records the texts.

use alloc::collections::BTreeMap;
use std::collections::{HashMap, HashSet};

use endseal_codec::ReceiptKind;
use endseal_crypto::hash;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;
use endseal_session::{Engine, EngineError, GroupChangeError};

use super::conversation::Conversation;
use super::due::{Due, Subject};
use super::frame_target::Target;
use super::hub_groups::HubGroups;
use super::known_record::known_in;
use super::node_files::NodeFiles;
use super::payload::HubGroupId;
use super::read_texts;
use super::receipt::{MAX_RUNS, TextReceipt};
use super::records::{self, ARRIVED, READ, RECEIPT, Transaction};
use super::rule::Rule;
use super::rule_note::RuleNote;
use super::runs::Runs;
use super::shared_engine::SharedEngine;
use super::text_id::{OfSeries, TextId, name_of};

/// Receipts that are read at once.
const PAGE: usize = 32;
/// Limit on the receipts of a sync: a quarter of the frames that a hub accepts at once. The others
/// leave with the next sync.
const MAX_RECEIPTS: usize = 256;
/// Texts of a series whose digests are remembered: as many as a hub's window has frames.
const MAX_DIGESTS: usize = 1_024;
/// Length of a digest in bytes.
const DIGEST_LEN: usize = 8;
/// Series of a conversation that are remembered: one for each device, and for each time that it got
/// new keys.
const MAX_SERIES: usize = 1_024;

/// Texts of a series that arrived.
#[derive(Default)]
pub(super) struct Arrived {
    /// When the last one was noted, in milliseconds since 1970.
    pub(super) time: u64,
    runs: Runs,
    /// Digests of the latest texts, by their numbers.
    digests: BTreeMap<u64, [u8; DIGEST_LEN]>,
}

impl Arrived {
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        of: &OfSeries,
    ) -> Result<Option<Self>, EngineError> {
        let value = transaction.record(ARRIVED, &name_of(of))?;
        value.map(|value| Self::read(&value).ok_or(EngineError::Damaged("arrived"))).transpose()
    }

    /// Returns true if a text with this number has arrived.
    pub(super) fn has(&self, number: u64) -> bool {
        self.runs.contains(number)
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
    pub(super) fn add(&mut self, number: u64, plaintext: &[u8]) -> bool {
        let mut digest = [0; DIGEST_LEN];
        digest.copy_from_slice(&hash::digest(plaintext)[..DIGEST_LEN]);
        let oldest = self.digests.first_key_value().map(|(oldest, _)| *oldest);
        let before = self.digests.insert(number, digest);
        if self.digests.len() > MAX_DIGESTS {
            self.digests.pop_first();
        }
        let is_same = match before {
            Some(before) => before == digest,
            // The digests of the oldest texts were dropped.
            None => oldest.is_some_and(|oldest| number < oldest),
        };
        let is_repeated = self.runs.contains(number) && is_same;
        self.runs.add(number, number, MAX_RUNS);
        !is_repeated
    }

    pub(super) fn put(
        &self,
        transaction: &Transaction<'_, '_>,
        of: &OfSeries,
    ) -> Result<(), EngineError> {
        transaction.put_record(ARRIVED, &name_of(of), &self.to_bytes())
    }

    /// Forgets the series of a conversation in which nothing arrived for longest, of more than
    /// [`MAX_SERIES`].
    pub(super) fn forget_old(
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
    ) -> Result<(), EngineError> {
        let prefix = conversation.name();
        let page = transaction.records_after(ARRIVED, &prefix, MAX_SERIES + 1)?;
        let own = page.iter().take_while(|(name, _)| name.starts_with(&prefix));
        let series = own.map(|(name, value)| Some((Self::read(value)?.time, name)));
        let series: Option<Vec<_>> = series.collect();
        let series = series.ok_or(EngineError::Damaged("arrived"))?;
        if series.len() > MAX_SERIES
            && let Some((_, oldest)) = series.into_iter().min()
        {
            transaction.remove_record(ARRIVED, oldest)?;
            transaction.remove_record(READ, oldest)?;
        }
        Ok(())
    }
}

/// Returns true if notes are due which can be sent.
pub(super) fn is_due(engine: &mut Engine) -> Result<bool, EngineError> {
    let own = engine.address();
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        for due in Due::page(transaction, PAGE)?.into_iter().filter(|due| due.to != own) {
            let waits_for_group =
                due.subject == Subject::Rules && Place::of(transaction, &due)?.is_none();
            if !waits_for_group {
                return Ok(true);
            }
        }
        Ok(false)
    })
}

/// Returns true if notes are due, or encrypted and waiting to be sent.
pub(super) fn waits(engine: &mut Engine) -> Result<bool, EngineError> {
    Ok(is_due(engine)? || !engine.transaction(|it| notes_that_wait(it))?.is_empty())
}

/// Encrypts the notes that are due: receipts for the devices that wrote the texts, and read marks
/// and rules for the other devices of this person. Members of teams, contacts and persons to whom
/// this device has written receive receipts. The caller MUST have sent the texts before: a note
/// stays due while texts for the same device wait. An older note on the same subject that still
/// waits for the same device is dropped. Returns true if notes wait.
pub(super) fn encrypt_notes(
    engine: &SharedEngine<'_>,
    files: &NodeFiles<'_>,
) -> Result<bool, EngineError> {
    let mut due = engine.transaction(|it| Due::page(it, MAX_RECEIPTS))?;
    if due.is_empty() {
        return engine.transaction(|transaction| has_others(transaction));
    }
    let contacts = files.contacts();
    let own = engine.address();
    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        let mut busy = HashSet::new();
        Target::each(transaction, &mut |_, target| {
            busy.extend(target.group.filter(|_| target.is_text()));
        })?;
        let mut places = HashMap::new();
        for it in &due {
            let of = (it.to, it.conversation());
            if places.contains_key(&of) {
                continue;
            }
            let person = &it.to.identity;
            let is_known = match it.conversation() {
                _ if *person == own.identity => true,
                // Members of a team know of each other.
                Conversation::Group(_) => true,
                with @ Conversation::Person(_) => {
                    contacts.name_of(person).is_some()
                        || TextId::has_written_in(transaction, &with)?
                }
            };
            let confirms =
                is_known && it.to != own && !Rule::of(transaction, person)?.blocked.is_on();
            let place = match confirms {
                true => Place::of(transaction, it)?,
                false => None,
            };
            places.insert(of, place);
        }
        let place = |it: &Due| places.get(&(it.to, it.conversation())).and_then(Option::as_ref);
        due.retain(|it| place(it).is_none_or(|place| !busy.contains(&place.group)));
        for (number, of) in notes_that_wait(transaction)? {
            if due.contains(&of) {
                forget_note(transaction, number)?;
            }
        }
        let mut rules = None;
        for it in &due {
            let is_of_rules = it.subject == Subject::Rules;
            let is_needed = !is_of_rules || is_other(transaction, &own, it)?;
            match place(it) {
                // A device that was revoked may still be in a group.
                Some(place) if is_needed => {
                    if let Some(plaintext) = plaintext(transaction, &own, it, &mut rules)? {
                        place.encrypt(transaction, it, &plaintext)?;
                    }
                }
                None if is_needed && is_of_rules => continue,
                _ => {}
            }
            it.remove(transaction)?;
        }
        has_others(transaction)
    })
}

/// Returns true if a note is for another device of this person that was not revoked.
fn is_other(
    transaction: &Transaction<'_, '_>,
    own: &Address,
    due: &Due,
) -> Result<bool, EngineError> {
    let record = known_in(transaction, &own.identity)?;
    let is_there = record.is_some_and(|it| it.device(due.to.device.into()).is_some());
    Ok(is_there && due.to != *own)
}

/// Returns true if something that is no text waits for the hub.
fn has_others(transaction: &Transaction<'_, '_>) -> Result<bool, EngineError> {
    let mut has_others = false;
    Target::each(transaction, &mut |_, target| has_others |= !target.is_text())?;
    Ok(has_others)
}

/// Makes the plaintext of a note. `None` if there is nothing to say. `rules` are read once.
fn plaintext(
    transaction: &Transaction<'_, '_>,
    own: &Address,
    due: &Due,
    rules: &mut Option<RuleNote>,
) -> Result<Option<Zeroizing<Vec<u8>>>, EngineError> {
    let Subject::Texts { conversation, series, read_of } = due.subject else {
        let rules = match rules {
            Some(rules) => rules,
            None => rules.insert(RuleNote::of(transaction)?),
        };
        return Ok(rules.plaintext(&own.identity));
    };
    let (kind, writer) = match read_of {
        Some(writer) => (ReceiptKind::READ, writer),
        None => (ReceiptKind::DELIVERED, due.to.identity),
    };
    let of = (conversation, writer, series);
    let runs = match read_of {
        Some(_) => read_texts::of(transaction, &of)?,
        None => Arrived::of(transaction, &of)?.map(|it| it.runs),
    };
    let receipt = runs.map(|runs| TextReceipt { series, runs });
    Ok(receipt.and_then(|it| it.plaintext(kind, &own.identity, &writer)))
}

/// Group in which a device gets a note.
struct Place {
    group: HubGroupId,
    peer: PeerId,
}

impl Place {
    /// Finds a group of the note's conversation in which the device is a member. `None` if there is
    /// none: no group is made for a receipt or a read mark.
    fn of(transaction: &mut Transaction<'_, '_>, due: &Due) -> Result<Option<Self>, EngineError> {
        let groups = HubGroups::of(transaction, &due.conversation())?;
        for group in groups.groups.iter().filter(|it| it.given_up == 0) {
            let members = transaction.group_peers(&group.id)?;
            if let Some((_, peer)) = members.into_iter().find(|(address, _)| *address == due.to) {
                return Ok(Some(Self { group: group.id, peer }));
            }
        }
        Ok(None)
    }

    /// Encrypts a note.
    fn encrypt(
        &self,
        transaction: &mut Transaction<'_, '_>,
        due: &Due,
        plaintext: &[u8],
    ) -> Result<(), EngineError> {
        match transaction.send_note(&self.group, due.to, plaintext, &mut OsRandom) {
            Ok(sequence) => {
                transaction.put_record(RECEIPT, &sequence.to_be_bytes(), &due.to_bytes())?;
                Target::member(self.group, self.peer).put(transaction, sequence)
            }
            Err(GroupChangeError::Engine(error)) => Err(error),
            // The device that wrote them will write again.
            Err(_) => Ok(()),
        }
    }
}

/// Returns the receipts in the outbox, each with the device that gets it and the series.
fn notes_that_wait(transaction: &Transaction<'_, '_>) -> Result<Vec<(u64, Due)>, EngineError> {
    let (mut after, mut found) = (Vec::new(), Vec::new());
    loop {
        let page = transaction.records_after(RECEIPT, &after, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(found) };
        after.clone_from(last);
        for (name, device) in &page {
            let number = records::number_in_name(name).ok_or(EngineError::Damaged("receipt"))?;
            let of = Due::from_bytes(device).ok_or(EngineError::Damaged("receipt"))?;
            if Target::of(transaction, number)?.is_some() {
                found.push((number, of));
            } else {
                // The receipt was sent.
                transaction.remove_record(RECEIPT, name)?;
            }
        }
    }
}

fn forget_note(transaction: &Transaction<'_, '_>, number: u64) -> Result<(), EngineError> {
    transaction.remove_record(RECEIPT, &number.to_be_bytes())?;
    Target::settle(transaction, number)
}

/// Marks a receipt of the outbox as due again. The caller MUST remove it from the outbox.
pub(super) fn make_due(transaction: &Transaction<'_, '_>, number: u64) -> Result<(), EngineError> {
    match transaction.record(RECEIPT, &number.to_be_bytes())? {
        Some(value) => {
            Due::from_bytes(&value).ok_or(EngineError::Damaged("receipt"))?.put(transaction)
        }
        None => Ok(()),
    }
}
