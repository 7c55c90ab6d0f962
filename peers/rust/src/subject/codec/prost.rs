//! Protocol Buffers by prost, from endseal's contract.
//!
//! Its decoder limits only recursion: the caller must limit the length of its input.
//!
//! Settings follow <https://docs.rs/prost/0.14.4/prost/>.

use std::borrow::Cow;
use std::error::Error;

use prost::Message as _;

use super::layered::{Format, Layered, MAXIMUM};
use super::{ALL_LAYERS, Codec, Layer, OWNED};
use crate::message::{self, Message};

pub(crate) const SUBJECT: Codec = Codec {
    name: "prost",
    about: "Protocol Buffers by prost, from endseal's contract",
    crates: &["prost", "aws-lc-rs"],
    settings: "https://docs.rs/prost/0.14.4/prost/",
    properties: &["confidential", "authenticated"],
    cases: OWNED,
    layers: ALL_LAYERS,
    prepare: Layered::<Prost>::prepare,
};

pub(crate) const DIRECT: Codec = Codec {
    name: "prost-direct",
    about: "prost, the message in a frame without encryption, for a connection that encrypts",
    crates: &["prost"],
    properties: &[],
    layers: &[Layer::Framed],
    prepare: Layered::<Prost>::prepare_direct,
    ..SUBJECT
};

#[allow(clippy::all, dead_code, missing_docs, unreachable_pub, reason = "generated")]
mod contract {
    include!(concat!(env!("OUT_DIR"), "/prost/endseal.v1.rs"));
}

struct Prost;

impl Format for Prost {
    type Owned = contract::Message;

    fn from_message(message: &Message) -> contract::Message {
        let rich = contract::message::Content::Rich(from_message(message));
        contract::Message { content: Some(rich) }
    }

    fn encode(message: &contract::Message, to: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
        Ok(message.encode(to)?)
    }

    fn encode_framed(
        message: &contract::Message,
        frame: &dyn Fn(usize, &mut Vec<u8>),
        to: &mut Vec<u8>,
    ) -> Result<(), Box<dyn Error>> {
        frame(message.encoded_len(), to);
        message.encode_raw(to);
        Ok(())
    }

    fn decode(encoded: &[u8]) -> Result<contract::Message, Box<dyn Error>> {
        limited(encoded)?;
        Ok(contract::Message::decode(encoded)?)
    }

    fn to_message(message: contract::Message) -> Result<Message, Box<dyn Error>> {
        match message.content {
            Some(contract::message::Content::Rich(rich)) => to_message(rich),
            _ => Err("another content".into()),
        }
    }

    fn wrap(
        context: &[u8],
        ciphertext: &mut Vec<u8>,
        frame: &dyn Fn(usize, &mut Vec<u8>),
        to: &mut Vec<u8>,
    ) -> Result<(), Box<dyn Error>> {
        let mut sealed = contract::SealedMessage {
            scheme: contract::sealed_message::Scheme::Pairwise.into(),
            context: context.to_vec(),
            ciphertext: std::mem::take(ciphertext),
        };
        frame(sealed.encoded_len(), to);
        sealed.encode(to)?;
        *ciphertext = std::mem::take(&mut sealed.ciphertext);
        Ok(())
    }

    fn unwrap(sealed: &[u8]) -> Result<Cow<'_, [u8]>, Box<dyn Error>> {
        limited(sealed)?;
        Ok(contract::SealedMessage::decode(sealed)?.ciphertext.into())
    }
}

fn limited(encoded: &[u8]) -> Result<(), &'static str> {
    if encoded.len() <= MAXIMUM { Ok(()) } else { Err("longer than agreed") }
}

fn from_message(message: &Message) -> contract::RichMessage {
    use contract::{attachment, edit, rich_message};

    let attachment = |it: &message::Attachment| contract::Attachment {
        name: it.name.clone(),
        media_type: it.media_type.clone(),
        size: it.size,
        source: Some(match &it.source {
            message::Source::Inline(blob) => attachment::Source::Inline(blob.clone()),
            message::Source::Referenced(blob) => {
                attachment::Source::Referenced(contract::BlobReference {
                    digest: blob.digest.to_vec(),
                    location: blob.location.clone(),
                    wrapped_key: blob.wrapped_key.clone(),
                })
            }
        }),
    };
    let reaction = |it: &message::Reaction| contract::Reaction {
        sender: it.sender.to_vec(),
        emoji: it.emoji.clone(),
        timestamp: it.timestamp,
    };
    let mention = |it: &message::Mention| contract::Mention {
        peer: it.peer.to_vec(),
        start: it.start,
        length: it.length,
    };
    let edit = |it: &message::Edit| contract::Edit {
        timestamp: it.timestamp,
        body: Some(match &it.body {
            message::Body::Text(text) => edit::Body::Text(text.clone()),
            message::Body::Markdown(text) => edit::Body::Markdown(text.clone()),
        }),
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
    }
}

fn to_message(rich: contract::RichMessage) -> Result<Message, Box<dyn Error>> {
    use contract::{attachment, edit, rich_message};

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
