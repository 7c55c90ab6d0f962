//! Letters that wait until the roster of their group and epoch is here.

use alloc::collections::BTreeSet;
use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_session::{Engine, EngineError};

use super::arrived_letter::{ArrivedLetter, Verdict, Writer};
use super::directory;
use super::error::SyncError;
use super::hub::HubClient;
use super::letter::Letter;
use super::problem::{self, ProblemClass};
use super::records::{self, LETTER, Transaction};
use super::shared_engine::SharedEngine;

/// Letters that wait at most.
const MAX_LETTERS: u64 = 1_000;
/// Bytes of letters that wait at most.
const MAX_BYTES: usize = 16 << 20;
/// Letters that devices of one person put, and their bytes, that wait at most: no person takes the
/// place of others.
const MAX_OF_PERSON: (u64, usize) = (100, 4 << 20);
/// Time in milliseconds after which a letter is given up: 30 days.
const MAX_AGE: u64 = 30 * 24 * 60 * 60 * 1_000;

/// Letters that wait, without their contents. Read once a visit.
pub(super) struct Parked {
    letters: u64,
    bytes: usize,
    /// Numbers of the letters.
    writers: HashMap<Writer, BTreeSet<u64>>,
    /// Persons of devices whose letters wait; `None` of those that the hub does not know any more.
    persons: HashMap<PeerId, Option<PublicKey>>,
    /// Numbers of letters, and their bytes, by persons.
    shares: HashMap<Option<PublicKey>, (u64, usize)>,
}

impl Parked {
    /// Reads all letters that wait, and asks whose devices put them.
    pub(super) async fn load(
        hub: &HubClient<'_>,
        engine: &SharedEngine<'_>,
    ) -> Result<(Self, Vec<ArrivedLetter>), SyncError> {
        let (letters, persons) = (engine.with(all)?, HashMap::new());
        let (writers, shares) = (HashMap::new(), HashMap::new());
        let mut parked = Self { letters: 0, bytes: 0, writers, persons, shares };
        parked.meet(hub, letters.iter().map(|it| it.peer)).await?;
        for letter in &letters {
            if let Some((number, _)) = letter.parked {
                parked.count(letter, number);
            }
        }
        Ok((parked, letters))
    }

    /// Reads all letters that wait.
    pub(super) fn all(&self, engine: &SharedEngine<'_>) -> Result<Vec<ArrivedLetter>, EngineError> {
        engine.with(all)
    }

    /// Reads the letters that wait of the writers of `letters`. They go before these.
    pub(super) fn before(
        &self,
        engine: &SharedEngine<'_>,
        letters: &[ArrivedLetter],
    ) -> Result<Vec<ArrivedLetter>, EngineError> {
        let writers: HashSet<_> = letters.iter().map(ArrivedLetter::writer).collect();
        let numbers = writers.iter().filter_map(|it| self.writers.get(it)).flatten();
        let numbers: BTreeSet<_> = numbers.copied().collect();
        engine.transaction(|transaction| {
            let mut found = Vec::with_capacity(numbers.len());
            for number in numbers {
                let name = number.to_be_bytes();
                let value = transaction.record(LETTER, &name)?;
                let letter = value.and_then(|value| read(&name, &value));
                found.push(letter.ok_or(EngineError::Damaged("letter"))?);
            }
            Ok(found)
        })
    }

    /// Asks whose devices put letters that are to wait. The caller MUST call this before
    /// [`Self::park`] and [`Self::hold`].
    pub(super) async fn meet_waiting(
        &mut self,
        hub: &HubClient<'_>,
        letters: &[ArrivedLetter],
        verdicts: &[Verdict],
    ) -> Result<(), SyncError> {
        // Nothing is parked then.
        if self.letters >= MAX_LETTERS {
            return Ok(());
        }
        let waiting = letters.iter().zip(verdicts);
        let waiting = waiting.filter(|(_, verdict)| matches!(verdict, Verdict::Waits));
        self.meet(hub, waiting.map(|(letter, _)| letter.peer)).await
    }

    async fn meet(
        &mut self,
        hub: &HubClient<'_>,
        peers: impl Iterator<Item = PeerId>,
    ) -> Result<(), SyncError> {
        let unknown = peers.filter(|peer| !self.persons.contains_key(peer));
        let unknown: Vec<_> = unknown.collect::<HashSet<_>>().into_iter().collect();
        let persons = directory::persons_of(hub, &unknown).await?;
        self.persons.extend(unknown.into_iter().zip(persons));
        Ok(())
    }

    /// Parks a letter, or notes a problem: there is no place, or it has waited for too long.
    pub(super) fn park(
        &mut self,
        transaction: &Transaction<'_, '_>,
        letter: &ArrivedLetter,
    ) -> Result<bool, EngineError> {
        if self.hold(transaction, letter)? {
            return Ok(true);
        }
        if let Some((number, _)) = letter.parked {
            self.remove(transaction, letter, number)?;
        }
        problem::note(transaction, ProblemClass::GROUP, &letter.peer, letter.position)?;
        Ok(false)
    }

