//! Counts of waiting messages.

use endseal_session::{Engine, EngineError};
use serde::{Deserialize, Serialize};

use super::frame_target::Target;
use super::hidden_team;
use super::known_note;
use super::membership::{Membership, membership_in};
use super::records::{self, PROBLEM, REQUEST, UNSENT};
#[cfg(doc)]
use super::settle_inbox;
use super::undelivered;

/// Counts of the waiting messages of a store.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Status {
    /// Registration of this device at a hub; `None` if it is not registered.
    pub membership: Option<Membership>,
    /// Addresses to which the hub moves, until it has answered there.
    #[serde(default)]
    pub moves_to: Option<String>,
    /// True if the state directory went back in time: this device receives and does not send, until
    /// it has new keys.
    pub is_restored: bool,
    /// Messages that were not marked as read.
    pub unread: u64,
    /// Texts that are not encrypted yet.
    pub unsent: u64,
    /// Frames of texts that the hub has not stored yet.
    pub frames: u64,
    /// Encrypted texts to persons that no device of the person has confirmed.
    pub undelivered: u64,
    /// Messages that arrived and cannot be opened yet.
    pub parked: u64,
    /// Texts of unknown senders that wait to be accepted.
    pub requests: u64,
    /// Problems that are stored.
    pub problems: u64,
}

/// Counts the waiting messages. Receipts are counted as unread until [`settle_inbox`] or a sync
/// takes them out of the inbox.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn status(engine: &mut Engine) -> Result<Status, EngineError> {
    let own = engine.address().identity;
    let unread = engine.inbox().len()?;
    let is_restored = engine.is_restored()?;
    let parked: u64 = engine.parked()?.iter().map(|it| it.messages).sum();
    engine.transaction(|transaction| {
        Ok(Status {
            membership: membership_in(transaction)?,
            moves_to: known_note::awaited(transaction)?,
            is_restored,
            unread: unread.saturating_sub(hidden_team::count_texts(transaction)?),
            unsent: records::count(transaction, UNSENT)?,
            frames: Target::count_texts(transaction)?,
            undelivered: undelivered::count(transaction, &own)?,
            parked,
            requests: records::count(transaction, REQUEST)?,
            problems: records::count(transaction, PROBLEM)?,
        })
    })
}
