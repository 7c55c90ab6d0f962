//! A message of a conversation.

use super::attachment::Attachment;
use super::body::{Body, Edit};
use super::declare::*;
use crate::metadata::Entries;

message! {
    /// A message of a conversation.
    pub struct RichMessage, RichMessageView {
        /// Random id of the message.
        1 id: Required<Fixed<16>>,
        /// Id of the conversation, 1 to 64 bytes.
        2 conversation: Required<Bytes<1, 64>>,
        /// Ed25519 public key of the sender's identity.
        3 sender: Required<Fixed<32>>,
        /// Milliseconds since 1970, by the sender's clock.
        4 timestamp: Implicit<Uint64>,
        /// Text of the message, if it has one.
        5 | 6 body: OneOf<Body, false>,
        /// Attachments, at most 32.
        7 attachments: Repeated<Nested<Attachment>, 0, 32>,
        /// Reactions to this message, at most 256.
        8 reactions: Repeated<Nested<Reaction>, 0, 256>,
        /// People whom the body mentions, at most 256.
        9 mentions: Repeated<Nested<Mention>, 0, 256>,
        /// The id of the message that this one answers.
        10 reply_to: Optional<Fixed<16>>,
        /// Edits of this message, at most 32, oldest first.
        11 edits: Repeated<Nested<Edit>, 0, 32>,
        /// Application-defined entries, at most 32.
        12 metadata: Entries,
    }
    keeps unknown
}

message! {
    /// Reaction of a person to a message.
    pub struct Reaction, ReactionView {
        /// The Ed25519 public key of the person who reacted.
        1 sender: Required<Fixed<32>>,
        /// The reaction as text of 1 to 64 bytes, usually one emoji.
        2 emoji: Required<Text<1, 64>>,
        /// Milliseconds since 1970, by the sender's clock.
        3 timestamp: Implicit<Uint64>,
    }
}

message! {
    /// A person whom a body mentions, and the place of the mention.
    pub struct Mention, MentionView {
        /// The Ed25519 public key of the person who is mentioned.
        1 peer: Required<Fixed<32>>,
        /// Start of the mention, as an offset in bytes of the body's UTF-8.
        2 start: Implicit<Uint32>,
        /// Length, in bytes of the body's UTF-8.
        3 length: Implicit<Uint32>,
    }
}

// docs/spec/codec.md, Memory.
const _: () = assert!(size_of::<Reaction>() <= 64 && size_of::<Mention>() <= 40);

impl Mention {
    /// The part of `body` that is the mention; `None` if it does not lie within, or not between
    /// characters: then show the body without this mention.
    #[must_use]
    pub fn of<'b>(&self, body: &'b str) -> Option<&'b str> {
        part(self.start, self.length, body)
    }
}

impl MentionView<'_> {
    /// Returns the mentioned part of `body`, as [`Mention::of`] does.
    #[must_use]
    pub fn of<'b>(&self, body: &'b str) -> Option<&'b str> {
        part(self.start, self.length, body)
    }
}

fn part(start: u32, length: u32, body: &str) -> Option<&str> {
    let start = usize::try_from(start).ok()?;
    body.get(start..start.checked_add(usize::try_from(length).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_a_part_of_the_body_or_nothing() {
        let of = |start, length| part(start, length, "h\u{e9} @bob");
        assert_eq!(of(4, 4), Some("@bob"));
        assert_eq!(of(0, 8), Some("h\u{e9} @bob"));
        assert_eq!(of(8, 0), Some(""));
        assert_eq!(of(4, 5), None);
        assert_eq!(of(9, 0), None);
        assert_eq!((of(2, 2), of(0, 2)), (None, None), "inside a character");
        assert_eq!(of(u32::MAX, u32::MAX), None);
    }
}
