//! Results of opening a group message.

use core::fmt;

use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, Certificate};

use super::evidence::Evidence;

/// Group message that was authenticated and decrypted.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opened {
    /// Text of the application.
    #[non_exhaustive]
    Message {
        /// Member who signed the message.
        sender: Address,
        /// Decrypted content.
        plaintext: Zeroizing<Vec<u8>>,
    },
    /// Note of another member to this device, which uses no key of a ratchet: it opens as often as
    /// it is delivered in its epoch.
    #[non_exhaustive]
    Note {
        /// Member who signed the note.
        sender: Address,
        /// Decrypted content.
        plaintext: Zeroizing<Vec<u8>>,
    },
    /// Commit that was applied: the next epoch has started.
    Change(Change),
    /// Proposal of a member; the next commit of any member will include it.
    Proposal(Proposed),
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message { sender, plaintext } => {
                write!(f, "Message({sender:?}, {} bytes)", plaintext.len())
            }
            Self::Note { sender, plaintext } => {
                write!(f, "Note({sender:?}, {} bytes)", plaintext.len())
            }
            Self::Change(change) => change.fmt(f),
            Self::Proposal(proposal) => proposal.fmt(f),
        }
    }
}

/// Changes of the group by a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// Number of the new epoch.
    pub epoch: u64,
    /// Member who made the commit.
    pub by: Address,
    /// Members that were added.
    pub added: Vec<Address>,
    /// Certificates of the added members, in the same order.
    pub(crate) certificates: Vec<[u8; Certificate::LEN]>,
    /// Members that were removed.
    pub removed: Vec<Address>,
    /// True if this device was removed: it can open no further messages of the group.
    pub is_removed: bool,
    /// Signed documents from which the state of a conversation follows; `None` if the commit did
    /// not change it.
    pub evidence: Option<Box<Evidence>>,
}

/// Proposal of a member to change the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proposed {
    /// Proposal to add a device.
    #[non_exhaustive]
    Add {
        /// Member who made the proposal.
        by: Address,
        /// Device to be added.
        member: Address,
    },
    /// Proposal to remove a member.
    #[non_exhaustive]
    Remove {
        /// Member who made the proposal.
        by: Address,
        /// Member to be removed.
        member: Address,
    },
    /// Proposal to replace the proposer's keys.
    #[non_exhaustive]
    Update {
        /// Member who made the proposal.
        by: Address,
    },
}