    /// Parks a letter. Returns false if there is no place, or it has waited for too long.
    pub(super) fn hold(
        &mut self,
        transaction: &Transaction<'_, '_>,
        letter: &ArrivedLetter,
    ) -> Result<bool, EngineError> {
        let now = records::now();
        if let Some((_, time)) = letter.parked {
            return Ok(now.saturating_sub(time) <= MAX_AGE);
        }
        if !self.has_place(letter) {
            return Ok(false);
        }
        let number = records::next_number(transaction)?;
        transaction.put_record(LETTER, &number.to_be_bytes(), &write(letter, now))?;
        self.count(letter, number);
        Ok(true)
    }

    /// Removes a letter that is parked no longer.
    pub(super) fn remove(
        &mut self,
        transaction: &Transaction<'_, '_>,
        letter: &ArrivedLetter,
        number: u64,
    ) -> Result<(), EngineError> {
        transaction.remove_record(LETTER, &number.to_be_bytes())?;
        self.letters = self.letters.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(len(letter));
        if let Some((letters, bytes)) = self.shares.get_mut(&self.person(letter)) {
            (*letters, *bytes) = (letters.saturating_sub(1), bytes.saturating_sub(len(letter)));
        }
        if let Some(numbers) = self.writers.get_mut(&letter.writer()) {
            numbers.remove(&number);
        }
        Ok(())
    }

    pub(super) fn has_letters(&self) -> bool {
        self.letters > 0
    }

    fn person(&self, letter: &ArrivedLetter) -> Option<PublicKey> {
        self.persons.get(&letter.peer).copied().flatten()
    }

    fn has_place(&self, letter: &ArrivedLetter) -> bool {
        let (letters, bytes) = self.shares.get(&self.person(letter)).copied().unwrap_or_default();
        self.letters < MAX_LETTERS
            && self.bytes + len(letter) <= MAX_BYTES
            && letters < MAX_OF_PERSON.0
            && bytes + len(letter) <= MAX_OF_PERSON.1
    }

    fn count(&mut self, letter: &ArrivedLetter, number: u64) {
        self.letters += 1;
        self.bytes += len(letter);
        let (letters, bytes) = self.shares.entry(self.person(letter)).or_default();
        (*letters, *bytes) = (*letters + 1, *bytes + len(letter));
        self.writers.entry(letter.writer()).or_default().insert(number);
    }
}

/// Reads all letters that wait, in the order of their arrival.
fn all(engine: &mut Engine) -> Result<Vec<ArrivedLetter>, EngineError> {
    let limit = usize::try_from(MAX_LETTERS).unwrap_or(usize::MAX);
    let rows = engine.transaction(|it| it.records_after(LETTER, &[], limit))?;
    let letters = rows.iter().map(|(name, value)| read(name, value));
    letters.map(|letter| letter.ok_or(EngineError::Damaged("letter"))).collect()
}

/// Length of the record of a letter.
fn len(letter: &ArrivedLetter) -> usize {
    HEADER_LEN + letter.slot.len() + letter.payload.len()
}

/// Bytes before the slot.
const HEADER_LEN: usize = 8 + 8 + PeerId::LEN + 2;

fn write(letter: &ArrivedLetter, time: u64) -> Vec<u8> {
    let slot_len = u16::try_from(letter.slot.len()).unwrap_or(u16::MAX);
    let mut value = [time.to_le_bytes(), letter.position.to_le_bytes()].concat();
    value.extend_from_slice(letter.peer.as_bytes());
    value.extend_from_slice(&slot_len.to_le_bytes());
    value.extend_from_slice(&letter.slot);
    value.extend_from_slice(&letter.payload);
    value
}

fn read(name: &[u8], value: &[u8]) -> Option<ArrivedLetter> {
    let number = records::number_in_name(name)?;
    let (time, rest) = value.split_first_chunk::<8>()?;
    let (position, rest) = rest.split_first_chunk::<8>()?;
    let (peer, rest) = rest.split_first_chunk::<{ PeerId::LEN }>()?;
    let (slot_len, rest) = rest.split_first_chunk::<2>()?;
    let (slot, payload) = rest.split_at_checked(usize::from(u16::from_le_bytes(*slot_len)))?;
    Some(ArrivedLetter {
        peer: PeerId::from_bytes(peer),
        position: u64::from_le_bytes(*position),
        head: Letter::read(payload)?.head,
        slot: Bytes::copy_from_slice(slot),
        payload: Bytes::copy_from_slice(payload),
        parked: Some((number, u64::from_le_bytes(*time))),
    })
}
