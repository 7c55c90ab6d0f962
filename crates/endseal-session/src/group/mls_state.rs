//! State of a group at one member: the library's state, past epochs and addresses of the members.

use alloc::sync::Arc;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::hash;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, Certificate};
use mls_rs::error::MlsError;
use mls_rs::group::proposal::Proposal;
use mls_rs::group::{
    CommitEffect, CommitMessageDescription, CommitSecrets, Member, ProposalMessageDescription,
    ProposalSender, ReceivedMessage,
};
use mls_rs::{CryptoProvider as _, MlsMessage};

use super::config::Config;
use super::error::{GAP, OpenError, StateError};
use super::evidence::Evidence;
use super::header::{Content, GroupHeader};
use super::membership_state::MembershipState;
use super::note::EXPORTER;
use super::opened::{Change, Opened, Proposed};
use super::provider::Provider;
use super::rules::{EVIDENCE, LAST_RESORT, MAX_MEMBERS, is_leaf_of_member, is_state_of};
use super::signatures::Signatures;
use super::skipped_key_budget::MAX_MISSING;
use super::state::{EpochState, GroupChanges, GroupMeta, OwnCommit, Pending};
use super::storage_adapter::{Epochs, StorageAdapter, Table, Watch};
use super::suite::Suite;
use super::{PAST_EPOCHS, credential};

/// Number of commits after which past epochs are taken from the library. It keeps all of them until
/// it writes its state, and three are enough.
const SETTLE_AFTER: u32 = 16;
/// Limit in bytes for the ratchet tree of a group. With a second tree in a pending commit, 65,536
/// skipped keys and proposals, the state fits into a row of the store.
const MAX_TREE: usize = 8 << 20;
/// Limit in bytes for the proposals that wait for a commit.
const MAX_PROPOSALS: u64 = 1 << 20;

/// Complete state of a group at one member. A clone is independent of the original.
#[derive(Clone)]
pub(super) struct MlsState {
    pub(super) mls: mls_rs::Group<Config>,
    pub(super) group_meta: GroupMeta,
    /// Address of this device.
    pub(super) address: Address,
    /// Past epochs as of the last write by the library.
    epochs: Epochs,
    /// Epochs that differ from the store, or are missing there.
    dirty: Dirty,
    /// Addresses of the members, by leaf. Their keys were checked when they joined.
    members: Arc<[Option<Address>]>,
    storage_adapter: StorageAdapter,
    /// Upper bound of the tree's length, in bytes.
    tree_bound: usize,
    unsettled: u32,
    /// Epoch whose tree is stored.
    saved_epoch: Option<u64>,
    /// Set while texts are opened together.
    signatures: Option<Signatures>,
}

/// Failure to open a message.
pub(super) struct Failed {
    pub(super) error: OpenError,
    /// True if a ratchet or the count of skipped keys has changed: the state must not be used then.
    pub(super) took_key: bool,
}

#[derive(Clone, Default)]
struct Dirty {
    inserted: Vec<u64>,
    updated: Vec<u64>,
}

impl MlsState {
    pub(super) fn with(
        mls: mls_rs::Group<Config>,
        storage_adapter: StorageAdapter,
        group_meta: GroupMeta,
        epochs: Epochs,
    ) -> Result<Self, StateError> {
        let members = addresses(&mls, &[])?;
        let dirty = Dirty::default();
        let own = mls.current_member_signing_identity().map_err(|_| StateError)?;
        let address = credential::address(own).map_err(|_| StateError)?;
        let tree_bound = mls.export_tree().byte_size();
        Ok(Self {
            mls,
            group_meta,
            address,
            epochs,
            dirty,
            members,
            storage_adapter,
            tree_bound,
            unsettled: 0,
            saved_epoch: None,
            signatures: None,
        })
    }

