//! Groups of conversations: the order of their commits, and who gets their frames
//! (docs/spec/delivery.md, "Conversations").

use std::borrow::Cow;

use bytes::Bytes;
use endseal_codec::hub::{Code, Refused};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::MembersDigest;
use endseal_delivery::hub::GroupId;

use super::Rules;
use crate::command::{GroupChange, GroupFrame, Put, refused};
use crate::store::{DeviceRow, GroupRow, GroupState, GroupTotals, StorageError};

/// Maximum number of groups that a person can have made.
const MAX_GROUPS: u64 = 10_000;

/// A group as the transaction has it now.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// `None` until it is written.
    row: Option<GroupRow>,
    /// The identity of the person who made it.
    creator: [u8; 32],
    epoch: u64,
    /// Peer ids in ascending order.
    members: Vec<PeerId>,
    /// True if it must be written.
    is_changed: bool,
}

impl From<GroupState> for Group {
    fn from(GroupState { row, creator, epoch, members, .. }: GroupState) -> Self {
        Self { row: Some(row), creator, epoch, members, is_changed: false }
    }
}

impl Group {
    /// Returns the number of members that get a frame of one of them.
    pub(super) fn number_of_others(&self) -> usize {
        self.members.len().saturating_sub(1)
    }
}

/// Deliveries of a frame, and of the welcome with it.
pub(super) struct Recipients<'p> {
    pub(super) targets: Cow<'p, [PeerId]>,
    pub(super) welcome: Option<(&'p Bytes, Vec<PeerId>)>,
    /// The group after the frame, if it is a commit.
    pub(super) after: Option<(GroupId, Group)>,
    /// Number of members who do not get it, as their mailboxes are full.
    pub(super) missed: u64,
}

