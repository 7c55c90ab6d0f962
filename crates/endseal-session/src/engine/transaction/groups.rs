//! Group operations of a transaction.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use endseal_crypto::hash;
use endseal_crypto::random::Random;
use endseal_keyring::device::{Address, Certificate};
use endseal_store::SessionStatus;

use super::{EngineTransaction, load, remote_device};
use crate::engine::batch::StateCache;
use crate::engine::conversation::Conversation;
use crate::engine::conversation_state::{ConversationState, GroupConversation, Occasion};
use crate::engine::outbox::Outgoing;
use crate::engine::outgoing_message::{OutgoingKind, OutgoingMessage};
use crate::engine::records::{self, UsedKeyPackage};
use crate::engine::store_session::StoreSession;
use crate::group::{
    Change, Commit, Group, GroupDevice, GroupError, MAX_WELCOME_LEN, MembershipState, Suite,
    check_id,
};
use crate::{
    EngineError, GroupChangeError, MAX_MESSAGE_LEN, Message, PairwiseAccount, Released, SendError,
};

/// Limit in bytes for all welcomes of one commit: each added device gets its own copy.
const MAX_WELCOMES: usize = 64 << 20;

/// Group that this device has joined by a welcome.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinedGroup {
    /// Id of the group. It was chosen by the maker of the group and does not identify it reliably.
    pub id: Vec<u8>,
    /// Epoch in which this device joined.
    pub epoch: u64,
    /// Member who signed the welcome.
    pub inviter: Address,
    /// Members, including this device.
    pub members: Vec<Address>,
    /// Members with a certificate that is superseded by one that this device has seen.
    pub superseded: Vec<Address>,
    /// Messages that were parked for the group and have a result now.
    pub released: Vec<Released>,
    /// Persons and devices of the conversation; `None` for a group without one.
    pub conversation: Option<MembershipState>,
    /// True if the device was added by its key package of last resort: it SHOULD commit an update.
    pub by_last_resort: bool,
}

/// State of a group, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupSummary {
    /// Id of the group.
    pub id: Vec<u8>,
    /// Current epoch.
    pub epoch: u64,
    /// Cipher suite; `None` if this crate does not support it.
    pub suite: Option<Suite>,
    /// Members. If this device was removed, the members of its last epoch.
    pub members: Vec<Address>,
    /// Members with a certificate that is superseded by one that this device has seen.
    pub superseded: Vec<Address>,
    /// True if this device is a member.
    pub is_member: bool,
    /// True if this device has a commit that is neither accepted nor discarded.
    pub has_pending: bool,
    /// True if proposals wait for a commit; no text can be sent before it.
    pub needs_commit: bool,
    /// Status, which decides if messages may be sent.
    pub status: SessionStatus,
    /// Persons and devices of the conversation; `None` for a group without one.
    pub conversation: Option<MembershipState>,
}

impl<A: PairwiseAccount> EngineTransaction<'_, '_, A> {
    /// Makes a key package, with which others can add this device to a group. Its secrets are
    /// stored. `now` is the time since 1970.
    ///
    /// # Errors
    /// [`GroupChangeError`] if the suite is not supported or the store fails.
    pub fn key_package(
        &mut self,
        suite: Suite,
        now: Duration,
    ) -> Result<Vec<u8>, GroupChangeError> {
        let (public, secret) = self.device.groups.key_package(suite, now)?;
        self.transaction
            .put_record(records::KEY_PACKAGE, &secret.id, &secret.data)
            .map_err(EngineError::from)?;
        Ok(public)
    }

    /// Makes a key package of last resort: others can add this device with it any number of times.
    /// Its secrets are stored until its lifetime has ended. `now` is the time since 1970.
    ///
    /// # Errors
    /// [`GroupChangeError`] if the suite is not supported or the store fails.
    pub fn last_resort_key_package(
        &mut self,
        suite: Suite,
        now: Duration,
    ) -> Result<Vec<u8>, GroupChangeError> {
        let (public, secret) = self.device.groups.last_resort_key_package(suite, now)?;
        self.transaction
            .put_record(records::KEY_PACKAGE, &secret.id, &secret.data)
            .map_err(EngineError::from)?;
        Ok(public)
    }

    /// Makes a group with this device as its only member. `now` is the time since 1970.
    ///
    /// # Errors
    /// [`GroupChangeError::Exists`] if this device knows a group with that id; [`GroupChangeError`]
    /// if the id is invalid or the store fails.
    pub fn create_group(&mut self, id: &[u8], now: Duration) -> Result<(), GroupChangeError> {
        check_id(id)?;
        let membership = membership(&mut self.store_session, self.state_cache, id)?;
        if membership.group().is_some() {
            return Err(GroupChangeError::Exists);
        }
        membership.set(self.device.groups.create(id, now)?);
        Ok(())
    }

