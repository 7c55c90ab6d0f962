//! Letters that wait until the roster of their group and epoch is here.

use std::collections::HashMap;

use bytes::Bytes;
use endseal_crypto::peer_id::PeerId;
use endseal_session::{Engine, EngineError};

use super::arrived_letter::ArrivedLetter;
use super::letter::Letter;
use super::problem::{self, ProblemClass};
use super::records::{self, LETTER, Transaction};

/// Letters that wait at most.
const MAX_LETTERS: u64 = 1_000;
/// Bytes of letters that wait at most.
const MAX_BYTES: usize = 16 << 20;
/// Letters of one device, and their bytes, that wait at most: no device takes the room of others.
const MAX_OF_DEVICE: (u64, usize) = (100, 4 << 20);
/// Time in milliseconds after which a letter is given up: 30 days.
const MAX_AGE: u64 = 30 * 24 * 60 * 60 * 1_000;

/// Number of letters that wait, and their bytes. Counted once a visit.
pub(super) struct Parked {
    letters: u64,
    bytes: usize,
    /// The same by the devices that put them.
    devices: HashMap<PeerId, (u64, usize)>,
}

impl Parked {
    /// Reads all letters that wait.
    pub(super) fn load(engine: &mut Engine) -> Result<(Self, Vec<ArrivedLetter>), EngineError> {
        let limit = usize::try_from(MAX_LETTERS).unwrap_or(usize::MAX);
        let rows = engine.transaction(|it| it.records_after(LETTER, &[], limit))?;
        let mut parked = Self { letters: 0, bytes: 0, devices: HashMap::new() };
        let mut letters = Vec::with_capacity(rows.len());
        for (name, value) in &rows {
            let letter = read(name, value).ok_or(EngineError::Damaged("letter"))?;
            parked.count(&letter.peer, value.len());
            letters.push(letter);
        }
        Ok((parked, letters))
    }

    /// Parks a letter, or notes a problem: there is no room, or it has waited for too long.
    pub(super) fn park(
        &mut self,
        transaction: &Transaction<'_, '_>,
        letter: &ArrivedLetter,
    ) -> Result<bool, EngineError> {
        let now = records::now();
        if let Some((number, time)) = letter.parked {
            if now.saturating_sub(time) <= MAX_AGE {
                return Ok(true);
            }
            self.remove(transaction, letter, number)?;
        } else {
            let value = write(letter, now);
            if self.has_room(&letter.peer, value.len()) {
                let number = records::next_number(transaction)?;
                transaction.put_record(LETTER, &number.to_be_bytes(), &value)?;
                self.count(&letter.peer, value.len());
                return Ok(true);
            }
        }
        problem::note(transaction, ProblemClass::GROUP, &letter.peer, letter.position)?;
        Ok(false)
    }

    /// Removes a letter that is parked no longer.
    pub(super) fn remove(
        &mut self,
        transaction: &Transaction<'_, '_>,
        letter: &ArrivedLetter,
        number: u64,
    ) -> Result<(), EngineError> {
        transaction.remove_record(LETTER, &number.to_be_bytes())?;
        let len = HEADER_LEN + letter.slot.len() + letter.payload.len();
        self.letters = self.letters.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(len);
        if let Some((letters, bytes)) = self.devices.get_mut(&letter.peer) {
            (*letters, *bytes) = (letters.saturating_sub(1), bytes.saturating_sub(len));
        }
        Ok(())
    }

    pub(super) fn has_letters(&self) -> bool {
        self.letters > 0
    }

    fn has_room(&self, peer: &PeerId, len: usize) -> bool {
        let (letters, bytes) = self.devices.get(peer).copied().unwrap_or_default();
        self.letters < MAX_LETTERS
            && self.bytes + len <= MAX_BYTES
            && letters < MAX_OF_DEVICE.0
            && bytes + len <= MAX_OF_DEVICE.1
    }

    fn count(&mut self, peer: &PeerId, len: usize) {
        self.letters += 1;
        self.bytes += len;
        let (letters, bytes) = self.devices.entry(*peer).or_default();
        (*letters, *bytes) = (*letters + 1, *bytes + len);
    }
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
