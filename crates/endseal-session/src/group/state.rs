//! Encoding of a group's state for the store. It is not an exchange format.

use alloc::sync::Arc;

use endseal_crypto::secret::Zeroizing;

use super::error::StateError;
use super::evidence::put;
use super::membership_state::MembershipState;
use super::skipped_key_budget::SkippedKeyBudget;
use super::state_fields::{flag, take};

const VERSION: u8 = 1;

/// Changes of a group, which must be written in one transaction.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct GroupChanges {
    /// State of the group without past epochs, tree and conversation. It replaces the stored state.
    pub state: Zeroizing<Vec<u8>>,
    /// Ratchet tree and conversation, which only commits change; `None` if they are as at the last
    /// save. They are long, and not secret among the members.
    pub tree: Option<Vec<u8>>,
    /// Epochs that have ended since the last save.
    pub epoch_inserts: Vec<EpochState>,
    /// Past epochs whose keys were used since the last save.
    pub epoch_updates: Vec<EpochState>,
    /// Past epochs before this one must be deleted: their messages cannot be opened any more.
    pub trim_below: u64,
}

/// Keys of a past epoch.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[allow(clippy::exhaustive_structs, reason = "what a store keeps in a row, and gives back")]
#[derive(Clone)]
pub struct EpochState {
    /// Number of the epoch.
    pub epoch: u64,
    /// Encoded keys of the epoch.
    pub state: Zeroizing<Vec<u8>>,
}

/// State of a group that is stored beside the library's state.
#[derive(Clone, Default)]
pub(super) struct GroupMeta {
    pub(super) pending: Option<Pending>,
    pub(super) is_removed: bool,
    /// Digests of this device's commits of past epochs, to recognise them when they are delivered
    /// back.
    pub(super) own_commits: Vec<OwnCommit>,
    pub(super) skipped_keys: SkippedKeyBudget,
    /// Length in bytes of the proposals that wait for a commit.
    pub(super) proposals: u64,
    /// Persons and devices of a conversation; `None` for a group without these rules.
    pub(super) conversation: Option<Arc<MembershipState>>,
}

#[derive(Clone, Copy)]
pub(super) struct OwnCommit {
    pub(super) epoch: u64,
    pub(super) digest: [u8; 32],
}

/// Commit of this device that is neither accepted nor discarded.
#[derive(Clone)]
pub(super) struct Pending {
    pub(super) digest: [u8; 32],
    pub(super) secrets: Zeroizing<Vec<u8>>,
    /// State of the conversation after the commit.
    pub(super) conversation: Option<Arc<MembershipState>>,
}

impl GroupMeta {
    /// Encodes version, group metadata without the conversation, and the library's state, in this
    /// order.
    pub(super) fn encode(&self, mls: &[u8]) -> Zeroizing<Vec<u8>> {
        let secrets = self.pending.as_ref().map_or(0, |pending| 36 + pending.secrets.len());
        let length = 4 + 40 * self.own_commits.len() + secrets + mls.len();
        let mut out = Zeroizing::new(Vec::with_capacity(length));
        out.push(VERSION);
        out.push(u8::from(self.is_removed));
        // At most three commits are kept.
        out.push(u8::try_from(self.own_commits.len()).unwrap_or(u8::MAX));
        for commit in &self.own_commits {
            out.extend_from_slice(&commit.epoch.to_le_bytes());
            out.extend_from_slice(&commit.digest);
        }
        out.push(u8::from(self.pending.is_some()));
        if let Some(Pending { digest, secrets, conversation }) = &self.pending {
            out.extend_from_slice(digest);
            out.extend_from_slice(&(secrets.len() as u64).to_le_bytes());
            out.extend_from_slice(secrets);
            put_conversation(&mut out, conversation.as_deref());
        }
        out.extend_from_slice(&self.proposals.to_le_bytes());
        self.skipped_keys.encode(&mut out);
        out.extend_from_slice(mls);
        out
    }

    /// Decodes the group metadata, and returns it with the library's state.
    pub(super) fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), StateError> {
        let mut rest = bytes.strip_prefix(&[VERSION]).ok_or(StateError)?;
        let is_removed = flag(&mut rest)?;
        let [commits] = take(&mut rest)?;
        let own_commits = (0..commits).map(|_| {
            let epoch = u64::from_le_bytes(take(&mut rest)?);
            Ok(OwnCommit { epoch, digest: take(&mut rest)? })
        });
        let own_commits = own_commits.collect::<Result<_, _>>()?;
        let pending = if flag(&mut rest)? {
            let digest = take(&mut rest)?;
            let length = usize::try_from(u64::from_le_bytes(take(&mut rest)?));
            let length = length.map_err(|_| StateError)?;
            let (secrets, after) = rest.split_at_checked(length).ok_or(StateError)?;
            rest = after;
            let conversation = conversation(&mut rest)?;
            Some(Pending { digest, secrets: Zeroizing::new(secrets.to_vec()), conversation })
        } else {
            None
        };
        let proposals = u64::from_le_bytes(take(&mut rest)?);
        let skipped_keys = SkippedKeyBudget::decode(&mut rest)?;
        let conversation = None;
        let meta = Self { pending, is_removed, own_commits, skipped_keys, proposals, conversation };
        Ok((meta, rest))
    }

    /// Encodes the conversation and a ratchet tree.
    pub(super) fn encode_tree(&self, tree: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_conversation(&mut out, self.conversation.as_deref());
        out.extend_from_slice(tree);
        out
    }

    /// Takes the conversation from encoded bytes, and returns the ratchet tree.
    pub(super) fn decode_tree<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], StateError> {
        let mut rest = bytes;
        self.conversation = conversation(&mut rest)?;
        Ok(rest)
    }
}

/// Appends the length (4 bytes) and the state of a conversation; the length is 0 without one.
fn put_conversation(out: &mut Vec<u8>, state: Option<&MembershipState>) {
    let bytes = state.map(MembershipState::to_bytes).unwrap_or_default();
    put(out, &bytes);
}

fn conversation(rest: &mut &[u8]) -> Result<Option<Arc<MembershipState>>, StateError> {
    let length = usize::try_from(u32::from_le_bytes(take(rest)?)).map_err(|_| StateError)?;
    let (state, after) = rest.split_at_checked(length).ok_or(StateError)?;
    *rest = after;
    if state.is_empty() {
        return Ok(None);
    }
    let state = MembershipState::from_bytes(state).map_err(|_| StateError)?;
    Ok(Some(Arc::new(state)))
}
