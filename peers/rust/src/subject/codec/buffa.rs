//! Protocol Buffers by buffa, from endseal's contract: owned messages, and views that borrow from
//! the input.
//!
//! It uses the limits that the contract implies, and keeps unknown fields, as the contract
//! requires.
//!
//! Settings follow <https://docs.rs/buffa/0.9.2/buffa/struct.DecodeOptions.html> ("for untrusted
//! input, tighten limits").

use std::borrow::Cow;
use std::error::Error;
use std::hint::black_box;

use buffa::{DecodeOptions, Message as _, MessageView as _, SizeCache, ViewEncode};
use contract::__buffa::oneof;

use super::layered::{Format, Layered, MAXIMUM};
use super::{ALL_LAYERS, BORROWED, Codec, Layer};
use crate::message::{self, Message};

pub(crate) const SUBJECT: Codec = Codec {
    name: "buffa",
    about: "Protocol Buffers by buffa with limits, from endseal's contract; borrowed: views",
    crates: &["buffa", "aws-lc-rs"],
    settings: "https://docs.rs/buffa/0.9.2/buffa/struct.DecodeOptions.html",
    properties: &["confidential", "authenticated"],
    cases: BORROWED,
    layers: ALL_LAYERS,
    prepare: Layered::<Buffa>::prepare,
};

pub(crate) const DIRECT: Codec = Codec {
    name: "buffa-direct",
    about: "buffa, the message in a frame without encryption, for a connection that encrypts",
    crates: &["buffa"],
    properties: &[],
    layers: &[Layer::Framed],
    prepare: Layered::<Buffa>::prepare_direct,
    ..SUBJECT
};

#[allow(clippy::all, clippy::use_self, missing_docs, unreachable_pub, reason = "generated")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/buffa/contract.rs"));
}

use generated::endseal::v1 as contract;

/// Depth of the deepest message in the contract.
const DEPTH: u32 = 4;
const UNKNOWN_FIELDS: usize = 64;
/// Memory limit for list elements, in bytes. It is more than the longest lists of the contract
/// take.
const ELEMENT_MEMORY: usize = 256 << 10;

fn options() -> DecodeOptions {
    DecodeOptions::new()
        .with_max_message_size(MAXIMUM)
        .with_recursion_limit(DEPTH)
        .with_unknown_field_limit(UNKNOWN_FIELDS)
        .with_element_memory_limit(ELEMENT_MEMORY)
}

struct Buffa;

impl Format for Buffa {
    type Owned = contract::Message;

    fn from_message(message: &Message) -> contract::Message {
        contract::Message { content: from_message(message).into(), ..Default::default() }
    }

    fn encode(message: &contract::Message, to: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
        Ok(message.try_encode(to)?)
    }

    fn encode_framed(
        message: &contract::Message,
        frame: &dyn Fn(usize, &mut Vec<u8>),
        to: &mut Vec<u8>,
    ) -> Result<(), Box<dyn Error>> {
        let mut sizes = SizeCache::new();
        let length = message.compute_size(&mut sizes) as usize;
        frame(length, to);
        to.reserve(length);
        message.write_to(&mut sizes, to);
        Ok(())
    }

    fn decode(encoded: &[u8]) -> Result<contract::Message, Box<dyn Error>> {
        Ok(options().decode_from_slice(encoded)?)
    }

    fn to_message(message: contract::Message) -> Result<Message, Box<dyn Error>> {
        match message.content {
            Some(oneof::message::Content::Rich(rich)) => to_message(*rich),
            _ => Err("another content".into()),
        }
    }

    fn decode_borrowed(encoded: &[u8]) -> Result<(), Box<dyn Error>> {
        drop(black_box(view(encoded)?));
        Ok(())
    }

    fn view_to_message(encoded: &[u8]) -> Result<Message, Box<dyn Error>> {
        Self::to_message(view(encoded)?.to_owned_message()?)
    }

    fn wrap(
        context: &[u8],
        ciphertext: &mut Vec<u8>,
        frame: &dyn Fn(usize, &mut Vec<u8>),
        to: &mut Vec<u8>,
    ) -> Result<(), Box<dyn Error>> {
        let sealed = contract::SealedMessageView {
            scheme: contract::sealed_message::Scheme::SCHEME_PAIRWISE.into(),
            context,
            ciphertext,
            ..Default::default()
        };
        frame(sealed.encoded_len() as usize, to);
        Ok(sealed.try_encode(to)?)
    }

    fn unwrap(sealed: &[u8]) -> Result<Cow<'_, [u8]>, Box<dyn Error>> {
        let view: contract::SealedMessageView<'_> = options().decode_view(sealed)?;
        Ok(Cow::Borrowed(view.ciphertext))
    }
}

