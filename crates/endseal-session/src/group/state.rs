//! The state of a group as bytes. It is ours alone and no format for exchange.

use endseal_crypto::secret::Zeroizing;

use super::error::StateError;
use super::skipped_key_budget::SkippedKeyBudget;
use super::state_fields::{flag, take};

const VERSION: u8 = 1;

/// Changes of a group, to be written in one transaction.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[non_exhaustive]
pub struct GroupChanges {
    /// The group, without past epochs. Replaces what was stored.
    pub state: Zeroizing<Vec<u8>>,
    /// Epochs that have ended since.
    pub epoch_inserts: Vec<EpochState>,
    /// Past epochs that were used since.
    pub epoch_updates: Vec<EpochState>,
    /// Past epochs before this one are to be deleted: nothing opens their messages any more.
    pub trim_below: u64,
}

/// The keys of a past epoch.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[allow(clippy::exhaustive_structs, reason = "what a store keeps in a row, and gives back")]
#[derive(Clone)]
pub struct EpochState {
    /// The epoch's number.
    pub epoch: u64,
    /// Its keys.
    pub state: Zeroizing<Vec<u8>>,
}

/// State that is kept beside the library's.
#[derive(Clone, Default)]
pub(super) struct GroupMeta {
    pub(super) pending: Option<Pending>,
    pub(super) is_removed: bool,
    /// Digests of this device's commits of past epochs, to know them when they come back.
    pub(super) own_commits: Vec<OwnCommit>,
    pub(super) skipped_keys: SkippedKeyBudget,
    /// Bytes of the proposals that wait for a commit.
    pub(super) proposals: u64,
}

#[derive(Clone, Copy)]
pub(super) struct OwnCommit {
    pub(super) epoch: u64,
    pub(super) digest: [u8; 32],
}

/// A commit of this device that is neither accepted nor discarded.
#[derive(Clone)]
pub(super) struct Pending {
    pub(super) digest: [u8; 32],
    pub(super) secrets: Zeroizing<Vec<u8>>,
}

impl GroupMeta {
    /// Version, facts, and last the library's state.
    pub(super) fn encode(&self, mls: &[u8]) -> Zeroizing<Vec<u8>> {
        let secrets = self.pending.as_ref().map_or(0, |pending| 36 + pending.secrets.len());
        let length = 4 + 40 * self.own_commits.len() + secrets + mls.len();
        let mut out = Zeroizing::new(Vec::with_capacity(length));
        out.push(VERSION);
        out.push(u8::from(self.is_removed));
        // At most three are kept.
        out.push(u8::try_from(self.own_commits.len()).unwrap_or(u8::MAX));
        for commit in &self.own_commits {
            out.extend_from_slice(&commit.epoch.to_le_bytes());
            out.extend_from_slice(&commit.digest);
        }
        out.push(u8::from(self.pending.is_some()));
        if let Some(Pending { digest, secrets }) = &self.pending {
            out.extend_from_slice(digest);
            out.extend_from_slice(&(secrets.len() as u64).to_le_bytes());
            out.extend_from_slice(secrets);
        }
        out.extend_from_slice(&self.proposals.to_le_bytes());
        self.skipped_keys.encode(&mut out);
        out.extend_from_slice(mls);
        out
    }

    /// The facts, and the library's state.
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
            Some(Pending { digest, secrets: Zeroizing::new(secrets.to_vec()) })
        } else {
            None
        };
        let proposals = u64::from_le_bytes(take(&mut rest)?);
        let skipped_keys = SkippedKeyBudget::decode(&mut rest)?;
        Ok((Self { pending, is_removed, own_commits, skipped_keys, proposals }, rest))
    }
}
