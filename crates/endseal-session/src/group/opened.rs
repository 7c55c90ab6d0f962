//! What a group message was.

use core::fmt;

use endseal_crypto::secret::Zeroizing;

use crate::address::Address;
use crate::certificate::Certificate;

/// A message that was authenticated and opened.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opened {
    /// A text.
    #[non_exhaustive]
    Message {
        /// Who has signed it.
        sender: Address,
        /// What was sealed.
        plaintext: Zeroizing<Vec<u8>>,
    },
    /// The group has changed: the next epoch has begun.
    Change(Change),
    /// A member wants the group to change; the next commit of anybody will contain it.
    Proposal(Proposed),
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message { sender, plaintext } => {
                write!(f, "Message({sender:?}, {} bytes)", plaintext.len())
            }
            Self::Change(change) => change.fmt(f),
            Self::Proposal(proposal) => proposal.fmt(f),
        }
    }
}

/// What a commit has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The epoch that has begun.
    pub epoch: u64,
    /// Whose commit it was.
    pub by: Address,
    /// Who has joined.
    pub added: Vec<Address>,
    /// Their certificates, in that order.
    pub(crate) certificates: Vec<[u8; Certificate::LEN]>,
    /// Who has left.
    pub removed: Vec<Address>,
    /// Whether this device has: then the group opens nothing more.
    pub is_removed: bool,
}

/// What a member proposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proposed {
    /// That somebody joins.
    #[non_exhaustive]
    Add {
        /// Who proposes it.
        by: Address,
        /// Who is to join.
        member: Address,
    },
    /// That somebody leaves.
    #[non_exhaustive]
    Remove {
        /// Who proposes it.
        by: Address,
        /// Who is to leave.
        member: Address,
    },
    /// That the proposer's keys are replaced.
    #[non_exhaustive]
    Update {
        /// Who proposes it.
        by: Address,
    },
}
