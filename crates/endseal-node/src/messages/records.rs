//! Kinds of the node's records in the store, and the numbering of rows (docs/spec/node.md,
//! "Store").

use std::time::{SystemTime, UNIX_EPOCH};

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, DeviceId};
use endseal_session::olm::OlmAccount;
use endseal_session::{EngineError, EngineTransaction};

use super::address_bytes::ADDRESS_LEN;

/// Transaction of the engine's store.
pub(super) type Transaction<'t, 's> = EngineTransaction<'t, 's, OlmAccount>;

/// Last number that was assigned to a row.
pub(super) const COUNTER: u16 = 0;
/// Registration at the hub: a [`Membership`](super::Membership).
pub(super) const HUB: u16 = 1;
/// Person records of others, by identity.
pub(super) const PERSON: u16 = 2;
/// Rows of the history: [`HistoryRow`](super::HistoryRow).
pub(super) const HISTORY: u16 = 3;
/// Texts that are not encrypted yet: [`Waiting`](super::waiting::Waiting).
pub(super) const UNSENT: u16 = 4;
/// Stored problems: [`Problem`](super::Problem).
pub(super) const PROBLEM: u16 = 6;
/// Texts that arrived, by their writer and series.
pub(super) const ARRIVED: u16 = 8;
/// Notes that are due: [`Due`](super::due::Due).
pub(super) const DUE: u16 = 9;
/// Number in the inbox up to which texts were recorded as arrived.
pub(super) const NOTED: u16 = 10;
/// Id of the last text to a person.
pub(super) const SAID: u16 = 11;
/// Texts that a person's devices have confirmed, by person and series.
pub(super) const CONFIRMED: u16 = 12;
/// Notes in the outbox, by their numbers: [`Due`](super::due::Due).
pub(super) const RECEIPT: u16 = 13;
/// Last numbers of series of texts that ended, by person and series.
pub(super) const SERIES: u16 = 18;
/// See [`DeviceChange`](super::DeviceChange).
pub(super) const DEVICE_CHANGE: u16 = 19;
/// Frames of this device that the hub said to have deleted before their delivery.
pub(super) const DROPPED: u16 = 20;
/// Highest position that this device acknowledged.
pub(super) const ACKNOWLEDGED: u16 = 21;
/// Keys of this device before it was renewed.
pub(super) const FORMER: u16 = 22;
/// Device that has linked this one.
pub(super) const LINKED: u16 = 27;
/// Present while a recovery or restoration of this device is not finished.
pub(super) const UNFINISHED: u16 = 28;
/// Present from the certificate of a link until the identity file is there.
pub(super) const LINKING: u16 = 30;
/// Time of the hub's newest address note, and its addresses that have not answered.
pub(super) const HUB_NOTE: u16 = 31;
/// Rules about persons: [`StoredRule`](super::rule::StoredRule), by identity.
pub(super) const RULE: u16 = 23;
/// Texts of unknown senders: [`RequestText`](super::request::RequestText).
pub(super) const REQUEST: u16 = 26;
/// Names of this person's devices, by number: [`DeviceName`](super::DeviceName).
pub(super) const DEVICE_NAME: u16 = 29;
/// Number of key packages that were published to the hub, and the time of the last publication.
pub(super) const PUBLISHED: u16 = 17;
/// Groups of a conversation: [`HubGroups`](super::hub_groups::HubGroups), by conversation.
pub(super) const GROUPS: u16 = 32;
/// Conversations, by the ids of their groups.
pub(super) const GROUP: u16 = 33;
/// Commits that wait for the hub's decision: [`PendingCommit`](super::pending_commit).
pub(super) const COMMIT: u16 = 34;
/// Groups that were joined and not compared with what is known of their persons yet: 1 if the key
/// package was that of last resort (1), by the ids of the groups.
pub(super) const JOINED: u16 = 37;
/// Rosters of teams whose owners are no contacts: [`HiddenTeam`](super::hidden_team), by team.
pub(super) const HIDDEN_TEAM: u16 = 35;
/// Kind of the records of the members of a team who confirm texts.
pub(super) const MEMBERS: u16 = 38;
/// Kind of the records of members who got no welcome to a group.
pub(super) const LOST: u16 = 39;
/// Teams that this person has left: [`LeftTeam`](super::departure::LeftTeam), by team.
pub(super) const LEFT: u16 = 40;
/// Members who have left a team: empty records, by team and identity.
pub(super) const DEPARTED: u16 = 41;
/// Latest epochs of rosters that were in force, by team.
pub(super) const IN_FORCE: u16 = 42;
/// Milliseconds by which the clock of this device is behind that of the hub.
pub(super) const CLOCK: u16 = 43;
/// Time at which the rules were sent to all devices of this person.
pub(super) const RULES_SENT: u16 = 47;
/// Groups that are to be announced as replaced: [`Replaced`](super::replaced::Replaced), by
/// conversation and group.
pub(super) const REPLACED: u16 = 46;
/// Texts of others that this person has read, by their writer and series.
pub(super) const READ: u16 = 44;
/// Numbers of the last rows of before they came, of persons who became members of a team, by team
/// and identity.
pub(super) const NEW_MEMBER: u16 = 45;
/// Addresses of devices by their peer ids.
pub(super) const PEER: u16 = 16;

