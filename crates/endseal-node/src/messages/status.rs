//! Numbers of what waits.

use endseal_session::{Engine, EngineError};
use serde::{Deserialize, Serialize};

use super::membership::{Membership, membership_in};
use super::records::{self, LETTER, PROBLEM, UNSENT};
use super::{unconfirmed, undelivered};
use crate::frame_target::Target;

/// Numbers of what waits in a store.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Status {
    /// The hub at which this device is registered.
    pub membership: Option<Membership>,
    /// Messages that were not read.
    pub unread: u64,
    /// Texts that are not encrypted yet.
    pub unsent: u64,
    /// Frames of texts that the hub does not have yet.
    pub frames: u64,
    /// Texts to persons that were encrypted, and that no device of the person has confirmed.
    pub undelivered: u64,
    /// Messages that arrived and cannot be opened yet.
    pub parked: u64,
    /// Problems that are kept.
    pub problems: u64,
}

/// Counts what waits.
///
/// # Errors
/// [`EngineError`].
pub fn status(engine: &mut Engine) -> Result<Status, EngineError> {
    let own = engine.address().identity;
    // Receipts are no messages to read.
    engine.transaction(|transaction| unconfirmed::note(transaction, &own))?;
    let unread = engine.inbox().len()?;
    let parked: u64 = engine.parked()?.iter().map(|it| it.messages).sum();
    engine.transaction(|transaction| {
        Ok(Status {
            membership: membership_in(transaction)?,
            unread,
            unsent: records::count(transaction, UNSENT)?,
            frames: Target::count_texts(transaction)?,
            undelivered: undelivered::count(transaction)?,
            parked: parked + records::count(transaction, LETTER)?,
            problems: records::count(transaction, PROBLEM)?,
        })
    })
}
