//! Members who leave teams (docs/spec/node.md, "Leaving a team").

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::Roster;
use endseal_keyring::roster::GroupId;
use endseal_session::{Engine, EngineError};
use serde::{Deserialize, Serialize};

use super::conversation::Conversation;
use super::conversation_text;
use super::frame_target::Target;
use super::hub_groups::{HubGroup, HubGroups};
use super::in_force;
use super::leave_error::LeaveError;
use super::records::{self, DEPARTED, LEFT, Transaction};
use super::unsend::{forget_unsent, forget_waiting};
use crate::home::Home;
use crate::wire_text;

/// Departures that are read at once.
const PAGE: usize = 256;

/// A member who has left a team, and whom its roster still has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Departure {
    /// The team.
    #[serde(with = "conversation_text")]
    pub team: Conversation,
    /// Identity of the member.
    #[serde(with = "wire_text::identity")]
    pub person: PublicKey,
    /// True if the others have not learned of it.
    pub is_pending: bool,
}

/// A team that this person has left.
pub(super) struct LeftTeam {
    /// Epoch of the roster when the person left.
    pub(super) epoch: u64,
    /// True if the other members have not learned of it.
    pub(super) is_due: bool,
}

impl LeftTeam {
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
    ) -> Result<Option<Self>, EngineError> {
        let Conversation::Group(team) = conversation else { return Ok(None) };
        let value = transaction.record(LEFT, team.as_bytes())?;
        value.map(|value| Self::read(&value).ok_or(EngineError::Damaged("left team"))).transpose()
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (epoch, &[is_due @ 0..=1]) = value.split_first_chunk()? else { return None };
        Some(Self { epoch: u64::from_le_bytes(*epoch), is_due: is_due == 1 })
    }

    /// Writes the record: epoch of the roster (8) || 1 if the others have not learned of it (1).
    pub(super) fn put(
        &self,
        transaction: &Transaction<'_, '_>,
        team: &GroupId,
    ) -> Result<(), EngineError> {
        let mut value = self.epoch.to_le_bytes().to_vec();
        value.push(self.is_due.into());
        transaction.put_record(LEFT, team.as_bytes(), &value)
    }
}

/// Leaves a team: its texts are dropped from now on, and unsent ones are cancelled. The other
/// members learn it with the next [`sync`](super::sync). Returns the number of cancelled texts.
///
/// # Errors
/// Returns [`LeaveError`] if the team is not known, this person is its owner or no member, or the
/// store or a file fails.
pub fn leave(engine: &mut Engine, home: &Home, team: &Conversation) -> Result<u64, LeaveError> {
    let Conversation::Group(id) = team else { return Err(LeaveError::NoGroup) };
    let own = engine.address().identity;
    let Some((_, roster)) = home.groups().known(id)? else { return Err(LeaveError::NoGroup) };
    if *roster.owner() == own {
        return Err(LeaveError::Owner);
    }
    if roster.member_of_key(&own).is_none() {
        return Err(LeaveError::NotMember);
    }
    Ok(engine.transaction(|transaction: &mut Transaction<'_, '_>| {
        if LeftTeam::of(transaction, team)?.is_none() {
            // A change by this person comes before the departure.
            let is_changed =
                *roster.signer() == own && roster.epoch() > in_force::of(transaction, id)?;
            let has_group = !HubGroups::of(transaction, team)?.groups.is_empty();
            let is_due = is_changed || has_group;
            LeftTeam { epoch: roster.epoch(), is_due }.put(transaction, id)?;
        }
        forget_unsent(transaction, team)
    })?)
}

/// Returns the members who have left teams whose rosters still have them, and the teams that this
/// person has left.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn departures(engine: &mut Engine) -> Result<Vec<Departure>, EngineError> {
    let own = engine.address().identity;
    engine.transaction(|transaction| {
        let mut all = Vec::new();
        for (kind, name) in names(transaction)? {
            let (team, person) = match kind {
                LEFT => (name.as_slice().try_into().ok(), Some(own)),
                _ => (name.first_chunk(), name.get(16..).and_then(key)),
            };
            let departure = team.zip(person).ok_or(EngineError::Damaged("departure"))?;
            let team = Conversation::Group(GroupId::from_bytes(*departure.0));
            let left = LeftTeam::of(transaction, &team)?.filter(|_| kind == LEFT);
            let is_pending = left.is_some_and(|left| left.is_due);
            all.push(Departure { team, person: departure.1, is_pending });
        }
        Ok(all)
    })
}

