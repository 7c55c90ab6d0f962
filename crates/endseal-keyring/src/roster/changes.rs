//! Changes from one epoch of a group to the next.

use alloc::vec::Vec;

use endseal_crypto::ed25519::PublicKey;

use super::appointment::Appointment;
use super::head::Head;
use super::{ChangeRosterError, MAX_TRANSFERS, Member, Members, OwnerOnly, Roster};
use crate::name::Name;

/// Changes from one epoch to the next. Removals come before additions, so that a member can be
/// replaced, and dismissals before appointments.
#[derive(Clone, Debug, Default)]
pub struct RosterChanges {
    name: Option<Name>,
    remove: Vec<Name>,
    add: Vec<Member>,
    dismiss: Vec<Name>,
    appoint: Vec<Name>,
    next_owner: Option<Name>,
}

/// The next epoch without the signatures that only its signer can make.
pub(super) struct Changed {
    pub(super) head: Head,
    /// Names and keys of the new admins.
    pub(super) appoint: Vec<(Name, PublicKey)>,
    /// The first change that only the owner can sign.
    pub(super) owner_only: Option<OwnerOnly>,
}

impl RosterChanges {
    /// Makes an empty set of changes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the group another name. Members see it as the name that the owner chose; their own
    /// programs can keep the group under another one.
    pub fn rename(&mut self, name: Name) -> &mut Self {
        self.name = Some(name);
        self
    }

    /// Removes the member of this name. Removals come before additions. An admin who is removed, or
    /// who is added again with another key, is no admin any more.
    pub fn remove(&mut self, name: Name) -> &mut Self {
        self.remove.push(name);
        self
    }

    /// Adds a member with its name and identity.
    pub fn add(&mut self, member: Member) -> &mut Self {
        self.add.push(member);
        self
    }

    /// Makes the member of this name an admin. Admins change the name, the members and the epoch
    /// key of the group. Only the owner can sign this change.
    pub fn appoint(&mut self, name: Name) -> &mut Self {
        self.appoint.push(name);
        self
    }

    /// Ends the appointment of the admin of this name, who stays a member. Only the owner can sign
    /// this change.
    pub fn dismiss(&mut self, name: Name) -> &mut Self {
        self.dismiss.push(name);
        self
    }

    /// Makes the member of this name the owner and ends all appointments. The present owner signs
    /// this change; the next epoch is the new owner's to sign.
    pub fn hand_on(&mut self, name: Name) -> &mut Self {
        self.next_owner = Some(name);
        self
    }

    /// Applies the changes to the newest roster of a group.
    pub(super) fn apply(&self, current: &Roster) -> Result<Changed, ChangeRosterError> {
        let epoch = current.epoch().checked_add(1).ok_or(ChangeRosterError::LastEpoch)?;
        let members = self.apply_to_members(&current.head.members)?;
        let mut head = Head {
            group: self.name.clone().unwrap_or_else(|| current.group().clone()),
            id: *current.id(),
            epoch,
            previous: Some(current.digest()),
            owner: *current.owner(),
            transfers: current.head.transfers.clone(),
            appointments: self.remaining(current, &members)?,
            signer: None,
            members,
        };
        let appoint = self.new_admins(&head)?;
        let owner_only = self.owner_only(current, &head.members);
        if let Some(name) = &self.next_owner {
            if !self.appoint.is_empty() {
                return Err(ChangeRosterError::AppointsForNextOwner);
            }
            if head.transfers.len() == MAX_TRANSFERS {
                return Err(ChangeRosterError::TooManyTransfers);
            }
            let next = *member(&head.members, name)?.identity().ed25519();
            if next == head.owner {
                return Err(ChangeRosterError::IsOwner(name.clone()));
            }
            head.owner = next;
            head.appointments.clear();
        }
        Ok(Changed { head, appoint, owner_only })
    }

    fn apply_to_members(&self, members: &Members) -> Result<Members, ChangeRosterError> {
        let mut remove: Vec<_> = self.remove.iter().collect();
        remove.sort();
        for name in &remove {
            member(members, name)?;
        }
        let stays = |member: &&Member| remove.binary_search(&member.name()).is_err();
        let stayed = members.as_slice().iter().filter(stays);
        Ok(Members::new(stayed.chain(&self.add).cloned().collect())?)
    }

    /// Returns the appointments that are not ended: of members who keep their name and key.
    fn remaining(
        &self,
        current: &Roster,
        members: &Members,
    ) -> Result<Vec<Appointment>, ChangeRosterError> {
        for name in &self.dismiss {
            let appointment = current.head.appointment(name.as_str());
            appointment.ok_or_else(|| ChangeRosterError::NotAnAdmin(name.clone()))?;
        }
        let key_in = |members: &Members, name: &Name| {
            members.find(name.as_str()).map(|it| *it.identity().ed25519())
        };
        let remains = |it: &&Appointment| {
            let kept = key_in(members, &it.admin) == key_in(&current.head.members, &it.admin);
            kept && !self.dismiss.contains(&it.admin)
        };
        Ok(current.head.appointments.iter().filter(remains).cloned().collect())
    }

    /// Returns the names and keys of the members who become admins, each once.
    fn new_admins(&self, head: &Head) -> Result<Vec<(Name, PublicKey)>, ChangeRosterError> {
        let mut names = self.appoint.clone();
        names.sort();
        names.dedup();
        let admin = |name: Name| {
            let key = *member(&head.members, &name)?.identity().ed25519();
            if key == head.owner {
                return Err(ChangeRosterError::IsOwner(name));
            }
            if head.appointment(name.as_str()).is_some() {
                return Err(ChangeRosterError::IsAdmin(name));
            }
            Ok((name, key))
        };
        names.into_iter().map(admin).collect()
    }

    /// Returns the first of these changes that no admin can sign.
    fn owner_only(&self, current: &Roster, members: &Members) -> Option<OwnerOnly> {
        let owner = current.member_of_key(current.owner());
        let stays = owner.is_none_or(|it| members.find(it.name().as_str()) == Some(it));
        [
            (self.next_owner.is_some(), OwnerOnly::HandOn),
            (!self.appoint.is_empty(), OwnerOnly::Appoint),
            (!self.dismiss.is_empty(), OwnerOnly::Dismiss),
            (!stays, OwnerOnly::RemoveOwner),
        ]
        .into_iter()
        .find_map(|(applies, change)| applies.then_some(change))
    }
}

fn member<'a>(members: &'a Members, name: &Name) -> Result<&'a Member, ChangeRosterError> {
    members.find(name.as_str()).ok_or_else(|| ChangeRosterError::NotAMember(name.clone()))
}