/// Queue of the engine whose cursor is the position in the mailbox.
pub(super) const QUEUE: &[u8] = b"hub";

/// Reads a record that is one number; 0 if there is none.
pub(super) fn counter(transaction: &Transaction<'_, '_>, kind: u16) -> Result<u64, EngineError> {
    match transaction.record(kind, &[])? {
        Some(value) => number(&value).ok_or(EngineError::Damaged("counter")),
        None => Ok(0),
    }
}

/// Gives a number to a row.
pub(super) fn next_number(transaction: &Transaction<'_, '_>) -> Result<u64, EngineError> {
    let last = counter(transaction, COUNTER)?;
    let next = last.checked_add(1).ok_or(EngineError::Damaged("counter"))?;
    transaction.put_record(COUNTER, &[], &next.to_le_bytes())?;
    Ok(next)
}

/// Decodes a number of 8 bytes, little-endian.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Decodes a record name that is a number of 8 bytes, big-endian.
pub(super) fn number_in_name(name: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(name.try_into().ok()?))
}

/// Encodes the record name of a device: identity (32) || number (4), big-endian.
pub(super) fn device_name(device: &Address) -> [u8; ADDRESS_LEN] {
    let mut name = [0; ADDRESS_LEN];
    let (identity, number) = name.split_at_mut(PublicKey::LEN);
    identity.copy_from_slice(device.identity.as_bytes());
    number.copy_from_slice(&device.device.number().to_be_bytes());
    name
}

/// Decodes the name from [`device_name`]. Returns `None` if it is invalid.
pub(super) fn device_in_name(name: &[u8]) -> Option<Address> {
    let (identity, number) = name.split_first_chunk()?;
    let identity = PublicKey::from_bytes(identity).ok()?;
    let device = DeviceId::new(u32::from_be_bytes(number.try_into().ok()?))?;
    Some(Address { identity, device })
}

/// A person, and the value of a record that is named by the person.
type PersonValue = (PublicKey, Zeroizing<Vec<u8>>);

/// Returns all records of a kind whose names are identities, with their values.
pub(super) fn persons(
    transaction: &Transaction<'_, '_>,
    kind: u16,
) -> Result<Vec<PersonValue>, EngineError> {
    const PAGE: usize = 256;
    let (mut after, mut found) = (Vec::new(), Vec::new());
    loop {
        let page = transaction.records_after(kind, &after, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(found) };
        after.clone_from(last);
        for (name, value) in page {
            let person = name.as_slice().try_into().ok();
            let person = person.and_then(|name| PublicKey::from_bytes(name).ok());
            found.push((person.ok_or(EngineError::Damaged("person"))?, value));
        }
    }
}

/// Counts the records of a kind.
pub(super) fn count(transaction: &Transaction<'_, '_>, kind: u16) -> Result<u64, EngineError> {
    const PAGE: usize = 512;
    let (mut after, mut count) = (Vec::new(), 0);
    loop {
        let page = transaction.records_after(kind, &after, PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(count) };
        after.clone_from(last);
        count += page.len() as u64;
    }
}

/// Returns the current time in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
