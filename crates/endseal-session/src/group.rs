//! Groups: MLS (RFC 9420) with states that stay in memory until they are saved
//! (docs/spec/session.md, "Groups").
//!
//! This module accesses no file, clock or thread. States are passed as bytes. The caller stores
//! them encrypted, in the transaction of the messages that changed them.

#[cfg(test)]
mod classical;
mod config;
mod credential;
mod device;
mod error;
mod evidence;
mod framing;
mod header;
#[cfg(test)]
mod hostile;
mod membership_error;
mod membership_state;
mod mls_state;
mod note;
mod opened;
mod provider;
mod refused;
mod rollback;
mod rules;
mod signatures;
mod skipped_key_budget;
mod state;
mod state_fields;
mod storage_adapter;
mod suite;
#[cfg(test)]
mod tests;

use alloc::sync::Arc;
use core::time::Duration;

use endseal_crypto::hash;
use endseal_crypto::random::Random;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, Certificate};
use mls_rs::error::MlsError;
use mls_rs::group::CommitBuilder;
use mls_rs::group::proposal::CustomProposal;
use mls_rs::time::MlsTime;
use mls_rs::{Extension, MlsMessage};

pub(crate) use self::device::check_id;
pub use self::device::{GroupDevice, GroupKey, Joined, KeyPackageSecret};
pub use self::error::{GroupError, OpenError, StateError};
pub use self::evidence::Evidence;
pub use self::framing::MAX_GROUP_ID_LEN;
pub use self::header::{Content, GroupHeader};
pub use self::membership_error::MembershipError;
pub use self::membership_state::{Members, MembershipState};
pub use self::note::MAX_NOTE_LEN;
pub use self::opened::{Change, Opened, Proposed};
pub use self::rules::{MAX_ADD_LEN, MAX_MEMBERS};
pub use self::state::{EpochState, GroupChanges};
pub use self::suite::Suite;

use self::config::Config;
use self::mls_state::{Failed, MlsState};
use self::note::{AddressBytes, Note};
use self::refused::Refused;
use self::rollback::Rollback;
use self::rules::{EVIDENCE, STATE, context_extensions};
use self::state::Pending;

/// Number of past epochs whose messages can still be opened.
pub const PAST_EPOCHS: u64 = 3;
/// Length limit of a welcome, in bytes: a ratchet tree of 8 MiB, and the secrets of each added
/// member.
pub const MAX_WELCOME_LEN: usize = 16 << 20;
/// Upper bound of the bytes by which a message is longer than its text: frame, signature, tags, and
/// padding that hides all but the two upper bits of the length.
const OVERHEAD: usize = 512;
/// Numbers of texts that are opened together. Fewer save no time; more save little, while one bad
/// text among them makes all of them be opened singly.
const MIN_TOGETHER: usize = 4;
const MAX_TOGETHER: usize = 128;

/// State of one MLS group on this device.
///
/// Methods change the group in memory only. Work on a [`fork`](Self::fork), store the result of
/// [`save`](Self::save), and replace the group by the fork when that is committed.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Group {
    /// Shared with forks and the undo point until one of them changes.
    now: Arc<MlsState>,
    rollback: Rollback,
    /// True if a failed message could not be undone. The state in memory must not be used or saved
    /// then.
    is_broken: bool,
}

/// Returns the bytes of an address in a note.
fn bytes_of(address: &Address) -> AddressBytes {
    let mut bytes = [0; 36];
    let (identity, device) = bytes.split_at_mut(32);
    identity.copy_from_slice(address.identity.as_bytes());
    device.copy_from_slice(&address.device.number().to_le_bytes());
    bytes
}

/// A commit that was made and is not accepted yet.
#[derive(Clone, PartialEq, Eq)]
#[allow(missing_debug_implementations, reason = "a welcome is of no use in a log")]
#[non_exhaustive]
pub struct Commit {
    /// Message for the members of the group.
    pub commit: Vec<u8>,
    /// Welcomes, each of which is for all added devices; empty if the commit adds no member.
    pub welcome: Vec<Vec<u8>>,
    /// Addresses of the added devices.
    pub added: Vec<Address>,
    /// Certificates of the added devices, in the same order.
    pub(crate) certificates: Vec<[u8; Certificate::LEN]>,
    /// Ids of the key packages of the added devices that must not be used again.
    pub(crate) key_packages: Vec<Vec<u8>>,
    /// Time since 1970 after which none of the key packages is valid.
    pub(crate) key_packages_until: Duration,
}

