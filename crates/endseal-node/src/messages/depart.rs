//! Commits by which this device leaves the groups of a team (docs/spec/node.md, "Leaving a team").

use endseal_crypto::peer_id::PeerId;
use endseal_delivery::MembersDigest;
use endseal_keyring::roster::GroupId;
use endseal_session::group::{Evidence, Members, MembershipState};
use endseal_session::{EngineError, GroupChangeError};

use super::approach::Sender;
use super::clock;
use super::conversation::Conversation;
use super::departure::{self, LeftTeam};
use super::error::SyncError;
use super::hub_groups::HubGroups;
use super::payload::HubGroupId;
use super::pending_commit::{Decision, PendingCommit, put_commit};
use super::records::{LEFT, Transaction};

/// Limit on the commits in a visit.
const ATTEMPTS: usize = 8;

impl Sender<'_, '_> {
    /// Makes the commits by which this person leaves the groups of a team, and forgets them. What
    /// cannot be done now is done with the next visit. A person who has become the owner meanwhile
    /// stays.
    pub(super) async fn depart(&self, team: &GroupId) -> Result<(), SyncError> {
        let Self { hub, engine, state, .. } = *self;
        let conversation = Conversation::Group(*team);
        if engine.transaction(|transaction| self.is_owner(transaction, &conversation))? {
            engine.transaction(|it| it.remove_record(LEFT, team.as_bytes()))?;
            self.files.note_replaced(team);
            self.keep_rosters(&conversation)?;
            return Ok(());
        }
        for _ in 0..ATTEMPTS {
            let made = engine.transaction(|transaction: &mut Transaction<'_, '_>| {
                // A later roster may have invited this person again.
                if LeftTeam::of(transaction, &conversation)?.is_none() {
                    return Ok(None);
                }
                let own = self.own.identity;
                // The others are members of those that were given up here, too.
                let mut groups = HubGroups::of(transaction, &conversation)?;
                groups.groups.iter_mut().for_each(|it| it.given_up = 0);
                let is_member = |state: &MembershipState| state.record_of(&own).is_some();
                let Some(group) = groups.sending(transaction, is_member)? else {
                    let left = LeftTeam::of(transaction, &conversation)?;
                    departure::finish(transaction, team, left.map_or(0, |it| it.epoch))?;
                    return Ok(None);
                };
                let epoch = transaction.group_epoch(&group.id)?.unwrap_or_default();
                if state.is_behind(&group.id, epoch) {
                    return Ok(None);
                }
                self.departing_commit(transaction, &group.id, epoch).map(|it| Some((group.id, it)))
            });
            let (group, number) = match made {
                Ok(Some(made)) => made,
                Ok(None) => return Ok(()),
                Err(GroupChangeError::Engine(error)) => return Err(error.into()),
                Err(_) => return Ok(()),
            };
            match put_commit(hub, engine, state, number).await? {
                // The state has no record of this person any more.
                Decision::Accepted | Decision::Members => {}
                Decision::Behind => return Ok(()),
                Decision::NoGroup | Decision::Refused | Decision::Gone(_) | Decision::Full(_) => {
                    engine.transaction(|transaction: &mut Transaction<'_, '_>| {
                        HubGroups::of(transaction, &conversation)?.give_up(transaction, &group)?;
                        transaction.forget_group(&group).map(drop)
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Returns true if this person owns a team by the newest roster that came in one of its groups.
    fn is_owner(
        &self,
        transaction: &mut Transaction<'_, '_>,
        team: &Conversation,
    ) -> Result<bool, EngineError> {
        let (mut newest, mut is_owner) = (0, false);
        for group in HubGroups::of(transaction, team)?.groups {
            let state = transaction.group(&group.id)?.and_then(|it| it.conversation);
            if let Some(Members::Team(roster)) = state.as_ref().map(MembershipState::members)
                && roster.epoch() > newest
            {
                (newest, is_owner) = (roster.epoch(), *roster.owner() == self.own.identity);
            }
        }
        Ok(is_owner)
    }

    /// Makes the commit by which this person leaves a group. Returns its number.
    fn departing_commit(
        &self,
        transaction: &mut Transaction<'_, '_>,
        group: &HubGroupId,
        epoch: u64,
    ) -> Result<u64, GroupChangeError> {
        let members = transaction.group_peers(group)?;
        let now = clock::time(transaction)?;
        let number = transaction
            .commit_group(group, |group| group.change(&Evidence::departure(), [], now))?;
        let peers = || members.iter().map(|(_, peer)| *peer);
        let mut before = self.state.at_hub(group).unwrap_or_else(|| peers().collect());
        before.sort_unstable();
        let stays = members
            .iter()
            .filter(|(member, _)| *member == self.own || member.identity != self.own.identity);
        let mut after: Vec<PeerId> = stays.map(|(_, peer)| *peer).collect();
        after.sort_unstable();
        let (group, replaced, before) = (*group, Vec::new(), MembersDigest::of(&before));
        PendingCommit { group, epoch, before, replaced, after }.put(transaction, number)?;
        Ok(number)
    }
}