fn key(bytes: &[u8]) -> Option<PublicKey> {
    PublicKey::from_bytes(bytes.try_into().ok()?).ok()
}

/// Returns the names of all records of departures, with their kinds.
fn names(transaction: &Transaction<'_, '_>) -> Result<Vec<(u16, Vec<u8>)>, EngineError> {
    let mut names = Vec::new();
    for kind in [LEFT, DEPARTED] {
        let mut after = Vec::new();
        loop {
            let page = transaction.records_after(kind, &after, PAGE)?;
            let Some((last, _)) = page.last() else { break };
            after.clone_from(last);
            names.extend(page.into_iter().map(|(name, _)| (kind, name)));
        }
    }
    Ok(names)
}

/// Notes that a member has left a team.
pub(super) fn note(
    transaction: &Transaction<'_, '_>,
    team: &GroupId,
    person: &PublicKey,
) -> Result<(), EngineError> {
    let name = [team.as_bytes(), &person.as_bytes()[..]].concat();
    transaction.put_record(DEPARTED, &name, &[])
}

/// Returns the members who have left a team, and whom its roster still has.
pub(super) fn departed(
    transaction: &Transaction<'_, '_>,
    team: &GroupId,
) -> Result<Vec<PublicKey>, EngineError> {
    let (mut after, mut departed) = (team.as_bytes().to_vec(), Vec::new());
    loop {
        let page = transaction.records_after(DEPARTED, &after, PAGE)?;
        let of_team: Vec<_> =
            page.iter().take_while(|(name, _)| name.starts_with(team.as_bytes())).collect();
        let Some((last, _)) = of_team.last() else { return Ok(departed) };
        after.clone_from(last);
        for (name, _) in of_team {
            let person = name.get(16..).and_then(key);
            departed.push(person.ok_or(EngineError::Damaged("departure"))?);
        }
    }
}

/// Forgets that members have left a team whom a later roster does not have any more.
pub(super) fn settle(
    transaction: &Transaction<'_, '_>,
    roster: &Roster,
) -> Result<(), EngineError> {
    settle_if(transaction, roster.id(), |person| roster.member_of_key(person).is_none())
}

/// Forgets that members have left a team for whom `is_settled` is true.
pub(super) fn settle_if(
    transaction: &Transaction<'_, '_>,
    team: &GroupId,
    is_settled: impl Fn(&PublicKey) -> bool,
) -> Result<(), EngineError> {
    for person in departed(transaction, team)?.iter().filter(|it| is_settled(it)) {
        let name = [team.as_bytes(), &person.as_bytes()[..]].concat();
        transaction.remove_record(DEPARTED, &name)?;
    }
    Ok(())
}

/// Takes a group of a team that this person has left: a later roster invites the person again, and
/// with the same one the device leaves the group, too.
pub(super) fn note_welcome(
    transaction: &Transaction<'_, '_>,
    roster: &Roster,
) -> Result<(), EngineError> {
    let conversation = Conversation::Group(*roster.id());
    match LeftTeam::of(transaction, &conversation)? {
        Some(left) if roster.epoch() > left.epoch => {
            transaction.remove_record(LEFT, roster.id().as_bytes()).map(drop)
        }
        Some(left) => LeftTeam { is_due: true, ..left }.put(transaction, roster.id()),
        None => Ok(()),
    }
}

/// Forgets the groups of a team that this person has left. Messages that still come in them are
/// dropped.
pub(super) fn finish(
    transaction: &mut Transaction<'_, '_>,
    team: &GroupId,
    epoch: u64,
) -> Result<(), EngineError> {
    let mut groups = HubGroups::of(transaction, &Conversation::Group(*team))?;
    let mut frames = Vec::new();
    Target::each(transaction, &mut |sequence, target| {
        let is_of_team = |group| groups.groups.iter().any(|it| it.id == group);
        frames.extend(target.group.filter(|it| is_of_team(*it)).map(|_| sequence));
    })?;
    for sequence in frames {
        Target::settle(transaction, sequence)?;
    }
    for group in &mut groups.groups {
        transaction.forget_group(&group.id)?;
        *group = HubGroup { given_up: records::now(), ..*group };
    }
    groups.put(transaction)?;
    forget_waiting(transaction, &Conversation::Group(*team))?;
    LeftTeam { epoch, is_due: false }.put(transaction, team)
}