fn view(encoded: &[u8]) -> Result<contract::MessageView<'_>, Box<dyn Error>> {
    Ok(options().decode_view(encoded)?)
}

fn from_message(message: &Message) -> contract::RichMessage {
    use oneof::{attachment, edit, rich_message};

    let attachment = |it: &message::Attachment| contract::Attachment {
        name: it.name.clone(),
        media_type: it.media_type.clone(),
        size: it.size,
        source: Some(match &it.source {
            message::Source::Inline(blob) => attachment::Source::Inline(blob.clone()),
            message::Source::Referenced(blob) => {
                let blob = contract::BlobReference {
                    digest: blob.digest.to_vec(),
                    location: blob.location.clone(),
                    wrapped_key: blob.wrapped_key.clone(),
                    ..Default::default()
                };
                blob.into()
            }
        }),
        ..Default::default()
    };
    let reaction = |it: &message::Reaction| contract::Reaction {
        sender: it.sender.to_vec(),
        emoji: it.emoji.clone(),
        timestamp: it.timestamp,
        ..Default::default()
    };
    let mention = |it: &message::Mention| contract::Mention {
        peer: it.peer.to_vec(),
        start: it.start,
        length: it.length,
        ..Default::default()
    };
    let edit = |it: &message::Edit| contract::Edit {
        timestamp: it.timestamp,
        body: Some(match &it.body {
            message::Body::Text(text) => edit::Body::Text(text.clone()),
            message::Body::Markdown(text) => edit::Body::Markdown(text.clone()),
        }),
        ..Default::default()
    };
    contract::RichMessage {
        id: message.id.to_vec(),
        conversation: message.conversation.to_vec(),
        sender: message.sender.to_vec(),
        timestamp: message.timestamp,
        body: Some(match &message.body {
            message::Body::Text(text) => rich_message::Body::Text(text.clone()),
            message::Body::Markdown(text) => rich_message::Body::Markdown(text.clone()),
        }),
        attachments: message.attachments.iter().map(attachment).collect(),
        reactions: message.reactions.iter().map(reaction).collect(),
        mentions: message.mentions.iter().map(mention).collect(),
        reply_to: message.reply_to.map_or_else(Vec::new, Into::into),
        edits: message.edits.iter().map(edit).collect(),
        metadata: message.metadata.iter().map(|it| (it.key.clone(), it.value.clone())).collect(),
        ..Default::default()
    }
}

fn to_message(rich: contract::RichMessage) -> Result<Message, Box<dyn Error>> {
    use oneof::{attachment, edit, rich_message};

    let attachment = |it: contract::Attachment| {
        let source = match it.source.ok_or("no source")? {
            attachment::Source::Inline(blob) => message::Source::Inline(blob),
            attachment::Source::Referenced(blob) => {
                message::Source::Referenced(message::BlobReference {
                    digest: exact(blob.digest)?,
                    location: blob.location,
                    wrapped_key: blob.wrapped_key,
                })
            }
        };
        let (name, media_type, size) = (it.name, it.media_type, it.size);
        Ok(message::Attachment { name, media_type, size, source })
    };
    let reaction = |it: contract::Reaction| {
        let (sender, emoji) = (exact(it.sender)?, it.emoji);
        Ok(message::Reaction { sender, emoji, timestamp: it.timestamp })
    };
    let mention = |it: contract::Mention| {
        Ok(message::Mention { peer: exact(it.peer)?, start: it.start, length: it.length })
    };
    let edit = |it: contract::Edit| {
        let body = match it.body.ok_or("no body")? {
            edit::Body::Text(text) => message::Body::Text(text),
            edit::Body::Markdown(text) => message::Body::Markdown(text),
        };
        Ok(message::Edit { timestamp: it.timestamp, body })
    };
    let entry = |(key, value)| message::Entry { key, value };
    Ok(Message {
        id: exact(rich.id)?,
        conversation: exact(rich.conversation)?,
        sender: exact(rich.sender)?,
        timestamp: rich.timestamp,
        body: match rich.body.ok_or("no body")? {
            rich_message::Body::Text(text) => message::Body::Text(text),
            rich_message::Body::Markdown(text) => message::Body::Markdown(text),
        },
        attachments: rich.attachments.into_iter().map(attachment).collect::<Result<_, &str>>()?,
        reactions: rich.reactions.into_iter().map(reaction).collect::<Result<_, &str>>()?,
        mentions: rich.mentions.into_iter().map(mention).collect::<Result<_, &str>>()?,
        reply_to: Some(exact(rich.reply_to)?),
        edits: rich.edits.into_iter().map(edit).collect::<Result<_, &str>>()?,
        metadata: rich.metadata.into_iter().map(entry).collect(),
    })
}

fn exact<const N: usize>(bytes: Vec<u8>) -> Result<[u8; N], &'static str> {
    bytes.try_into().map_err(|_| "another length")
}
