//! Rules for commits: they add, remove and update members, and keep the group within its limits.

use core::fmt;

use mls_rs::MlsRules;
use mls_rs::client_builder::PaddingMode;
use mls_rs::error::{IntoAnyError, MlsError};
use mls_rs::group::{GroupContext, Roster};
use mls_rs::mls_rs_codec::MlsSize;
use mls_rs::mls_rules::{
    CommitDirection, CommitOptions, CommitSource, EncryptionOptions, ProposalBundle,
};

/// Rules of the specification ("Groups"), the same for every member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules;

/// Largest number of members of a group.
pub const MAX_MEMBERS: usize = 8_192;
/// Length limit of a proposal to add a member, in bytes. Most of it is the leaf node, which the
/// group keeps. It also limits the length of a key package.
pub const MAX_ADD_LEN: usize = 4_096;

/// Reason for refusing a commit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refused {
    /// It contains a proposal of a kind that this crate does not support.
    UnknownProposal,
    /// The group would have too many members, or an added key package is too long.
    TooLarge,
}

impl Refused {
    /// Returns the reason if the library's error comes from these rules.
    pub(super) fn of(error: &MlsError) -> Option<Self> {
        match error {
            MlsError::MlsRulesError(error) => error.inner_dyn_error().downcast_ref().copied(),
            _ => None,
        }
    }
}

impl MlsRules for Rules {
    type Error = Refused;

    fn filter_proposals(
        &self,
        _: CommitDirection,
        _: CommitSource,
        roster: &Roster<'_>,
        _: &GroupContext,
        proposals: ProposalBundle,
    ) -> Result<ProposalBundle, Self::Error> {
        let known = proposals.add_proposals().len()
            + proposals.update_proposals().len()
            + proposals.remove_proposals().len();
        // Such a proposal is refused when it is received, so it never gets into this device's
        // commits.
        if known != proposals.length() {
            return Err(Refused::UnknownProposal);
        }
        let adds = proposals.add_proposals();
        // The members are counted only if the commit adds some.
        if !adds.is_empty() {
            let members = roster.members_iter().take(MAX_MEMBERS + 1).count();
            let removed = proposals.remove_proposals().len();
            if (members + adds.len()).saturating_sub(removed) > MAX_MEMBERS
                || adds.iter().any(|add| add.proposal.mls_encoded_len() > MAX_ADD_LEN)
            {
                return Err(Refused::TooLarge);
            }
        }
        Ok(proposals)
    }

    /// Requires a path in every commit, so that each change of the group also renews the
    /// committer's keys.
    fn commit_options(
        &self,
        _: &Roster<'_>,
        _: &GroupContext,
        _: &ProposalBundle,
    ) -> Result<CommitOptions, Self::Error> {
        Ok(CommitOptions::new().with_path_required(true).with_ratchet_tree_extension(true))
    }

    /// Encrypts proposals and commits, so that only members see them.
    fn encryption_options(
        &self,
        _: &Roster<'_>,
        _: &GroupContext,
    ) -> Result<EncryptionOptions, Self::Error> {
        Ok(EncryptionOptions::new(true, PaddingMode::StepFunction))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownProposal => "a proposal is neither an add, a remove nor an update",
            Self::TooLarge => "the group would be too large",
        })
    }
}

impl core::error::Error for Refused {}

impl IntoAnyError for Refused {
    fn into_dyn_error(self) -> Result<Box<dyn core::error::Error + Send + Sync>, Self> {
        Ok(self.into())
    }
}
