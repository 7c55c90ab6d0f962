//! What a commit may do here: add, remove and update members.

use core::fmt;

use mls_rs::MlsRules;
use mls_rs::client_builder::PaddingMode;
use mls_rs::error::IntoAnyError;
use mls_rs::group::{GroupContext, Roster};
use mls_rs::mls_rules::{
    CommitDirection, CommitOptions, CommitSource, EncryptionOptions, ProposalBundle,
};

/// The rules of the specification ("Groups"), the same for every member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules;

/// The commit contains a proposal that groups do not know.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnknownProposal;

impl MlsRules for Rules {
    type Error = UnknownProposal;

    fn filter_proposals(
        &self,
        _: CommitDirection,
        _: CommitSource,
        _: &Roster<'_>,
        _: &GroupContext,
        proposals: ProposalBundle,
    ) -> Result<ProposalBundle, Self::Error> {
        let known = proposals.add_proposals().len()
            + proposals.update_proposals().len()
            + proposals.remove_proposals().len();
        // Such a proposal is not kept when it is received, so that none gets into our commits.
        if known == proposals.length() { Ok(proposals) } else { Err(UnknownProposal) }
    }

    /// Every commit has a path: whoever changes a group also heals it.
    fn commit_options(
        &self,
        _: &Roster<'_>,
        _: &GroupContext,
        _: &ProposalBundle,
    ) -> Result<CommitOptions, Self::Error> {
        Ok(CommitOptions::new().with_path_required(true).with_ratchet_tree_extension(true))
    }

    /// Who joins and leaves is nobody's business but the members'.
    fn encryption_options(
        &self,
        _: &Roster<'_>,
        _: &GroupContext,
    ) -> Result<EncryptionOptions, Self::Error> {
        Ok(EncryptionOptions::new(true, PaddingMode::StepFunction))
    }
}

impl fmt::Display for UnknownProposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a proposal is neither add nor remove nor update")
    }
}

impl core::error::Error for UnknownProposal {}

impl IntoAnyError for UnknownProposal {
    fn into_dyn_error(self) -> Result<Box<dyn core::error::Error + Send + Sync>, Self> {
        Ok(self.into())
    }
}
