//! Results of opening a group message.

use core::fmt;

use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, Certificate};

/// A message that was authenticated and opened.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opened {
    /// A text.
    #[non_exhaustive]
    Message {
        /// Member that signed it.
        sender: Address,
        /// Decrypted content.
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

/// Changes by a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The epoch that has begun.
    pub epoch: u64,
    /// Member that made the commit.
    pub by: Address,
    /// Members that joined.
    pub added: Vec<Address>,
    /// Their certificates, in that order.
    pub(crate) certificates: Vec<[u8; Certificate::LEN]>,
    /// Members that left.
    pub removed: Vec<Address>,
    /// True if this device has left: then the group opens nothing more.
    pub is_removed: bool,
}

/// Proposal of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proposed {
    /// That somebody joins.
    #[non_exhaustive]
    Add {
        /// Member that proposes it.
        by: Address,
        /// Device that is to join.
        member: Address,
    },
    /// That somebody leaves.
    #[non_exhaustive]
    Remove {
        /// Member that proposes it.
        by: Address,
        /// Member that is to leave.
        member: Address,
    },
    /// That the proposer's keys are replaced.
    #[non_exhaustive]
    Update {
        /// Member that proposes it.
        by: Address,
    },
}
