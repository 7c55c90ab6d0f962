//! Problems: messages that arrived and cannot be shown, and messages that cannot be delivered.

use core::fmt;

use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::Address;
use endseal_session::{Engine, EngineError};
use serde::{Deserialize, Serialize};

use super::directory;
use super::records::{self, PROBLEM, Transaction};
use crate::wire_text;

/// Limit on the problems that are stored.
const KEPT: u64 = 1_000;
/// Problems that are read at once: those that are kept of both kinds, and those of one batch.
const MOST: usize = 16_384;

/// A failure with one message, stored for the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// Number of the problem. Later problems have higher numbers.
    pub number: u64,
    /// Time at which it was stored, in milliseconds since 1970.
    pub time: u64,
    /// Position in the mailbox, or the sequence of a frame that was sent.
    pub position: u64,
    /// Peer id of the remote device: the sender, or the receiver of a sent frame.
    #[serde(with = "wire_text::peer")]
    pub peer: PeerId,
    /// Address of the device with that peer id, if the hub's directory or a session has named it.
    #[serde(with = "wire_text::device")]
    pub device: Option<Address>,
    /// Class of the problem.
    pub class: ProblemClass,
}

/// Class of a problem (docs/spec/node.md, "Store").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProblemClass(Box<str>);

impl ProblemClass {
    /// The frame has an unknown form.
    pub(super) const FRAME: &str = "frame";
    /// A part of an archive for a link that this device did not ask for, or asked another device.
    pub(super) const ARCHIVE: &str = "archive";
    /// The hub deleted frames because they were too old.
    pub(super) const EXPIRED: &str = "gap-expired";
    /// The hub was restored from an older copy of its database.
    pub(super) const RESTORED: &str = "gap-restored";
    /// The hub has lost frames that it had acknowledged.
    pub(super) const FORGOT: &str = "hub-forgot";
    /// The sequence of a sent frame is below the hub's window.
    pub(super) const OLD: &str = "old";
    /// A welcome that leads to no group of a conversation.
    pub(super) const WELCOME: &str = "welcome";
    /// A welcome for a key package that this device has used.
    pub(super) const KEY_PACKAGE: &str = "key-package";
    /// A welcome to a group whose persons have other records than those that they signed.
    pub(super) const RECORD: &str = "record";
    /// A welcome to a team whose roster contradicts the one that is here, or has no room.
    pub(super) const GROUP: &str = "group";
    /// Group of a team that a blocked person brings.
    pub(super) const BLOCKED: &str = "blocked";
    /// This device could not follow a conversation, which began anew.
    pub(super) const ANEW: &str = "anew";
    /// The mailbox does not exist at the hub.
    pub(super) const MAILBOX: &str = "mailbox";

    /// Returns the name of the class.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProblemClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Problem {
    /// Decodes a record of the store. Returns `None` if it is damaged. [`Self::device`] is not set.
    #[must_use]
    pub fn read(name: &[u8], value: &[u8]) -> Option<Self> {
        let number = records::number_in_name(name)?;
        let (time, rest) = value.split_first_chunk::<8>()?;
        let (position, rest) = rest.split_first_chunk::<8>()?;
        let (peer, class) = rest.split_first_chunk::<{ PeerId::LEN }>()?;
        let class = str::from_utf8(class).ok()?;
        let is_class = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
        (!class.is_empty() && class.bytes().all(is_class)).then(|| Self {
            number,
            time: u64::from_le_bytes(*time),
            position: u64::from_le_bytes(*position),
            peer: PeerId::from_bytes(peer),
            device: None,
            class: ProblemClass(class.into()),
        })
    }

    /// True if texts were lost or may have been lost, or a text that was sent cannot arrive.
    fn is_loss(&self) -> bool {
        matches!(
            self.class.as_str(),
            ProblemClass::EXPIRED
                | ProblemClass::RESTORED
                | ProblemClass::FORGOT
                | ProblemClass::OLD
                | ProblemClass::MAILBOX
        )
    }
}

/// Stores a problem. The caller MUST call [`forget_old`] in the same transaction.
pub(super) fn note(
    transaction: &Transaction<'_, '_>,
    class: &str,
    peer: &PeerId,
    position: u64,
) -> Result<(), EngineError> {
    let number = records::next_number(transaction)?;
    let time = records::now().to_le_bytes();
    let value = [&time, &position.to_le_bytes(), &peer.as_bytes()[..], class.as_bytes()].concat();
    transaction.put_record(PROBLEM, &number.to_be_bytes(), &value)
}

/// Deletes the oldest problems beyond 1,000 that tell of losses, and beyond 1,000 others: what a
/// peer can cause at will evicts no notice of a loss.
pub(super) fn forget_old(transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
    if records::count(transaction, PROBLEM)? <= KEPT {
        return Ok(());
    }
    let all = transaction.records_after(PROBLEM, &[], MOST)?;
    let (losses, others): (Vec<_>, Vec<_>) = all
        .iter()
        .partition(|(name, value)| Problem::read(name, value).is_some_and(|it| it.is_loss()));
    for kind in [losses, others] {
        let old = kind.len().saturating_sub(usize::try_from(KEPT).unwrap_or(usize::MAX));
        for (name, _) in &kind[..old] {
            transaction.remove_record(PROBLEM, name)?;
        }
    }
    Ok(())
}

/// Returns the stored problems, the oldest first.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn problems(engine: &mut Engine) -> Result<Vec<Problem>, EngineError> {
    let found = engine.transaction(|transaction| transaction.records_after(PROBLEM, &[], MOST))?;
    let known = engine.correspondents()?;
    // A certificate does not prove possession of the key: a certificate of another person may name
    // the same peer id.
    let of_session = |peer: &PeerId| {
        let mut those = known.iter().filter(|it| it.peer_id.as_ref() == Some(peer));
        let first = those.next()?;
        those.next().is_none().then_some(first.address)
    };
    engine.transaction(|transaction| {
        let mut problems = Vec::with_capacity(found.len());
        for (name, value) in &found {
            let problem = Problem::read(name, value).ok_or(EngineError::Damaged("problem"))?;
            let device = directory::device_of(transaction, &problem.peer)?;
            let device = device.or_else(|| of_session(&problem.peer));
            problems.push(Problem { device, ..problem });
        }
        Ok(problems)
    })
}

/// Deletes the problems with numbers up to `last`.
///
/// # Errors
/// Returns [`EngineError`] if the store fails. Nothing was deleted then.
pub fn forget_problems(engine: &mut Engine, last: u64) -> Result<(), EngineError> {
    engine.transaction(|transaction| {
        for (name, _) in transaction.records_after(PROBLEM, &[], MOST)? {
            if records::number_in_name(&name).is_some_and(|number| number <= last) {
                transaction.remove_record(PROBLEM, &name)?;
            }
        }
        Ok(())
    })
}
