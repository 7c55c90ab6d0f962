//! The same message as a view that borrows from the input.
//!
//! Strings and byte strings of any length are slices of the input. Keys and ids, which have 16 or
//! 32 bytes, are copied, and lists are allocated.

use super::{Attachment, BlobReference, Body, Edit, Entry, Mention, Message, Reaction, Source};

#[derive(serde::Deserialize, bincode::BorrowDecode, minicbor::Decode)]
pub(crate) struct MessageView<'a> {
    #[serde(with = "serde_bytes")]
    #[cbor(n(0), with = "minicbor::bytes")]
    id: [u8; 16],
    #[serde(with = "serde_bytes")]
    #[cbor(n(1), with = "minicbor::bytes")]
    conversation: [u8; 16],
    #[serde(with = "serde_bytes")]
    #[cbor(n(2), with = "minicbor::bytes")]
    sender: [u8; 32],
    #[n(3)]
    timestamp: u64,
    #[serde(borrow)]
    #[b(4)]
    body: BodyView<'a>,
    #[serde(borrow)]
    #[b(5)]
    attachments: Vec<AttachmentView<'a>>,
    #[serde(borrow)]
    #[b(6)]
    reactions: Vec<ReactionView<'a>>,
    #[n(7)]
    mentions: Vec<Mention>,
    #[serde(with = "serde_bytes")]
    #[cbor(n(8), with = "minicbor::bytes")]
    reply_to: Option<[u8; 16]>,
    #[serde(borrow)]
    #[b(9)]
    edits: Vec<EditView<'a>>,
    #[serde(borrow)]
    #[b(10)]
    metadata: Vec<EntryView<'a>>,
}

#[derive(serde::Deserialize, bincode::BorrowDecode, minicbor::Decode)]
enum BodyView<'a> {
    #[n(0)]
    Text(#[b(0)] &'a str),
    #[n(1)]
    Markdown(#[b(0)] &'a str),
}

#[derive(serde::Deserialize, bincode::BorrowDecode, minicbor::Decode)]
struct AttachmentView<'a> {
    #[b(0)]
    name: &'a str,
    #[b(1)]
    media_type: &'a str,
    #[n(2)]
    size: u64,
    #[serde(borrow)]
    #[b(3)]
    source: SourceView<'a>,
}

#[derive(serde::Deserialize, bincode::BorrowDecode, minicbor::Decode)]
enum SourceView<'a> {
    #[n(0)]
    Inline(
        #[serde(with = "serde_bytes")]
        #[cbor(b(0), with = "minicbor::bytes")]
        &'a [u8],
    ),
    #[n(1)]
    Referenced(
        #[serde(borrow)]
        #[b(0)]
        BlobReferenceView<'a>,
    ),
}

#[derive(serde::Deserialize, bincode::BorrowDecode, minicbor::Decode)]
struct BlobReferenceView<'a> {
    #[serde(with = "serde_bytes")]
    #[cbor(n(0), with = "minicbor::bytes")]
    digest: [u8; 32],
    #[b(1)]
    location: &'a str,
    #[serde(with = "serde_bytes")]
    #[cbor(b(2), with = "minicbor::bytes")]
    wrapped_key: &'a [u8],
}

#[derive(serde::Deserialize, bincode::BorrowDecode, minicbor::Decode)]
struct ReactionView<'a> {
    #[serde(with = "serde_bytes")]
    #[cbor(n(0), with = "minicbor::bytes")]
    sender: [u8; 32],
    #[b(1)]
    emoji: &'a str,
    #[n(2)]
    timestamp: u64,
}

#[derive(serde::Deserialize, bincode::BorrowDecode, minicbor::Decode)]
struct EditView<'a> {
    #[n(0)]
    timestamp: u64,
    #[serde(borrow)]
    #[b(1)]
    body: BodyView<'a>,
}

#[derive(serde::Deserialize, bincode::BorrowDecode, minicbor::Decode)]
struct EntryView<'a> {
    #[b(0)]
    key: &'a str,
    #[serde(with = "serde_bytes")]
    #[cbor(b(1), with = "minicbor::bytes")]
    value: &'a [u8],
}

impl MessageView<'_> {
    /// Copies the view into an owned message, for the check.
    pub(crate) fn to_message(&self) -> Message {
        let reaction = |it: &ReactionView<'_>| Reaction {
            sender: it.sender,
            emoji: it.emoji.to_owned(),
            timestamp: it.timestamp,
        };
        let edit = |it: &EditView<'_>| Edit { timestamp: it.timestamp, body: it.body.to_body() };
        let entry = |it: &EntryView<'_>| Entry { key: it.key.into(), value: it.value.into() };
        Message {
            id: self.id,
            conversation: self.conversation,
            sender: self.sender,
            timestamp: self.timestamp,
            body: self.body.to_body(),
            attachments: self.attachments.iter().map(AttachmentView::to_attachment).collect(),
            reactions: self.reactions.iter().map(reaction).collect(),
            mentions: self.mentions.clone(),
            reply_to: self.reply_to,
            edits: self.edits.iter().map(edit).collect(),
            metadata: self.metadata.iter().map(entry).collect(),
        }
    }
}

impl BodyView<'_> {
    fn to_body(&self) -> Body {
        match *self {
            Self::Text(text) => Body::Text(text.to_owned()),
            Self::Markdown(text) => Body::Markdown(text.to_owned()),
        }
    }
}

impl AttachmentView<'_> {
    fn to_attachment(&self) -> Attachment {
        let source = match &self.source {
            SourceView::Inline(blob) => Source::Inline(blob.to_vec()),
            SourceView::Referenced(it) => Source::Referenced(BlobReference {
                digest: it.digest,
                location: it.location.to_owned(),
                wrapped_key: it.wrapped_key.to_vec(),
            }),
        };
        let (name, media_type) = (self.name.to_owned(), self.media_type.to_owned());
        Attachment { name, media_type, size: self.size, source }
    }
}