impl Rules<'_> {
    /// Reads and locks groups, and returns their members.
    pub(super) fn load_groups(&mut self, ids: &[GroupId]) -> Result<Vec<PeerId>, StorageError> {
        let mut peers = Vec::new();
        for state in self.transaction.groups(ids)? {
            peers.extend_from_slice(&state.members);
            self.groups.insert(state.id, state.into());
        }
        Ok(peers)
    }

    /// Returns who gets a frame of a group, or why it is refused.
    pub(super) fn group_recipients<'p>(
        &mut self,
        put: &'p Put,
        frame: &'p GroupFrame,
        sender: &[u8; 32],
    ) -> Result<Result<Recipients<'p>, Refused>, StorageError> {
        let group = match self.groups.get(&frame.id) {
            Some(group) => group.clone(),
            None if frame.commit.is_some() && frame.epoch == 0 => {
                if self.group_totals(sender)?.groups >= MAX_GROUPS {
                    return Ok(Err(refused(Code::SPACE)));
                }
                let members = vec![put.sender];
                Group { row: None, creator: *sender, epoch: 0, members, is_changed: false }
            }
            None => return Ok(Err(refused(Code::CONVERSATION))),
        };
        if group.members.binary_search(&put.sender).is_err() {
            return Ok(Err(refused(Code::CONVERSATION)));
        }
        if frame.epoch != group.epoch {
            let refusal = Refused { epoch: group.epoch, ..refused(Code::EPOCH) };
            return Ok(Err(refusal));
        }
        if MembersDigest::of(&group.members) != frame.members {
            // A commit that sets the list right has to say what the hub has now.
            let mailboxes = group.members.iter().map(|it| *it.as_bytes()).collect();
            return Ok(Err(Refused { mailboxes, ..refused(Code::MEMBERS) }));
        }
        self.load(group.members.iter().copied())?;
        match &frame.commit {
            Some(change) => self.commit_recipients(put, frame, change, group, sender),
            None => Ok(self.member_recipients(put, &group, sender)),
        }
    }

    /// Returns the members that get a frame which is no commit.
    fn member_recipients<'p>(
        &self,
        put: &'p Put,
        group: &Group,
        sender: &[u8; 32],
    ) -> Result<Recipients<'p>, Refused> {
        let targets: Cow<'p, [PeerId]> = match &put.targets[..] {
            [] => group.members.iter().copied().filter(|it| *it != put.sender).collect(),
            named if named.iter().all(|it| group.members.binary_search(it).is_ok()) => {
                Cow::Borrowed(named)
            }
            _ => return Err(refused(Code::TARGETS)),
        };
        // The conversation has a device that was revoked: a commit must remove it first.
        let gone = targets.iter().filter(|it| self.is_absent(sender, it));
        let gone: Vec<_> = gone.map(|it| *it.as_bytes()).collect();
        if !gone.is_empty() {
            return Err(Refused { mailboxes: gone, ..refused(Code::MAILBOX) });
        }
        Ok(Recipients { targets, welcome: None, after: None, missed: 0 })
    }

    /// Returns the recipients of a commit: the members before it, and for the welcome those that
    /// are new or replaced.
    fn commit_recipients<'p>(
        &mut self,
        put: &'p Put,
        frame: &GroupFrame,
        change: &'p GroupChange,
        before: Group,
        sender: &[u8; 32],
    ) -> Result<Result<Recipients<'p>, Refused>, StorageError> {
        let is_new = |it: &&PeerId| before.members.binary_search(it).is_err();
        let mut new: Vec<PeerId> = change.members.iter().filter(is_new).copied().collect();
        // The request has shown that they are members after it.
        let were_members = put.targets.iter().all(|it| before.members.binary_search(it).is_ok());
        new.extend_from_slice(&put.targets);
        self.load(new.iter().copied())?;
        let has_sender = change.members.binary_search(&put.sender).is_ok();
        if !has_sender || !were_members || new.is_empty() != change.welcome.is_none() {
            return Ok(Err(refused(Code::TARGETS)));
        }
        let gone = new.iter().filter(|it| self.is_absent(sender, it));
        let mut gone: Vec<_> = gone.map(|it| *it.as_bytes()).collect();
        // One that has not registered itself would stop the texts of other persons.
        let members = || change.members.iter().filter_map(|it| self.read(it));
        if !members().all(|it| it.state.identity == *sender) {
            let pending =
                members().filter(|it| it.state.is_pending && it.state.identity == *sender);
            gone.extend(pending.map(|it| *it.state.peer.as_bytes()));
        }
        if !gone.is_empty() {
            return Ok(Err(Refused { mailboxes: gone, ..refused(Code::MAILBOX) }));
        }
        if !self.has_room_for(frame, change, &before.creator)? {
            return Ok(Err(refused(Code::SPACE)));
        }
        // One that is revoked or full does not keep the others from their next epoch.
        let added = put.frame.len() as u64;
        let takes = |it: &&PeerId| {
            **it != put.sender && !self.is_absent(sender, it) && !self.is_full(sender, it, added)
        };
        let targets = before.members.iter().filter(takes).copied().collect();
        let missed = before
            .members
            .iter()
            .filter(|it| **it != put.sender)
            .filter(|it| !self.is_absent(sender, it) && self.is_full(sender, it, added));
        let missed = missed.count() as u64;
        let after = Group {
            epoch: before.epoch + 1,
            members: change.members.clone(),
            is_changed: true,
            ..before
        };
        Ok(Ok(Recipients {
            targets,
            welcome: change.welcome.as_ref().map(|welcome| (welcome, new)),
            after: Some((frame.id, after)),
            missed,
        }))
    }

    /// Returns true if the members that a commit adds fit into what the person who made the group
    /// may have. A commit that adds none always fits.
    fn has_room_for(
        &mut self,
        frame: &GroupFrame,
        change: &GroupChange,
        creator: &[u8; 32],
    ) -> Result<bool, StorageError> {
        let before = self.groups.get(&frame.id).map_or(0, |group| group.members.len());
        let added = change.members.len().saturating_sub(before) as u64;
        if added == 0 {
            return Ok(true);
        }
        let members = self.group_totals(creator)?.members;
        Ok(members.saturating_add(added) <= self.context.limits.group_members)
    }

    /// Returns sums over the groups that a person has made, those of this transaction included. The
    /// store is asked once in a transaction.
    fn group_totals(&mut self, creator: &[u8; 32]) -> Result<GroupTotals, StorageError> {
        if let Some(totals) = self.group_totals.get(creator) {
            return Ok(*totals);
        }
        // The store counts what is written.
        self.write_groups()?;
        let totals = self.transaction.groups_of(creator)?;
        self.group_totals.insert(*creator, totals);
        Ok(totals)
    }

    /// Replaces a group by its state after a commit.
    pub(super) fn adopt_group(&mut self, id: GroupId, after: Group) {
        let before = self.groups.get(&id).map(|group| group.members.len() as u64);
        if let Some(totals) = self.group_totals.get_mut(&after.creator) {
            totals.groups += u64::from(before.is_none());
            let others = totals.members.saturating_sub(before.unwrap_or_default());
            totals.members = others + after.members.len() as u64;
        }
        self.groups.insert(id, after);
    }

    /// Removes a device from all groups.
    pub(super) fn leave_groups(
        &mut self,
        peer: &PeerId,
        row: DeviceRow,
    ) -> Result<(), StorageError> {
        for group in self.groups.values_mut() {
            group.members.retain(|member| member != peer);
        }
        // The store removes the device from groups that are not loaded, too.
        self.group_totals.clear();
        self.transaction.leave_groups(row)
    }

    /// Writes the groups that were changed.
    pub(super) fn write_groups(&mut self) -> Result<(), StorageError> {
        for (id, group) in self.groups.iter_mut().filter(|(_, group)| group.is_changed) {
            let row = match group.row {
                Some(row) => row,
                None => *group.row.insert(self.transaction.add_group(id, &group.creator)?),
            };
            self.transaction.update_group(row, group.epoch, &group.members)?;
            group.is_changed = false;
        }
        Ok(())
    }
}
