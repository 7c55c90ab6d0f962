//! Rules for commits: they add, remove and update members, keep the group within its limits, and
//! follow the membership rule of a conversation (docs/spec/conversation.md, "Commits").

use alloc::sync::Arc;

use endseal_keyring::device::Address;
use mls_rs::MlsRules;
use mls_rs::client_builder::PaddingMode;
use mls_rs::extension::ExtensionType;
use mls_rs::group::proposal::{AddProposal, ProposalType};
use mls_rs::group::{GroupContext, Roster};
use mls_rs::mls_rs_codec::MlsSize;
use mls_rs::mls_rules::{
    CommitDirection, CommitOptions, CommitSource, EncryptionOptions, ProposalBundle, ProposalInfo,
};
use mls_rs::{Extension, ExtensionList};
use mls_rs_core::group::Capabilities;

use super::credential;
use super::evidence::Evidence;
use super::membership_state::MembershipState;
use super::refused::Refused;
use super::storage_adapter::StorageAdapter;

/// Extension of the group context with the digest of the conversation's state.
pub(super) const STATE_DIGEST: ExtensionType = ExtensionType::new(0xf0e1);
/// Extension of the group info, and so of welcomes, with the state itself.
pub(super) const STATE: ExtensionType = ExtensionType::new(0xf0e2);
/// Extension of a key package that may be used more than once (draft-ietf-mls-extensions).
pub(super) const LAST_RESORT: ExtensionType = ExtensionType::new(0x000a);
/// Proposal with the evidence for a change of the state.
pub(super) const EVIDENCE: ProposalType = ProposalType::new(0xf0e3);

/// Rules of the specifications, the same for every member.
#[derive(Clone)]
pub(super) struct Rules(pub(super) StorageAdapter);

/// Largest number of members of a group.
pub const MAX_MEMBERS: usize = 8_192;
/// Length limit of a proposal to add a member, in bytes. Most of it is the leaf node, which the
/// group keeps. It also limits the length of a key package.
pub const MAX_ADD_LEN: usize = 4_096;

/// Returns the extensions of the context of a conversation's group.
pub(super) fn context_extensions(state: &MembershipState) -> ExtensionList {
    let digest = Extension::new(STATE_DIGEST, state.digest().to_vec());
    #[cfg(test)]
    if let Some(required) = super::classical::required_capabilities() {
        return [required, digest].into_iter().collect();
    }
    [digest].into_iter().collect()
}

/// Returns true if the context of a group names this state, and nothing else.
pub(super) fn is_state_of(extensions: &ExtensionList, state: &MembershipState) -> bool {
    *extensions == context_extensions(state)
}

/// Returns true if a leaf may be that of a member of a conversation. The library takes evidence
/// only while every leaf names it, also if it removes the leaf that does not; and a long leaf is
/// part of each welcome.
pub(super) fn is_leaf_of_member(capabilities: &Capabilities, extensions: &ExtensionList) -> bool {
    capabilities.extensions.contains(&STATE_DIGEST)
        && capabilities.proposals.contains(&EVIDENCE)
        && capabilities.mls_encoded_len() + extensions.mls_encoded_len() <= MAX_ADD_LEN
}

impl MlsRules for Rules {
    type Error = Refused;

    fn filter_proposals(
        &self,
        _: CommitDirection,
        source: CommitSource,
        roster: &Roster<'_>,
        _: &GroupContext,
        proposals: ProposalBundle,
    ) -> Result<ProposalBundle, Self::Error> {
        let known = proposals.add_proposals().len()
            + proposals.update_proposals().len()
            + proposals.remove_proposals().len();
        #[cfg(test)]
        if super::hostile::is_hostile() {
            return Ok(proposals);
        }
        let conversation = self.0.table().conversation.clone();
        match conversation {
            // Such a proposal is refused when it is received, so it never gets into this device's
            // commits.
            None if known != proposals.length() => return Err(Refused::UnknownProposal),
            None => {}
            Some(state) => {
                let next = check_conversation(state, &source, roster, &proposals)?;
                self.0.table().conversation = Some(next);
            }
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

/// Checks a commit against the membership rule, and returns the state after it.
fn check_conversation(
    before: Arc<MembershipState>,
    source: &CommitSource,
    roster: &Roster<'_>,
    proposals: &ProposalBundle,
) -> Result<Arc<MembershipState>, Refused> {
    let adds = proposals.add_proposals();
    let removes = proposals.remove_proposals();
    let evidence = proposals.custom_proposals();
    let contexts = proposals.group_context_ext_proposals();
    if adds.len() + removes.len() + evidence.len() + contexts.len() != proposals.length() {
        return Err(Refused::UnknownProposal);
    }
    let is_own = adds.iter().all(ProposalInfo::is_by_value)
        && removes.iter().all(ProposalInfo::is_by_value)
        && evidence.iter().all(ProposalInfo::is_by_value)
        && contexts.iter().all(ProposalInfo::is_by_value);
    if !is_own {
        return Err(Refused::UnknownProposal);
    }
    let after = match (evidence, contexts) {
        ([], []) => before,
        ([evidence], [context]) if evidence.proposal.proposal_type() == EVIDENCE => {
            let evidence = Evidence::from_bytes(evidence.proposal.data());
            // A device that is no member yet makes no commits here.
            let CommitSource::ExistingMember(by) = source else {
                return Err(Refused::Membership);
            };
            let by = credential::address(&by.signing_identity).map_err(|_| Refused::Membership)?;
            let after = evidence.and_then(|it| before.after(&it, &by.identity));
            let after = after.map_err(|_| Refused::Membership)?;
            if !is_state_of(&context.proposal, &after) {
                return Err(Refused::Membership);
            }
            Arc::new(after)
        }
        _ => return Err(Refused::Membership),
    };
    let is_able = |add: &ProposalInfo<AddProposal>| {
        let add = &add.proposal;
        is_leaf_of_member(&add.capabilities(), &add.leaf_node_extensions())
    };
    if !adds.iter().all(is_able) {
        return Err(Refused::Membership);
    }
    let added = adds.iter().map(|add| {
        let certificate = credential::certificate(add.proposal.signing_identity());
        certificate.map(|it| it.address()).map_err(|_| Refused::Membership)
    });
    let added: Vec<Address> = added.collect::<Result<_, _>>()?;
    let removed = removes.iter().map(|remove| {
        let member = roster.member_with_index(remove.proposal.to_remove());
        let member = member.map_err(|_| Refused::Membership)?;
        credential::address(&member.signing_identity).map_err(|_| Refused::Membership)
    });
    let removed: Vec<Address> = removed.collect::<Result<_, _>>()?;
    // A device that is removed and added again has lost its state.
    let may_go = |it: &Address| !after.has_device(it) || added.contains(it);
    if added.iter().all(|it| after.has_device(it)) && removed.iter().all(may_go) {
        Ok(after)
    } else {
        Err(Refused::Membership)
    }
}
