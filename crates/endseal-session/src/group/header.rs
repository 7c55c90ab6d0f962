//! Unencrypted header of a group message (RFC 9420, section 6.3).

use super::framing::{MAX_GROUP_ID_LEN, MAX_MESSAGE, vector};
use super::note::Note;

/// Protocol version and wire format: MLS 1.0, `PrivateMessage`.
const PREFIX: [u8; 4] = [0, 1, 0, 2];

/// Header of a group message: group, epoch and kind of content. It is not authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupHeader<'a> {
    /// Id of the group, 1 to 63 bytes.
    pub id: &'a [u8],
    /// Epoch whose keys open the message.
    pub epoch: u64,
    /// Kind of the content.
    pub content: Content,
}

/// Kind of the content of a group message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// Text of the application.
    Application,
    /// Proposal to change the group.
    Proposal,
    /// Commit that changes the group and starts the next epoch.
    Commit,
    /// Note to one member of a conversation, which is no message of MLS.
    Note,
}

impl<'a> GroupHeader<'a> {
    /// Decodes the header and checks the frame. It needs no key.
    ///
    /// `None` unless the bytes are exactly one `MLSMessage` with a `PrivateMessage`, or a note.
    /// Changes of a group are encrypted too, so no signature of an outsider is ever verified.
    #[must_use]
    pub fn parse(body: &'a [u8]) -> Option<Self> {
        if body.len() > MAX_MESSAGE {
            return None;
        }
        if let Some(note) = Note::parse(body) {
            return Some(Self { id: note.group, epoch: note.epoch, content: Content::Note });
        }
        let mut rest = body.strip_prefix(&PREFIX)?;
        let id = vector(&mut rest)?;
        let (epoch, after) = rest.split_first_chunk()?;
        let (&content_type, after) = after.split_first()?;
        rest = after;
        // Authenticated data, sender data and ciphertext; no bytes may follow.
        let data = vector(&mut rest)?;
        let sender_data = vector(&mut rest)?;
        let ciphertext = vector(&mut rest)?;
        let is_whole = rest.is_empty() && !sender_data.is_empty() && !ciphertext.is_empty();
        let content = match content_type {
            1 => Content::Application,
            2 => Content::Proposal,
            3 => Content::Commit,
            _ => return None,
        };
        if !is_whole || !data.is_empty() || id.is_empty() || id.len() > MAX_GROUP_ID_LEN {
            return None;
        }
        Some(Self { id, epoch: u64::from_be_bytes(*epoch), content })
    }
}
