//! A message as a Rust program would declare it, for formats that are derived from such
//! declarations: the fields of `RichMessage` in `proto/endseal/v1/message.proto`.
//!
//! Byte strings are marked as such for serde and minicbor, which would otherwise write lists of
//! numbers.

pub(crate) mod view;

#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    minicbor::Encode,
    minicbor::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct Message {
    #[serde(with = "serde_bytes")]
    #[cbor(n(0), with = "minicbor::bytes")]
    pub(crate) id: [u8; 16],
    #[serde(with = "serde_bytes")]
    #[cbor(n(1), with = "minicbor::bytes")]
    pub(crate) conversation: [u8; 16],
    #[serde(with = "serde_bytes")]
    #[cbor(n(2), with = "minicbor::bytes")]
    pub(crate) sender: [u8; 32],
    #[n(3)]
    pub(crate) timestamp: u64,
    #[n(4)]
    pub(crate) body: Body,
    #[n(5)]
    pub(crate) attachments: Vec<Attachment>,
    #[n(6)]
    pub(crate) reactions: Vec<Reaction>,
    #[n(7)]
    pub(crate) mentions: Vec<Mention>,
    #[serde(with = "serde_bytes")]
    #[cbor(n(8), with = "minicbor::bytes")]
    pub(crate) reply_to: Option<[u8; 16]>,
    #[n(9)]
    pub(crate) edits: Vec<Edit>,
    /// Entries of the metadata, sorted by key.
    #[n(10)]
    pub(crate) metadata: Vec<Entry>,
}

#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    minicbor::Encode,
    minicbor::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) enum Body {
    #[n(0)]
    Text(#[n(0)] String),
    #[n(1)]
    Markdown(#[n(0)] String),
}

#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    minicbor::Encode,
    minicbor::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct Attachment {
    #[n(0)]
    pub(crate) name: String,
    #[n(1)]
    pub(crate) media_type: String,
    #[n(2)]
    pub(crate) size: u64,
    #[n(3)]
    pub(crate) source: Source,
}

#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    minicbor::Encode,
    minicbor::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) enum Source {
    #[n(0)]
    Inline(
        #[serde(with = "serde_bytes")]
        #[cbor(n(0), with = "minicbor::bytes")]
        Vec<u8>,
    ),
    #[n(1)]
    Referenced(#[n(0)] BlobReference),
}

#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    minicbor::Encode,
    minicbor::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct BlobReference {
    #[serde(with = "serde_bytes")]
    #[cbor(n(0), with = "minicbor::bytes")]
    pub(crate) digest: [u8; 32],
    #[n(1)]
    pub(crate) location: String,
    #[serde(with = "serde_bytes")]
    #[cbor(n(2), with = "minicbor::bytes")]
    pub(crate) wrapped_key: Vec<u8>,
}

#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    minicbor::Encode,
    minicbor::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct Reaction {
    #[serde(with = "serde_bytes")]
    #[cbor(n(0), with = "minicbor::bytes")]
    pub(crate) sender: [u8; 32],
    #[n(1)]
    pub(crate) emoji: String,
    #[n(2)]
    pub(crate) timestamp: u64,
}

#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    minicbor::Encode,
    minicbor::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct Mention {
    #[serde(with = "serde_bytes")]
    #[cbor(n(0), with = "minicbor::bytes")]
    pub(crate) peer: [u8; 32],
    #[n(1)]
    pub(crate) start: u32,
    #[n(2)]
    pub(crate) length: u32,
}

#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    minicbor::Encode,
    minicbor::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct Edit {
    #[n(0)]
    pub(crate) timestamp: u64,
    #[n(1)]
    pub(crate) body: Body,
}

/// An entry of the metadata: a key with its value.
#[derive(
    Clone,
    Debug,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    bincode::Encode,
    bincode::Decode,
    minicbor::Encode,
    minicbor::Decode,
    rkyv::Archive,
    rkyv::Serialize,
    rkyv::Deserialize,
)]
pub(crate) struct Entry {
    #[n(0)]
    pub(crate) key: String,
    #[serde(with = "serde_bytes")]
    #[cbor(n(1), with = "minicbor::bytes")]
    pub(crate) value: Vec<u8>,
}

impl Body {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Markdown(text) => text,
        }
    }
}

impl Message {
    /// Concatenates the raw bytes of all fields without delimiters. Sizes of encodings are compared
    /// with their length.
    pub(crate) fn raw(&self) -> Vec<u8> {
        let mut raw = Vec::new();
        for field in [&self.id[..], &self.conversation, &self.sender] {
            raw.extend_from_slice(field);
        }
        raw.extend_from_slice(&self.timestamp.to_le_bytes());
        raw.extend_from_slice(self.body.text().as_bytes());
        for attachment in &self.attachments {
            raw.extend_from_slice(attachment.name.as_bytes());
            raw.extend_from_slice(attachment.media_type.as_bytes());
            raw.extend_from_slice(&attachment.size.to_le_bytes());
            match &attachment.source {
                Source::Inline(blob) => raw.extend_from_slice(blob),
                Source::Referenced(blob) => {
                    raw.extend_from_slice(&blob.digest);
                    raw.extend_from_slice(blob.location.as_bytes());
                    raw.extend_from_slice(&blob.wrapped_key);
                }
            }
        }
        for reaction in &self.reactions {
            raw.extend_from_slice(&reaction.sender);
            raw.extend_from_slice(reaction.emoji.as_bytes());
            raw.extend_from_slice(&reaction.timestamp.to_le_bytes());
        }
        for mention in &self.mentions {
            raw.extend_from_slice(&mention.peer);
            raw.extend_from_slice(&mention.start.to_le_bytes());
            raw.extend_from_slice(&mention.length.to_le_bytes());
        }
        raw.extend_from_slice(self.reply_to.as_ref().map_or(&[], |id| &id[..]));
        for edit in &self.edits {
            raw.extend_from_slice(&edit.timestamp.to_le_bytes());
            raw.extend_from_slice(edit.body.text().as_bytes());
        }
        for entry in &self.metadata {
            raw.extend_from_slice(entry.key.as_bytes());
            raw.extend_from_slice(&entry.value);
        }
        raw
    }
}