    /// Makes the group of a conversation with this device as its only member. `now` is the time
    /// since 1970. [`Self::commit_group`] with [`Group::change`] adds the others.
    ///
    /// # Errors
    /// [`GroupChangeError::Exists`] if this device knows a group with that id; [`GroupChangeError`]
    /// if this device is not in the state, the id is invalid or the store fails.
    pub fn create_conversation(
        &mut self,
        id: &[u8],
        state: MembershipState,
        now: Duration,
    ) -> Result<(), GroupChangeError> {
        check_id(id)?;
        let membership = membership(&mut self.store_session, self.state_cache, id)?;
        if membership.group().is_some() {
            return Err(GroupChangeError::Exists);
        }
        membership.set(self.device.groups.create_conversation(id, state, now)?);
        Ok(())
    }

    /// Joins the group of a welcome, and opens messages that were parked for it.
    ///
    /// A known group with the same id is replaced only if the welcome leads to a later epoch and
    /// was signed by a member of the known group. Thus a device that missed commits or was restored
    /// can join again, but an outsider's group with the same id replaces nothing. A conversation is
    /// replaced by one of the same members alone, whose roster and records are not older; a device
    /// that these name may have signed the welcome, too.
    ///
    /// The caller MUST show the inviter and the members to the user before it relies on the id.
    ///
    /// # Errors
    /// [`GroupChangeError::Exists`] if the known group is not replaced; if the welcome is the right
    /// one, call [`Self::forget_group`] first. [`GroupChangeError::Joined`] if this welcome was
    /// used before, [`GroupChangeError::KeyPackageUsed`] if its key package was used by another
    /// welcome.
    pub fn join_group(&mut self, welcome: &[u8]) -> Result<JoinedGroup, GroupChangeError> {
        let digest = hash::digest(welcome);
        let (mut failed, mut used) = (None, None);
        let joined = self.device.groups.join(welcome, |id| {
            let found =
                self.transaction.record(records::KEY_PACKAGE, id).map_err(EngineError::from);
            let found = found.and_then(|found| {
                if found.is_none() {
                    used = self.used_key_package(id)?.or(used.take());
                }
                Ok(found)
            });
            found.unwrap_or_else(|error| {
                failed = Some(error);
                None
            })
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        let joined = match joined {
            Err(GroupError::NoKeyPackage) => {
                return Err(match used {
                    Some(used) if used.welcome == digest => GroupChangeError::Joined,
                    Some(_) => GroupChangeError::KeyPackageUsed,
                    None => GroupError::NoKeyPackage.into(),
                });
            }
            joined => joined?,
        };
        let (group, inviter) = (joined.group, joined.inviter);
        let id = group.id().to_vec();
        let membership = membership(&mut self.store_session, self.state_cache, &id)?;
        if let Some(known) = membership.group() {
            // A member could bring back a device that a later record has removed.
            let goes_on = match (known.conversation(), group.conversation()) {
                (None, None) => true,
                (Some(before), Some(after)) => before.may_become(after),
                _ => false,
            };
            // A device that came after this one was removed is in the signed documents.
            let is_device = group.conversation().is_some_and(|it| it.has_device(&inviter));
            let is_member = is_device || known.members().contains(&inviter);
            if !goes_on || group.epoch() <= known.epoch() || !is_member {
                return Err(GroupChangeError::Exists);
            }
        }
        let (epoch, members) = (group.epoch(), group.members());
        let certificates = group.certificates().map_err(|_| GroupError::InvalidWelcome)?;
        let conversation = group.conversation().cloned();
        membership.set(group);
        let replaced = self.replace(&id, &joined.key_package, digest);
        self.failed |= replaced.is_err();
        let superseded = self.store_session.superseded(&certificates)?;
        let (released, by_last_resort) = replaced?;
        Ok(JoinedGroup {
            id,
            epoch,
            inviter,
            members,
            superseded,
            released,
            conversation,
            by_last_resort,
        })
    }

    fn used_key_package(&self, id: &[u8]) -> Result<Option<UsedKeyPackage>, EngineError> {
        let value = self.transaction.record(records::USED_KEY_PACKAGE, id)?;
        let read = |bytes: &[u8]| {
            UsedKeyPackage::from_bytes(bytes).ok_or(EngineError::Damaged("key package"))
        };
        value.as_deref().map(|bytes| read(bytes)).transpose()
    }

    /// Deletes the remaining rows of a replaced group, and the key package if it serves once.
    /// Returns the messages that were parked for the group and have a result now, and true if the
    /// key package is that of last resort.
    fn replace(
        &mut self,
        id: &[u8],
        key_package: &[u8],
        welcome: [u8; hash::LEN],
    ) -> Result<(Vec<Released>, bool), EngineError> {
        let conversation = Conversation::group(id).ok_or(EngineError::Damaged("group"))?;
        let mut by_last_resort = false;
        if let Some(data) = self.transaction.record(records::KEY_PACKAGE, key_package)? {
            let damaged = |_| EngineError::Damaged("key package");
            by_last_resort = GroupDevice::is_last_resort(&data).map_err(damaged)?;
            if !by_last_resort {
                let expiry = GroupDevice::key_package_expiry(&data).map_err(damaged)?;
                let used = UsedKeyPackage { expiry, welcome }.to_bytes();
                self.transaction.put_record(records::USED_KEY_PACKAGE, key_package, &used)?;
                self.transaction.remove_record(records::KEY_PACKAGE, key_package)?;
            }
        }
        // The past epochs of the replaced group do not belong to the new one.
        self.transaction.remove_group(id)?;
        self.store_session.decide(&conversation, false)?;
        Ok((self.retry(&conversation, Occasion::Changed)?, by_last_resort))
    }

    /// Proposes to the other members that this device leaves. Returns the number of the proposal in
    /// the outbox. The device stays a member until another member commits, which is reported by a
    /// [`Change`](crate::group::Change). [`Self::forget_group`] may be called before that.
    ///
    /// # Errors
    /// [`GroupChangeError`] if this device is not a member, a commit is pending or the store fails.
    pub fn leave_group(&mut self, id: &[u8]) -> Result<u64, GroupChangeError> {
        let group = self.group_to_change(id)?;
        let proposal = group.propose_leave()?;
        Ok(self.depart_group(id, &proposal, OutgoingKind::Message)?.number)
    }

    /// Deletes a group: keys, past epochs, parked messages, and in the outbox a pending commit with
    /// its welcomes. Texts in the outbox stay. Returns false if there was no group.
    ///
    /// The other members are not informed; see [`Self::leave_group`].
    ///
    /// # Errors
    /// [`EngineError`] if the store fails.
    pub fn forget_group(&mut self, id: &[u8]) -> Result<bool, EngineError> {
        let Some(conversation) = Conversation::group(id) else { return Ok(false) };
        load(&mut self.store_session, self.state_cache, &conversation, None)?;
        let budget = Arc::clone(&self.state_cache.budget);
        let (conversation_state, dedup) = self.state_cache.conversation_state(&conversation);
        if let ConversationState::Group(membership) = conversation_state {
            membership.forget();
        }
        dedup.parking.clear(&budget);
        let forgotten = self.store_session.forget_group(&conversation);
        self.failed |= forgotten.is_err();
        forgotten
    }

    /// Returns the state of a group; `None` if this device does not know it.
    ///
    /// # Errors
    /// [`EngineError::Damaged`] if the state cannot be decoded, or another [`EngineError`] if the
    /// store fails.
    pub fn group(&mut self, id: &[u8]) -> Result<Option<GroupSummary>, EngineError> {
        let membership = match membership(&mut self.store_session, self.state_cache, id) {
            Ok(membership) => membership,
            Err(GroupChangeError::Engine(error)) => return Err(error),
            Err(_) => return Ok(None),
        };
        let status = membership.status();
        let Some(group) = membership.group() else { return Ok(None) };
        let certificates = group.certificates().map_err(|_| EngineError::Damaged("group"))?;
        Ok(Some(GroupSummary {
            id: group.id().to_vec(),
            epoch: group.epoch(),
            suite: group.suite(),
            members: group.members(),
            superseded: self.store_session.superseded(&certificates)?,
            is_member: group.is_member(),
            has_pending: group.has_pending(),
            needs_commit: group.needs_commit(),
            conversation: group.conversation().cloned(),
            status,
        }))
    }

    /// Encrypts a message to all members of a group. Returns its number in the outbox.
    ///
    /// # Errors
    /// [`SendError`] if the group cannot send, the text is too long or the store fails.
    pub fn encrypt_group(&mut self, id: &[u8], plaintext: &[u8]) -> Result<u64, SendError> {
        self.dispatch_group(id, plaintext).map(|outgoing| outgoing.number)
    }

    /// Encrypts like [`Self::encrypt_group`], and returns the ciphertext, which must not be sent
    /// before the commit.
    pub(in crate::engine) fn dispatch_group(
        &mut self,
        id: &[u8],
        plaintext: &[u8],
    ) -> Result<Outgoing, SendError> {
        let group = self.group_to_change(id).map_err(|error| match error {
            GroupChangeError::Engine(error) => SendError::Engine(error),
            GroupChangeError::Restored => SendError::Restored,
            _ => SendError::NoGroup,
        })?;
        let body = group.seal(plaintext).map_err(|error| match error {
            GroupError::NotMember => SendError::NoGroup,
            GroupError::CommitRequired => SendError::CommitRequired,
            GroupError::TooLong => SendError::TooLong,
            _ => SendError::Session,
        })?;
        let departed = self.depart_group(id, &body, OutgoingKind::Message);
        departed.map_err(|error| match error {
            GroupChangeError::Engine(error) => SendError::Engine(error),
            _ => SendError::TooLong,
        })
    }

    /// Seals a note to one member of a conversation. Returns its number in the outbox. The group
    /// does not change, and other members need not get the note.
    ///
    /// # Errors
    /// [`GroupChangeError`] if the group is no conversation, one of both is no member, the text is
    /// too long or the store fails.
    pub fn send_note(
        &mut self,
        id: &[u8],
        to: Address,
        text: &[u8],
        random: &mut impl Random,
    ) -> Result<u64, GroupChangeError> {
        let membership = membership(&mut self.store_session, self.state_cache, id)?;
        if membership.status() == SessionStatus::NeedsReset {
            return Err(GroupChangeError::Restored);
        }
        let group = membership.group().ok_or(GroupChangeError::NoGroup)?;
        let body = group.seal_note(self.device.groups.key(), &to, text, random)?;
        let body = Message::Group(&body).to_bytes().map_err(|_| GroupChangeError::TooLong)?;
        let conversation = Conversation::group(id).ok_or(GroupChangeError::NoGroup)?;
        let kind = OutgoingKind::Message;
        let outgoing = OutgoingMessage { conversation, recipient: Some(to), kind, body };
        Ok(self.depart(outgoing)?.number)
    }

    /// Commits a change to a group, which `change` makes. Returns the number of the commit in the
    /// outbox. The commit is pending until the service that orders the group's messages delivers it
    /// back, or until [`Self::accept_commit`] or [`Self::discard_commit`]. Welcomes for added
    /// devices are stored in the outbox, which lists them once the commit is accepted. That of a
    /// conversation is there once, without a recipient, under the number after the commit's.
    ///
    /// # Errors
    /// [`GroupChangeError`] if `change` fails, an added certificate is superseded, a key package
    /// was used before, the commit is too long or the store fails.
    pub fn commit_group(
        &mut self,
        id: &[u8],
        change: impl FnOnce(&mut Group) -> Result<Commit, GroupError>,
    ) -> Result<u64, GroupChangeError> {
        let Commit { commit, welcome, added, certificates, key_packages, key_packages_until } =
            change(self.group_to_change(id)?)?;
        let checked = self.check_added(&added, &certificates);
        if let Err(error) = checked.and_then(|()| self.check_unused(&key_packages)) {
            self.group_to_change(id)?.discard_pending();
            return Err(error);
        }
        // A hub delivers the welcome of a conversation to all added devices.
        let is_together = self.group_to_change(id)?.conversation().is_some();
        let copies = if is_together { 1 } else { added.len() };
        let bytes = welcome.iter().map(Vec::len).sum::<usize>().saturating_mul(copies);
        let is_too_long = welcome.iter().any(|it| it.len() > MAX_WELCOME_LEN);
        let departed = if is_too_long || bytes > MAX_WELCOMES {
            Err(GroupChangeError::TooLong)
        } else {
            self.depart_group(id, &commit, OutgoingKind::Commit)
        };
        let outgoing = match departed {
            Ok(outgoing) => outgoing,
            Err(error) => {
                self.group_to_change(id)?.discard_pending();
                return Err(error);
            }
        };
        let conversation = Conversation::group(id).ok_or(GroupChangeError::NoGroup)?;
        if !key_packages.is_empty() {
            records::put_pending_key_packages(
                self.transaction,
                conversation.name(),
                &key_packages,
                key_packages_until,
            )?;
        }
        for body in welcome {
            let recipients = match is_together {
                true => vec![None],
                false => added.iter().copied().map(Some).collect(),
            };
            for recipient in recipients {
                self.depart(OutgoingMessage {
                    conversation: conversation.clone(),
                    recipient,
                    kind: OutgoingKind::Welcome,
                    body: body.clone(),
                })?;
            }
        }
        Ok(outgoing.number)
    }

    /// Refuses to add devices with a superseded certificate.
    fn check_added(
        &mut self,
        added: &[Address],
        certificates: &[[u8; Certificate::LEN]],
    ) -> Result<(), GroupChangeError> {
        for (address, certificate) in added.iter().zip(certificates) {
            let known = remote_device(&mut self.store_session, self.state_cache, *address)?;
            if known.supersedes(certificate)? {
                return Err(GroupChangeError::Superseded(*address));
            }
        }
        Ok(())
    }

    /// Refuses key packages with which this device has added a device before.
    fn check_unused(&self, key_packages: &[Vec<u8>]) -> Result<(), GroupChangeError> {
        for id in key_packages {
            let record = self.transaction.record(records::ADDED_KEY_PACKAGE, id);
            if record.map_err(EngineError::from)?.is_some() {
                return Err(GroupChangeError::KeyPackageUsed);
            }
        }
        Ok(())
    }

    /// Applies the pending commit, after the service that orders the group's messages has accepted
    /// it. Its welcomes may be sent then. The delivery of the commit as a message has the same
    /// effect.
    ///
    /// # Errors
    /// [`GroupChangeError`] if this device does not know the group, the group awaits a reset, no
    /// commit is pending or the store fails.
    pub fn accept_commit(&mut self, id: &[u8]) -> Result<Change, GroupChangeError> {
        let change = self.group_to_change(id)?.accept_pending()?;
        let conversation = Conversation::group(id).ok_or(GroupChangeError::NoGroup)?;
        let decided = self.store_session.decide(&conversation, true);
        self.failed |= decided.is_err();
        decided?;
        self.retry(&conversation, Occasion::Changed)?;
        Ok(change)
    }

    /// Drops the pending commit because another one came first. It is deleted from the outbox, with
    /// its welcomes.
    ///
    /// # Errors
    /// [`GroupChangeError`] if this device does not know the group or the store fails.
    pub fn discard_commit(&mut self, id: &[u8]) -> Result<(), GroupChangeError> {
        let membership = membership(&mut self.store_session, self.state_cache, id)?;
        membership.group_mut().ok_or(GroupChangeError::NoGroup)?.discard_pending();
        let conversation = Conversation::group(id).ok_or(GroupChangeError::NoGroup)?;
        let decided = self.store_session.decide(&conversation, false);
        self.failed |= decided.is_err();
        Ok(decided?)
    }

    /// Returns a group for a change; refuses one that awaits a reset.
    fn group_to_change(&mut self, id: &[u8]) -> Result<&mut Group, GroupChangeError> {
        let membership = membership(&mut self.store_session, self.state_cache, id)?;
        if membership.status() == SessionStatus::NeedsReset {
            return Err(GroupChangeError::Restored);
        }
        membership.group_mut().ok_or(GroupChangeError::NoGroup)
    }

    fn depart_group(
        &mut self,
        id: &[u8],
        body: &[u8],
        kind: OutgoingKind,
    ) -> Result<Outgoing, GroupChangeError> {
        let body = Message::Group(body).to_bytes().map_err(|_| GroupChangeError::TooLong)?;
        debug_assert!(body.len() <= MAX_MESSAGE_LEN);
        let conversation = Conversation::group(id).ok_or(GroupChangeError::NoGroup)?;
        Ok(self.depart(OutgoingMessage { conversation, recipient: None, kind, body })?)
    }
}

/// Returns a group, which is loaded if it is not cached.
pub(super) fn membership<'m, A: PairwiseAccount>(
    store_session: &mut StoreSession<'_, '_, A::Ratchet>,
    state_cache: &'m mut StateCache<A>,
    id: &[u8],
) -> Result<&'m mut GroupConversation, GroupChangeError> {
    let conversation = Conversation::group(id).ok_or(GroupChangeError::NoGroup)?;
    load(store_session, state_cache, &conversation, None)?;
    match &mut state_cache.conversation_state(&conversation).0 {
        ConversationState::Group(membership) if membership.is_damaged() => {
            Err(EngineError::Damaged("group").into())
        }
        ConversationState::Group(membership) => Ok(membership),
        ConversationState::Person(_) => Err(GroupChangeError::NoGroup),
    }
}