impl Group {
    fn new(now: MlsState) -> Self {
        Self { now: Arc::new(now), rollback: Rollback::default(), is_broken: false }
    }

    /// Returns an independent copy. Copying costs nothing until one of the two changes.
    ///
    /// The caller MUST NOT seal in both, because their messages would use the same keys.
    #[must_use]
    pub fn fork(&self) -> Self {
        let (now, is_broken) = (Arc::clone(&self.now), self.is_broken);
        Self { now, rollback: Rollback::default(), is_broken }
    }

    /// Returns the id of the group.
    #[must_use]
    pub fn id(&self) -> &[u8] {
        self.now.mls.group_id()
    }

    /// Returns the number of the current epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.now.mls.current_epoch()
    }

    /// Returns the cipher suite; `None` if this crate does not support it.
    #[must_use]
    pub fn suite(&self) -> Option<Suite> {
        Suite::from_number(self.now.mls.cipher_suite().into())
    }

    /// Returns the members of the group, this device included.
    #[must_use]
    pub fn members(&self) -> Vec<Address> {
        self.now.members().map(|(_, member)| member).collect()
    }

    /// Returns the members with the bytes of their certificates.
    pub(crate) fn certificates(
        &self,
    ) -> Result<Vec<(Address, [u8; Certificate::LEN])>, StateError> {
        self.now.certificates()
    }

    /// Returns the address of this device.
    #[must_use]
    pub fn address(&self) -> Address {
        self.now.address
    }

    /// Returns persons and devices of a conversation; `None` for a group without these rules.
    #[must_use]
    pub fn conversation(&self) -> Option<&MembershipState> {
        self.now.conversation()
    }

    /// Returns true if this device is still in the group.
    #[must_use]
    pub fn is_member(&self) -> bool {
        !self.now.group_meta.is_removed
    }

    /// Returns true if proposals wait for a commit; no text can be sealed before it.
    #[must_use]
    pub fn needs_commit(&self) -> bool {
        self.now.mls.commit_required()
    }

    /// Returns true if a commit of this device is neither accepted nor discarded.
    #[must_use]
    pub fn has_pending(&self) -> bool {
        self.now.group_meta.pending.is_some()
    }

    /// Reads the header of a message, to route it or to keep it until its epoch has started. Uses
    /// no cryptography; the header is not authenticated. `None` if the message is malformed.
    #[must_use]
    pub fn peek_epoch(body: &[u8]) -> Option<GroupHeader<'_>> {
        GroupHeader::parse(body)
    }

    /// Opens a message. The pending commit of this device is accepted when it is delivered back,
    /// and discarded when another member's commit comes first.
    ///
    /// # Errors
    /// [`OpenError`] if the message cannot be opened. The group is unchanged: the same message, or
    /// the genuine one if this was damaged, can still be opened.
    pub fn open(&mut self, body: &[u8]) -> Result<Opened, OpenError> {
        let header = self.route(body)?;
        if header.content == Content::Commit && self.is_pending(body) {
            let accepted = self.accept_pending().map_err(|_| OpenError::Authentication);
            return accepted.map(Opened::Change);
        }
        if header.content == Content::Note {
            return self.open_note(body);
        }
        self.rollback.mark(&self.now);
        match Arc::make_mut(&mut self.now).open(&header, body) {
            Ok(opened) => {
                self.rollback.record(body);
                Ok(opened)
            }
            Err(Failed { error, took_key }) => {
                if took_key {
                    match self.rollback.rewind() {
                        Some(before) => self.now = before,
                        None => {
                            self.is_broken = true;
                            return Err(OpenError::Internal);
                        }
                    }
                }
                Err(error)
            }
        }
    }

    /// Opens messages in their order, each as [`open`](Self::open) does. The signatures of
    /// consecutive texts are verified together, which takes about half the time for many texts.
    pub fn open_many(&mut self, bodies: &[&[u8]]) -> Vec<Result<Opened, OpenError>> {
        let mut results = Vec::with_capacity(bodies.len());
        let mut rest = bodies;
        while !rest.is_empty() {
            let is_text = |body: &&&[u8]| {
                self.route(body).is_ok_and(|header| header.content == Content::Application)
            };
            let texts = rest.iter().take(MAX_TOGETHER).take_while(is_text).count();
            let (first, after) = rest.split_at(texts.max(1));
            self.open_together(first, &mut results);
            rest = after;
        }
        results
    }

    fn open_together(&mut self, bodies: &[&[u8]], results: &mut Vec<Result<Opened, OpenError>>) {
        if bodies.len() >= MIN_TOGETHER {
            let before = Arc::clone(&self.now);
            self.rollback.mark(&before);
            let texts = bodies.iter().filter_map(|body| Some((GroupHeader::parse(body)?, *body)));
            let texts: Vec<_> = texts.collect();
            if let Some(opened) = Arc::make_mut(&mut self.now).open_many(&texts) {
                let opened = bodies
                    .iter()
                    .zip(opened)
                    .map(|(body, result)| result.inspect(|_| self.rollback.record(body)));
                results.extend(opened);
                return;
            }
            self.now = before;
        }
        results.extend(bodies.iter().map(|body| self.open(body)));
    }

    /// Reads the header of a message, if it belongs to this group and to an epoch whose keys may
    /// exist.
    fn route<'a>(&self, body: &'a [u8]) -> Result<GroupHeader<'a>, OpenError> {
        if self.is_broken {
            return Err(OpenError::Internal);
        }
        let header = GroupHeader::parse(body).ok_or(OpenError::Malformed)?;
        if header.id != self.id() {
            return Err(OpenError::OtherGroup);
        }
        if !self.is_member() {
            return Err(OpenError::NotMember);
        }
        let epoch = self.epoch();
        if header.epoch > epoch {
            return Err(OpenError::LaterEpoch(header.epoch));
        }
        if header.epoch < epoch && header.content != Content::Application {
            let is_own = self.now.is_own_commit(header.epoch, body);
            return Err(if is_own { OpenError::Own } else { OpenError::OldEpoch });
        }
        if header.epoch < self.now.oldest_epoch() { Err(OpenError::OldEpoch) } else { Ok(header) }
    }

    /// Encrypts a text to the members in the current epoch.
    ///
    /// The caller MUST store the changed state before the message is sent. It MUST send the same
    /// bytes again instead of sealing again.
    ///
    /// # Errors
    /// [`GroupError::NotMember`] if this device was removed, [`GroupError::CommitRequired`] if
    /// proposals wait, [`GroupError::TooLong`] if the text is too long, [`GroupError::Internal`] if
    /// the library fails.
    pub fn seal(&mut self, plaintext: &[u8]) -> Result<Vec<u8>, GroupError> {
        if !self.is_member() {
            return Err(GroupError::NotMember);
        }
        if self.now.mls.commit_required() {
            return Err(GroupError::CommitRequired);
        }
        if plaintext.len() + plaintext.len() / 4 + OVERHEAD > framing::MAX_MESSAGE {
            return Err(GroupError::TooLong);
        }
        // An undo must not restore a key that was used.
        self.rollback.clear();
        let message = Arc::make_mut(&mut self.now)
            .run(|mls| mls.encrypt_application_message(plaintext, Vec::new())?.to_bytes());
        message.map_err(|_| GroupError::Internal)
    }

    /// Seals a note to one member. It changes nothing in the group. It opens in this epoch alone.
    ///
    /// # Errors
    /// [`GroupError::NoConversation`] for a group without one, [`GroupError::NotMember`] if this
    /// device was removed, [`GroupError::NoSuchMember`] if the receiver is no member,
    /// [`GroupError::TooLong`] for more than [`MAX_NOTE_LEN`] bytes, [`GroupError::Internal`] if
    /// the key is not that of the leaf, or the random source or the library fails.
    pub fn seal_note(
        &self,
        key: &GroupKey,
        to: &Address,
        text: &[u8],
        random: &mut impl Random,
    ) -> Result<Vec<u8>, GroupError> {
        if self.conversation().is_none() {
            return Err(GroupError::NoConversation);
        }
        if !self.is_member() {
            return Err(GroupError::NotMember);
        }
        if text.len() > MAX_NOTE_LEN {
            return Err(GroupError::TooLong);
        }
        self.now.signer_of(to).ok_or(GroupError::NoSuchMember)?;
        let from = self.now.address;
        if self.now.signer_of(&from) != Some(*key.public_key()) {
            return Err(GroupError::Internal);
        }
        let exported = self.now.exported_for_notes().ok_or(GroupError::Internal)?;
        let addresses = (&bytes_of(&from), &bytes_of(to));
        let place = (self.id(), self.epoch());
        note::seal(place, &exported, addresses, key.signing(), text, random)
            .map_err(|_| GroupError::Internal)
    }

    fn open_note(&self, body: &[u8]) -> Result<Opened, OpenError> {
        if self.conversation().is_none() {
            return Err(OpenError::Malformed);
        }
        let note = Note::parse(body).ok_or(OpenError::Malformed)?;
        let opened = || {
            let mut members = self.now.members();
            let (_, sender) = members.find(|(_, it)| bytes_of(it) == *note.from)?;
            let signer = self.now.signer_of(&sender)?;
            let exported = self.now.exported_for_notes()?;
            let plaintext = note.open(&exported, &bytes_of(&self.now.address), &signer)?;
            Some(Opened::Note { sender, plaintext })
        };
        opened().ok_or(OpenError::Authentication)
    }

    /// Makes a commit that adds the devices of these key packages. It is pending until accepted.
    /// `now` is the time since 1970, against which the lifetimes of the key packages are checked.
    ///
    /// # Errors
    /// [`GroupError`] if a key package is invalid, the group would exceed a limit, a commit is
    /// pending, this device is not a member, or the group has a conversation, for which
    /// [`Self::change`] is meant. The group is unchanged then.
    pub fn add<'a>(
        &mut self,
        key_packages: impl IntoIterator<Item = &'a [u8]>,
        now: Duration,
    ) -> Result<Commit, GroupError> {
        self.check_plain()?;
        let packages: Result<Vec<_>, _> =
            key_packages.into_iter().map(MlsMessage::from_bytes).collect();
        let packages = packages.map_err(|_| GroupError::InvalidKeyPackage)?;
        self.commit(now, GroupError::InvalidKeyPackage, |builder| {
            packages.into_iter().try_fold(builder, CommitBuilder::add_member)
        })
    }

    /// Makes a commit that removes these members. It is pending until accepted.
    ///
    /// # Errors
    /// [`GroupError`] if an address is not a member or is this device, a commit is pending or this
    /// device is not a member. The group is unchanged then.
    pub fn remove(&mut self, members: &[Address], now: Duration) -> Result<Commit, GroupError> {
        self.check_plain()?;
        let own = self.now.mls.current_member_index();
        let leaf = |member: &Address| {
            let found = self.now.members().find(|(_, it)| it == member);
            let (leaf, _) = found.ok_or(GroupError::NoSuchMember)?;
            if leaf == own { Err(GroupError::RemovesItself) } else { Ok(leaf) }
        };
        let leaves: Vec<u32> = members.iter().map(leaf).collect::<Result<_, _>>()?;
        self.commit(now, GroupError::Internal, |builder| {
            leaves.into_iter().try_fold(builder, CommitBuilder::remove_member)
        })
    }

    /// Makes a commit that brings the group of a conversation nearer to its devices: takes evidence
    /// over, removes members that are no device after that, and adds devices by their key packages.
    /// A member that is added again is replaced. If this person leaves, the next commit of another
    /// member removes this device. The commit is pending until accepted.
    ///
    /// # Errors
    /// [`GroupError::NoConversation`] for a group without one, [`GroupError::Membership`] if the
    /// evidence does not follow the state or a key package is of no device of the conversation, and
    /// the errors of [`Self::add`].
    pub fn change<'a>(
        &mut self,
        evidence: &Evidence,
        key_packages: impl IntoIterator<Item = &'a [u8]>,
        now: Duration,
    ) -> Result<Commit, GroupError> {
        let before = self.conversation().ok_or(GroupError::NoConversation)?;
        let after = match evidence.is_empty() {
            true => before.clone(),
            false => {
                let own = &self.now.address.identity;
                before.after(evidence, own).map_err(|_| GroupError::Membership)?
            }
        };
        let document = match evidence.is_empty() {
            true => None,
            false => Some(evidence.to_bytes().map_err(|_| GroupError::TooLarge)?),
        };
        let (mut packages, mut added, mut reusable) = (Vec::new(), Vec::new(), Vec::new());
        for package in key_packages {
            added.push(GroupDevice::certificate_in(package)?.address());
            let package = MlsMessage::from_bytes(package);
            let package = package.map_err(|_| GroupError::InvalidKeyPackage)?;
            reusable.extend(self.now.reference_if_reusable(&package));
            packages.push(package);
        }
        let own = self.now.address;
        let goes = |it: &Address| !after.has_device(it) || added.contains(it);
        if goes(&own) && !evidence.is_departure() {
            return Err(GroupError::RemovesItself);
        }
        // A device that leaves stays until another member removes it.
        let leaves = self.now.members().filter(|(_, it)| *it != own && goes(it));
        let leaves: Vec<u32> = leaves.map(|(leaf, _)| leaf).collect();
        self.commit(now, GroupError::InvalidKeyPackage, |mut builder| {
            builder = leaves.into_iter().try_fold(builder, CommitBuilder::remove_member)?;
            builder = packages.into_iter().try_fold(builder, CommitBuilder::add_member)?;
            if let Some(document) = document {
                builder = builder.set_group_context_ext(context_extensions(&after))?;
                builder = builder.custom_proposal(CustomProposal::new(EVIDENCE, document));
            }
            let state = Extension::new(STATE, after.to_bytes());
            Ok(builder.set_group_info_ext([state].into_iter().collect()))
        })
        .map(|commit| {
            let is_used_up = |id: &Vec<u8>| !reusable.contains(id);
            let key_packages = commit.key_packages.into_iter().filter(is_used_up).collect();
            Commit { key_packages, ..commit }
        })
    }

    /// Makes a proposal to remove this device, which the next commit of another member includes.
    /// This device sends no text after it, and cannot commit its own removal.
    ///
    /// The caller MUST store the changed state before the message is sent.
    ///
    /// # Errors
    /// [`GroupError::NotMember`] if this device was removed, [`GroupError::CommitPending`] if a
    /// commit is pending, [`GroupError::Membership`] in a conversation, [`GroupError::Internal`] if
    /// the library fails.
    pub fn propose_leave(&mut self) -> Result<Vec<u8>, GroupError> {
        if !self.is_member() {
            return Err(GroupError::NotMember);
        }
        if self.has_pending() {
            return Err(GroupError::CommitPending);
        }
        self.check_plain()?;
        let before = Arc::clone(&self.now);
        self.rollback.clear();
        let own = self.now.mls.current_member_index();
        let proposal =
            Arc::make_mut(&mut self.now).run(|mls| mls.propose_remove(own, Vec::new())?.to_bytes());
        proposal.map_err(|_| {
            self.now = before;
            GroupError::Internal
        })
    }

    /// Makes a commit that replaces this device's keys and applies waiting proposals. It is pending
    /// until accepted.
    ///
    /// # Errors
    /// [`GroupError`] if a commit is pending, this device is not a member or the library fails. The
    /// group is unchanged then.
    pub fn update(&mut self, now: Duration) -> Result<Commit, GroupError> {
        self.commit(now, GroupError::Internal, |builder| Ok(builder))
    }

    /// Applies the pending commit. The caller MUST be sure that the service which orders the
    /// group's commits has accepted it.
    ///
    /// # Errors
    /// [`GroupError::NothingPending`] if no commit is pending, [`GroupError::Internal`] if the
    /// library fails.
    pub fn accept_pending(&mut self) -> Result<Change, GroupError> {
        let pending = self.now.group_meta.pending.clone().ok_or(GroupError::NothingPending)?;
        let before = Arc::clone(&self.now);
        self.rollback.clear();
        let now = Arc::make_mut(&mut self.now);
        now.group_meta.pending = None;
        now.accept(&pending).map_err(|_| {
            self.now = before;
            GroupError::Internal
        })
    }

    /// Drops the pending commit. Call it when another commit came first, or this one was refused.
    pub fn discard_pending(&mut self) {
        if self.has_pending() {
            // A later undo must not restore it.
            self.rollback.clear();
            Arc::make_mut(&mut self.now).group_meta.pending = None;
        }
    }

    /// Returns all changes since the last call, for the store. Afterwards a failed message is not
    /// undone beyond this state, so old keys are removed from memory.
    ///
    /// # Errors
    /// [`GroupError::Internal`] if the state cannot be encoded, or a failed message could not be
    /// undone.
    pub fn save(&mut self) -> Result<GroupChanges, GroupError> {
        if self.is_broken {
            return Err(GroupError::Internal);
        }
        self.rollback.clear();
        Arc::make_mut(&mut self.now).save().map_err(|_| GroupError::Internal)
    }

    /// Refuses a change that is for groups without a conversation.
    fn check_plain(&self) -> Result<(), GroupError> {
        if self.conversation().is_some() { Err(GroupError::Membership) } else { Ok(()) }
    }

    fn is_pending(&self, body: &[u8]) -> bool {
        let pending = self.now.group_meta.pending.as_ref();
        pending.is_some_and(|pending| pending.digest == hash::digest(body))
    }

    fn commit(
        &mut self,
        time: Duration,
        refused: GroupError,
        propose: impl for<'b> FnOnce(
            CommitBuilder<'b, Config>,
        ) -> Result<CommitBuilder<'b, Config>, MlsError>,
    ) -> Result<Commit, GroupError> {
        if !self.is_member() {
            return Err(GroupError::NotMember);
        }
        if self.has_pending() {
            return Err(GroupError::CommitPending);
        }
        let before = Arc::clone(&self.now);
        self.rollback.clear();
        let now = Arc::make_mut(&mut self.now);
        let key_packages_until = time.saturating_add(device::LIFETIME);
        let time = MlsTime::from_duration_since_epoch(time);
        let (built, table) = now.run_for(None, |mls| {
            let (out, secrets) =
                propose(mls.commit_builder())?.commit_time(time).build_detached()?;
            let welcomes = out.welcome_messages.iter();
            let ids = welcomes.clone().flat_map(MlsMessage::welcome_key_package_references);
            let ids: Vec<_> = ids.map(|id| id.to_vec()).collect();
            let welcome = welcomes.map(MlsMessage::to_bytes).collect::<Result<_, _>>()?;
            Ok((out.commit_message.to_bytes()?, welcome, ids, secrets.to_bytes()?))
        });
        let made = built.map_err(|error: MlsError| match Refused::of(&error) {
            Some(Refused::TooLarge) => GroupError::TooLarge,
            Some(Refused::Membership) => GroupError::Membership,
            _ => refused,
        });
        let made = made.and_then(|(commit, welcome, key_packages, secrets)| {
            let digest = hash::digest(&commit);
            let secrets = Zeroizing::new(secrets);
            let pending = Pending { digest, secrets, conversation: table.conversation };
            // Applied to a copy, which shows the new members and checks the limits of the group.
            let mut after = now.clone();
            let Change { added, certificates, .. } =
                after.accept(&pending).map_err(|_| GroupError::TooLarge)?;
            now.group_meta.pending = Some(pending);
            Ok(Commit { commit, welcome, added, certificates, key_packages, key_packages_until })
        });
        made.inspect_err(|_| self.now = before)
    }
}