    /// Notes that the tree is stored as it is.
    pub(super) fn is_saved(&mut self) {
        self.saved_epoch = Some(self.mls.current_epoch());
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (u32, Address)> {
        (0..).zip(self.members.iter()).filter_map(|(leaf, member)| Some((leaf, (*member)?)))
    }

    /// Returns the members with their certificates.
    pub(super) fn certificates(
        &self,
    ) -> Result<Vec<(Address, [u8; Certificate::LEN])>, StateError> {
        let roster = self.mls.roster();
        let certificate = |it: Member| {
            let member = self.member(it.index).ok_or(StateError)?;
            let bytes = credential::content(&it.signing_identity).map_err(|_| StateError)?;
            Ok((member, *bytes))
        };
        roster.members_iter().map(certificate).collect()
    }

    /// Opens texts, and verifies their signatures together. `None` if a text failed after its key
    /// was taken, or a signature is wrong. The state must not be used then; opening the texts one
    /// by one shows which one failed.
    pub(super) fn open_many(
        &mut self,
        texts: &[(GroupHeader<'_>, &[u8])],
    ) -> Option<Vec<Result<Opened, OpenError>>> {
        self.signatures = Some(Signatures::default());
        let opened = texts.iter().map(|(header, body)| match self.open(header, body) {
            Ok(opened) => Some(Ok(opened)),
            Err(failed) if failed.took_key => None,
            Err(failed) => Some(Err(failed.error)),
        });
        let opened: Option<Vec<_>> = opened.collect();
        let verified = self.signatures.take().is_some_and(|it| it.verify());
        opened.filter(|_| verified)
    }

    /// Opens a message of the current or a past epoch. If it fails with `took_key`, the state must
    /// not be used.
    pub(super) fn open(&mut self, header: &GroupHeader<'_>, body: &[u8]) -> Result<Opened, Failed> {
        let untouched = |error| Failed { error, took_key: false };
        let is_proposal = header.content == Content::Proposal;
        // Members of a conversation change it by commits alone.
        if is_proposal && self.group_meta.conversation.is_some() {
            return Err(untouched(OpenError::Malformed));
        }
        // Proposals are kept until a commit, which any member can delay.
        let proposals = self.group_meta.proposals.saturating_add(body.len() as u64);
        if is_proposal && proposals > MAX_PROPOSALS {
            return Err(untouched(OpenError::Malformed));
        }
        if header.content == Content::Commit {
            self.grow(body.len());
        }
        let message = MlsMessage::from_bytes(body).map_err(|_| untouched(OpenError::Malformed))?;
        let watch = Watch {
            epoch: header.epoch,
            is_application: header.content == Content::Application,
            skipped_keys: core::mem::take(&mut self.group_meta.skipped_keys),
            message: None,
            is_full: false,
        };
        let (received, table) =
            self.run_for(Some(watch), |mls| mls.process_incoming_message(message));
        let Some(watch) = table.watch else { return Err(untouched(OpenError::Malformed)) };
        self.group_meta.skipped_keys = watch.skipped_keys;
        let Some(taken) = watch.message else {
            let error = match &received {
                // The library recognises its own proposals by their bytes.
                Ok(ReceivedMessage::Proposal(_)) => OpenError::Own,
                Ok(_) => OpenError::Authentication,
                Err(error) => OpenError::from_mls(error),
            };
            return Err(untouched(error));
        };
        if watch.is_full {
            return Err(untouched(OpenError::TooFarAhead { limit: MAX_MISSING }));
        }
        match received {
            Ok(received) => {
                self.group_meta.skipped_keys.took(header.epoch, taken);
                let after = table.conversation;
                let before = core::mem::replace(&mut self.group_meta.conversation, after);
                let opened = self.opened(received);
                let opened = opened.map_err(|error| Failed { error, took_key: true })?;
                if self.group_meta.is_removed {
                    // This device stays in its last epoch.
                    self.group_meta.conversation = before;
                }
                if is_proposal {
                    self.group_meta.proposals = proposals;
                }
                Ok(opened)
            }
            Err(error) => {
                let error = OpenError::from_mls(&error);
                // The library returns these errors before it takes a key.
                let found_none =
                    [OpenError::KeyGone, OpenError::TooFarAhead { limit: GAP }, OpenError::Own];
                Err(Failed { error, took_key: !found_none.contains(&error) })
            }
        }
    }

    fn opened(&mut self, received: ReceivedMessage) -> Result<Opened, OpenError> {
        match received {
            ReceivedMessage::ApplicationMessage(message) => {
                let sender = self.member(message.sender_index).ok_or(OpenError::Authentication)?;
                let plaintext = Zeroizing::new(message.data().to_vec());
                Ok(Opened::Message { sender, plaintext })
            }
            ReceivedMessage::Commit(commit) => {
                self.group_meta.pending = None;
                self.follow(&commit).map(Opened::Change)
            }
            ReceivedMessage::Proposal(proposal) => self.proposed(&proposal).map(Opened::Proposal),
            // The frame was a PrivateMessage, which contains none of the other kinds.
            _ => Err(OpenError::Malformed),
        }
    }

    /// Applies the pending commit to the group.
    pub(super) fn accept(&mut self, pending: &Pending) -> Result<Change, MlsError> {
        let epoch = self.mls.current_epoch();
        let secrets = CommitSecrets::from_bytes(&pending.secrets)?;
        self.grow(pending.secrets.len());
        let commit = self.run(|mls| mls.apply_detached_commit(secrets))?;
        self.group_meta.own_commits.push(OwnCommit { epoch, digest: pending.digest });
        self.group_meta.conversation.clone_from(&pending.conversation);
        // Its credentials were checked when it was built.
        self.follow(&commit).map_err(|_| MlsError::InvalidTreeIndex)
    }

    /// Raises the bound of the tree before a commit of `len` bytes. The leaves and keys that it
    /// adds are in the commit or in waiting proposals. An added leaf is listed once in each of at
    /// most 32 parents.
    fn grow(&mut self, len: usize) {
        let proposals = usize::try_from(self.group_meta.proposals).unwrap_or(usize::MAX);
        let brought = len.saturating_add(proposals).saturating_mul(2);
        self.tree_bound = self.tree_bound.saturating_add(brought);
    }

    /// Returns true if the group exceeds the limits that apply to commits.
    pub(super) fn is_too_large(&self) -> bool {
        self.tree_bound > MAX_TREE || self.members().count() > MAX_MEMBERS
    }

    /// Refuses a tree that exceeds the limit.
    fn check_tree(&mut self) -> Result<(), OpenError> {
        if self.tree_bound > MAX_TREE {
            self.tree_bound = self.mls.export_tree().byte_size();
        }
        if self.tree_bound > MAX_TREE { Err(OpenError::TooLarge) } else { Ok(()) }
    }

    /// Returns true if the bytes are a commit of this device for the past epoch `epoch`.
    pub(super) fn is_own_commit(&self, epoch: u64, body: &[u8]) -> bool {
        let mut commits = self.group_meta.own_commits.iter().filter(|commit| commit.epoch == epoch);
        commits.any(|commit| commit.digest == hash::digest(body))
    }

    /// Returns all changes since the last call.
    pub(super) fn save(&mut self) -> Result<GroupChanges, MlsError> {
        let state = self.settle()?;
        let current = Some(self.mls.current_epoch());
        let tree = match self.saved_epoch == current {
            true => None,
            false => Some(self.group_meta.encode_tree(&self.mls.export_tree().to_bytes()?)),
        };
        self.saved_epoch = current;
        let dirty = core::mem::take(&mut self.dirty);
        let epoch = |epoch: &u64| {
            let state = (**self.epochs.get(epoch)?).clone();
            Some(EpochState { epoch: *epoch, state })
        };
        Ok(GroupChanges {
            state: self.group_meta.encode(&state),
            tree,
            epoch_inserts: dirty.inserted.iter().filter_map(epoch).collect(),
            epoch_updates: dirty.updated.iter().filter_map(epoch).collect(),
            trim_below: self.oldest_epoch(),
        })
    }

    /// Returns the oldest epoch whose messages can still be opened.
    pub(super) fn oldest_epoch(&self) -> u64 {
        self.mls.current_epoch().saturating_sub(PAST_EPOCHS)
    }

    /// Runs a library operation with access to the past epochs.
    pub(super) fn run<T>(&mut self, work: impl FnOnce(&mut mls_rs::Group<Config>) -> T) -> T {
        self.run_for(None, work).0
    }

    /// Runs a library operation like [`Self::run`], and also returns the table with the data that
    /// the library has written.
    pub(super) fn run_for<T>(
        &mut self,
        watch: Option<Watch>,
        work: impl FnOnce(&mut mls_rs::Group<Config>) -> T,
    ) -> (T, Table) {
        let epochs = core::mem::take(&mut self.epochs);
        let signatures = self.signatures.take();
        let conversation = self.group_meta.conversation.clone();
        let table = Table { epochs, signatures, watch, conversation, ..Table::default() };
        let mls = &mut self.mls;
        let (result, mut table) = self.storage_adapter.with(table, || work(mls));
        self.epochs = core::mem::take(&mut table.epochs);
        self.signatures = table.signatures.take();
        (result, table)
    }

    /// Makes the library write its state. Takes over the past epochs, and returns the state.
    fn settle(&mut self) -> Result<Zeroizing<Vec<u8>>, MlsError> {
        let (written, table) =
            self.run_for(None, mls_rs::Group::write_to_storage_without_ratchet_tree);
        written?;
        for record in table.inserts {
            self.dirty.inserted.push(record.id);
            self.epochs.insert(record.id, Arc::new(record.data));
        }
        for record in table.updates {
            if !self.dirty.inserted.contains(&record.id) && !self.dirty.updated.contains(&record.id)
            {
                self.dirty.updated.push(record.id);
            }
            self.epochs.insert(record.id, Arc::new(record.data));
        }
        let oldest = self.oldest_epoch();
        self.epochs = self.epochs.split_off(&oldest);
        self.unsettled = 0;
        table.state.ok_or(MlsError::GroupNotFound)
    }

    /// Applies a commit, which the library has processed, to this state. Returns the change of the
    /// group.
    fn follow(&mut self, commit: &CommitMessageDescription) -> Result<Change, OpenError> {
        let (new, is_removed) = match &commit.effect {
            CommitEffect::NewEpoch(new) => (new, false),
            CommitEffect::Removed { new_epoch, .. } => (new_epoch, true),
            CommitEffect::ReInit(_) => return Err(OpenError::Malformed),
        };
        // A removed device stays before the path, and cannot see the leaf.
        if !is_removed {
            self.check_tree()?;
            if self.conversation().is_some() && !self.is_fit(commit.committer) {
                return Err(OpenError::Membership);
            }
        }
        let by = self.member(commit.committer).ok_or(OpenError::Authentication)?;
        let (mut added, mut certificates, mut removed) = (Vec::new(), Vec::new(), Vec::new());
        let mut evidence = None;
        for change in new.applied_proposals() {
            match &change.proposal {
                Proposal::Add(add) => {
                    let member = add.signing_identity();
                    let certificate = credential::content(member).copied();
                    let member = credential::address(member);
                    added.push(member.map_err(|_| OpenError::Authentication)?);
                    certificates.push(certificate.map_err(|_| OpenError::Authentication)?);
                }
                Proposal::Remove(remove) => {
                    let member = self.member(remove.to_remove());
                    removed.push(member.ok_or(OpenError::Authentication)?);
                }
                Proposal::Custom(custom) if custom.proposal_type() == EVIDENCE => {
                    // The rules have checked it.
                    evidence = Evidence::from_bytes(custom.data()).ok().map(Box::new);
                }
                _ => {}
            }
        }
        self.group_meta.is_removed = is_removed;
        self.group_meta.proposals = 0;
        let oldest = self.oldest_epoch();
        self.group_meta.own_commits.retain(|commit| commit.epoch >= oldest);
        self.group_meta.skipped_keys.trim(oldest);
        self.members =
            addresses(&self.mls, &self.members).map_err(|_| OpenError::Authentication)?;
        self.unsettled += 1;
        if self.unsettled >= SETTLE_AFTER {
            self.settle().map_err(|_| OpenError::Authentication)?;
        }
        Ok(Change { epoch: new.epoch(), by, added, certificates, removed, is_removed, evidence })
    }

    fn proposed(&self, proposal: &ProposalMessageDescription) -> Result<Proposed, OpenError> {
        let ProposalSender::Member(by) = proposal.sender else {
            return Err(OpenError::Malformed);
        };
        let by = self.member(by).ok_or(OpenError::Authentication)?;
        match &proposal.proposal {
            Proposal::Add(add) => {
                // A commit checks the rest. The certificate is checked now, because it is
                // displayed.
                let member = credential::certificate(add.signing_identity());
                let member = member.map_err(|_| OpenError::Authentication)?.address();
                Ok(Proposed::Add { by, member })
            }
            Proposal::Remove(remove) => {
                let member = self.member(remove.to_remove()).ok_or(OpenError::Malformed)?;
                Ok(Proposed::Remove { by, member })
            }
            Proposal::Update(_) => Ok(Proposed::Update { by }),
            _ => Err(OpenError::Malformed),
        }
    }

    /// Returns true if the context of the group names the state of the conversation.
    pub(super) fn has_its_state(&self) -> bool {
        let extensions = self.mls.context().extensions();
        match &self.group_meta.conversation {
            Some(state) => is_state_of(extensions, state),
            None => extensions.is_empty(),
        }
    }

    /// Returns true if the leaf of a member may be in a conversation.
    pub(super) fn is_fit(&self, leaf: u32) -> bool {
        #[cfg(test)]
        if super::hostile::is_hostile() {
            return true;
        }
        let member = self.mls.roster().member_with_index(leaf);
        member.is_ok_and(|it| is_leaf_of_member(&it.capabilities, &it.extensions))
    }

    /// Returns the key with which a member signs.
    pub(super) fn signer_of(&self, member: &Address) -> Option<PublicKey> {
        let (leaf, _) = self.members().find(|(_, it)| it == member)?;
        let member = self.mls.roster().member_with_index(leaf).ok()?;
        PublicKey::from_bytes(member.signing_identity.signature_key.as_bytes().try_into().ok()?)
            .ok()
    }

    /// Returns the reference of a key package that may be used more than once; `None` for others.
    pub(super) fn reference_if_reusable(&self, package: &MlsMessage) -> Option<Vec<u8>> {
        let package = package.as_key_package()?;
        if !package.extensions.has_extension(LAST_RESORT) {
            return None;
        }
        let suite = Suite::from_number(package.cipher_suite.into())?;
        let provider = Provider::new(&[suite], &self.storage_adapter);
        let provider = provider.cipher_suite_provider(package.cipher_suite)?;
        package.to_reference(&provider).ok().map(|it| it.to_vec())
    }

    /// Returns the secret of this epoch for notes.
    pub(super) fn exported_for_notes(&self) -> Option<Zeroizing<Vec<u8>>> {
        let secret = self.mls.export_secret(EXPORTER, &[], 32).ok()?;
        Some(Zeroizing::new(secret.as_bytes().to_vec()))
    }

    /// Returns the state of the conversation.
    pub(super) fn conversation(&self) -> Option<&MembershipState> {
        self.group_meta.conversation.as_deref()
    }

    /// Returns the member at a leaf.
    pub(super) fn member(&self, leaf: u32) -> Option<Address> {
        *self.members.get(usize::try_from(leaf).ok()?)?
    }
}

/// Returns the members by leaf. Those in `known` at the same leaf are not decoded again.
fn addresses(
    mls: &mls_rs::Group<Config>,
    known: &[Option<Address>],
) -> Result<Arc<[Option<Address>]>, StateError> {
    let mut members: Vec<Option<Address>> = Vec::new();
    let (mut places, mut devices, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for member in mls.roster().members_iter() {
        let leaf = usize::try_from(member.index).map_err(|_| StateError)?;
        let (key, device) =
            credential::address_bytes(&member.signing_identity).map_err(|_| StateError)?;
        members.resize(leaf + 1, None);
        match known.get(leaf) {
            Some(Some(old)) if old.identity.as_bytes() == key && old.device == device => {
                members[leaf] = Some(*old);
            }
            _ => {
                places.push(leaf);
                devices.push(device);
                keys.push(*key);
            }
        }
    }
    // Decoding the keys together takes a fraction of the time.
    let keys = PublicKey::from_bytes_many(&keys).map_err(|_| StateError)?;
    for ((leaf, device), key) in places.into_iter().zip(devices).zip(keys) {
        members[leaf] = Some(Address { identity: key, device });
    }
    Ok(members.into())
}
