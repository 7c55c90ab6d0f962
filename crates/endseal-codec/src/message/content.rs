//! The outermost message and the kinds of content that it can have.

use super::declare::*;
use super::file::{FileAnswer, FileEnd, FileOffer};
use super::notice::{RevokeNotice, ShareNotice};
use super::presence::{Receipt, Typing};
use super::rich::RichMessage;

message! {
    /// Payload of one frame of kind `message`.
    pub struct Message, MessageView {
        /// `None` if it is of a later version: then `unknown` has it.
        1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 content: Later<Content>,
    }
    keeps unknown
}

oneof! {
    /// Content of a message: one of the kinds that the contract has.
    pub enum Content, ContentView {
        /// A message of a conversation.
        0 Rich rich: Nested<RichMessage>,
        /// Delivery status of messages that were received before.
        1 Receipt receipt: Nested<Receipt>,
        /// The sender is typing, or has stopped.
        2 Typing typing: Nested<Typing>,
        /// An object was shared with a group.
        3 Share share: Nested<ShareNotice>,
        /// Members were removed from a group.
        4 Revoke revoke: Nested<RevokeNotice>,
        /// Announces a file, which follows in frames of kind `data`.
        5 FileOffer file_offer: Nested<FileOffer>,
        /// Answer of a receiver about a file.
        6 FileAnswer file_answer: Nested<FileAnswer>,
        /// All of a file was sent.
        7 FileEnd file_end: Nested<FileEnd>,
    }
}

impl From<Content> for Message {
    fn from(content: Content) -> Self {
        Self { content: Some(content), unknown: Unknown::default() }
    }
}
