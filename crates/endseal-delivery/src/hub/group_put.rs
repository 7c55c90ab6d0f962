//! Frames for the members of a group, and commits that change them.

use endseal_codec::frame::StoredFrame;
use endseal_codec::hub::{Code, CommitView, ConversationView};
use endseal_crypto::peer_id::PeerId;

use crate::members::MembersDigest;
use crate::stored_limits;
use crate::targets::Targets;

/// Id of a group of a conversation.
pub type GroupId = [u8; 16];

/// A frame for members of a group.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a hub that overlooks a field breaks a rule")]
pub struct GroupPut<'a> {
    /// Sequence of the frame.
    pub sequence: u64,
    /// Members that shall get the frame; `None` for all but the sender. A commit is for all, and
    /// these are the members that it replaces, who get the welcome, too.
    pub targets: Option<Targets<'a>>,
    /// The stored frame.
    pub frame: &'a [u8],
    /// Id of the group.
    pub group: &'a GroupId,
    /// Epoch in which the frame was made.
    pub epoch: u64,
    /// Digest of the members in that epoch, as the sender knows them.
    pub members: MembersDigest,
    /// The group after the frame, if it is a commit.
    pub commit: Option<GroupCommit<'a>>,
}

/// The group after a commit.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a hub that overlooks a field breaks a rule")]
pub struct GroupCommit<'a> {
    /// Members after the commit, in ascending order.
    pub members: Targets<'a>,
    /// A stored frame for those that are new or replaced. Its sequence is the next one after the
    /// commit's.
    pub welcome: Option<&'a [u8]>,
}

impl<'a> GroupPut<'a> {
    /// Checks the form of a request.
    pub(super) fn read(
        sequence: u64,
        targets: &'a [u8],
        frame: &'a [u8],
        conversation: &ConversationView<'a>,
        peer: &PeerId,
    ) -> Result<Self, Code> {
        let targets = match targets {
            [] => None,
            ids => Some(Targets::read(ids).map_err(|_| Code::TARGETS)?),
        };
        let commit = match &conversation.commit {
            None => None,
            Some(commit) => {
                let commit = GroupCommit::read(sequence, commit, peer)?;
                if targets.is_some_and(|it| !commit.replaces(&it, peer)) {
                    return Err(Code::TARGETS);
                }
                Some(commit)
            }
        };
        Ok(Self {
            sequence,
            targets,
            frame,
            group: conversation.group,
            epoch: conversation.epoch,
            members: MembersDigest::from_bytes(*conversation.members),
            commit,
        })
    }
}

impl<'a> GroupCommit<'a> {
    /// Returns true if a commit of the peer can replace these members.
    fn replaces(&self, targets: &Targets<'_>, peer: &PeerId) -> bool {
        let members: alloc::vec::Vec<PeerId> = self.members.iter().collect();
        self.welcome.is_some()
            && targets.iter().all(|id| id != *peer && members.binary_search(&id).is_ok())
    }

    fn read(sequence: u64, commit: &CommitView<'a>, peer: &PeerId) -> Result<Self, Code> {
        let members = Targets::read(commit.members).map_err(|_| Code::TARGETS)?;
        if !members.iter().is_sorted_by(|a, b| a < b) {
            return Err(Code::TARGETS);
        }
        let welcome = match commit.welcome {
            [] => None,
            frame => {
                let parsed = StoredFrame::parse(frame, stored_limits());
                let parsed = parsed.and_then(|frame| frame.vouched_by(peer.as_bytes()));
                let follows =
                    |it: &StoredFrame<'_>| Some(it.stamp().sequence) == sequence.checked_add(1);
                if !parsed.is_ok_and(|it| follows(&it)) {
                    return Err(Code::FRAME);
                }
                Some(frame)
            }
        };
        Ok(Self { members, welcome })
    }
}
