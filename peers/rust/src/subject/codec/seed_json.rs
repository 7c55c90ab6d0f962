//! The published messenger's pipeline, from its description: three layers, each of them JSON.
//!
//!     layer 1    the message
//!     layer 2    {"id", "conversation", "sender", "nonce", "ciphertext"}: layer 1 under
//!                ChaCha20-Poly1305, with the tag
//!     layer 3    {"type": "message", "version": 1, "payload"}: layer 2
//!
//! Byte strings of all layers are lists of numbers, as serde writes a `Vec<u8>` (`seed-json-array`:
//! this matches the published times and sizes), or Base64 (`seed-json-base64`: this matches the
//! published text). Each layer is a separate value that is built from the complete one below, as
//! published. The cipher is that of aws-lc-rs, so that only the format differs.
//!
//! Settings follow <https://docs.rs/serde_json/1.0.154/serde_json/> (`from_slice`, `to_writer`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::hint::black_box;

use aws_lc_rs::aead::{CHACHA20_POLY1305, NONCE_LEN};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::layered::SessionKey;
use super::{ALL_LAYERS, Codec, Decoder, Layer, OWNED, Prepared};
use crate::message::{self, Message};

pub(crate) const ARRAY: Codec = Codec {
    name: "seed-json-array",
    about: "three layers of JSON as published, byte strings as lists of numbers: fits its figures",
    crates: &["serde_json", "serde", "aws-lc-rs"],
    settings: "https://docs.rs/serde_json/1.0.154/serde_json/",
    properties: &["confidential", "authenticated"],
    cases: OWNED,
    layers: ALL_LAYERS,
    prepare: Pipeline::<Vec<u8>>::prepare,
};

pub(crate) const BASE64: Codec = Codec {
    name: "seed-json-base64",
    about: "three layers of JSON as published, byte strings in Base64: fits its text",
    crates: &["serde_json", "serde", "base64", "aws-lc-rs"],
    prepare: Pipeline::<Base64>::prepare,
    ..ARRAY
};

/// A byte string in one of the two forms.
trait Bytes: Serialize + DeserializeOwned + From<Vec<u8>> + Into<Vec<u8>> + 'static {}

impl Bytes for Vec<u8> {}

impl Bytes for Base64 {}

struct Base64(Vec<u8>);

impl From<Vec<u8>> for Base64 {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<Base64> for Vec<u8> {
    fn from(Base64(bytes): Base64) -> Self {
        bytes
    }
}

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Base64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("Base64")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Base64, E> {
                STANDARD.decode(text).map(Base64).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

#[derive(Serialize, Deserialize)]
struct RichMessage<B> {
    id: B,
    conversation: B,
    sender: B,
    timestamp: u64,
    body: Body,
    attachments: Vec<Attachment<B>>,
    reactions: Vec<Reaction<B>>,
    mentions: Vec<Mention<B>>,
    reply_to: Option<B>,
    edits: Vec<Edit>,
    metadata: BTreeMap<String, B>,
}

#[derive(Serialize, Deserialize)]
enum Body {
    Text(String),
    Markdown(String),
}

#[derive(Serialize, Deserialize)]
struct Attachment<B> {
    name: String,
    media_type: String,
    size: u64,
    source: Source<B>,
}

#[derive(Serialize, Deserialize)]
enum Source<B> {
    Inline(B),
    Referenced { digest: B, location: String, wrapped_key: B },
}

#[derive(Serialize, Deserialize)]
struct Reaction<B> {
    sender: B,
    emoji: String,
    timestamp: u64,
}

#[derive(Serialize, Deserialize)]
struct Mention<B> {
    peer: B,
    start: u32,
    length: u32,
}

#[derive(Serialize, Deserialize)]
struct Edit {
    timestamp: u64,
    body: Body,
}

#[derive(Serialize, Deserialize)]
struct EncryptedMessage<B> {
    id: B,
    conversation: B,
    sender: B,
    nonce: B,
    ciphertext: B,
}

#[derive(Serialize, Deserialize)]
struct Wrapper<'a, B> {
    #[serde(rename = "type")]
    kind: Cow<'a, str>,
    version: u32,
    payload: B,
}

const KIND: &str = "message";
const VERSION: u32 = 1;

struct Pipeline<B> {
    layer: Layer,
    messages: Vec<Message>,
    inputs: Vec<RichMessage<B>>,
    key: SessionKey,
}

impl<B: Bytes> Pipeline<B> {
    fn prepare(messages: Vec<Message>, layer: Layer) -> Result<Box<dyn Prepared>, Box<dyn Error>> {
        let inputs = messages.iter().map(from_message).collect();
        let key = SessionKey::new(&CHACHA20_POLY1305)?;
        Ok(Box::new(Self { layer, messages, inputs, key }))
    }

    fn encrypt(&self, input: usize) -> Result<EncryptedMessage<B>, Box<dyn Error>> {
        let mut ciphertext = serde_json::to_vec(self.inputs.get(input).ok_or("no such input")?)?;
        let nonce = SessionKey::nonce()?;
        self.key.seal_in_place(nonce, &mut ciphertext, 0)?;
        let message = self.messages.get(input).ok_or("no such input")?;
        Ok(EncryptedMessage {
            id: message.id.to_vec().into(),
            conversation: message.conversation.to_vec().into(),
            sender: message.sender.to_vec().into(),
            nonce: nonce.to_vec().into(),
            ciphertext: ciphertext.into(),
        })
    }

    fn read(&self, encoded: &[u8]) -> Result<RichMessage<B>, Box<dyn Error>> {
        match self.layer {
            Layer::Message => Ok(serde_json::from_slice(encoded)?),
            Layer::Sealed => self.decrypt(encoded),
            Layer::Framed => {
                let wrapper: Wrapper<'_, B> = serde_json::from_slice(encoded)?;
                if wrapper.kind != KIND || wrapper.version != VERSION {
                    return Err("another protocol".into());
                }
                self.decrypt(&wrapper.payload.into())
            }
        }
    }

    fn decrypt(&self, encrypted: &[u8]) -> Result<RichMessage<B>, Box<dyn Error>> {
        let encrypted: EncryptedMessage<B> = serde_json::from_slice(encrypted)?;
        let nonce: [u8; NONCE_LEN] =
            encrypted.nonce.into().try_into().map_err(|_| "a nonce of another length")?;
        let mut ciphertext = encrypted.ciphertext.into();
        Ok(serde_json::from_slice(self.key.open_with(nonce, &mut ciphertext)?)?)
    }
}

impl<B: Bytes> Prepared for Pipeline<B> {
    fn encode(&mut self, input: usize, to: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
        match self.layer {
            Layer::Message => {
                serde_json::to_writer(to, self.inputs.get(input).ok_or("no such input")?)?;
            }
            Layer::Sealed => serde_json::to_writer(to, &self.encrypt(input)?)?,
            Layer::Framed => {
                let payload = B::from(serde_json::to_vec(&self.encrypt(input)?)?);
                let wrapper = Wrapper { kind: KIND.into(), version: VERSION, payload };
                serde_json::to_writer(to, &wrapper)?;
            }
        }
        Ok(())
    }

    fn decode(&mut self, encoded: &[u8]) -> Result<(), Box<dyn Error>> {
        drop(black_box(self.read(encoded)?));
        Ok(())
    }

    fn is_input(
        &mut self,
        input: usize,
        encoded: &[u8],
        _: Decoder,
    ) -> Result<bool, Box<dyn Error>> {
        let message = to_message(self.read(encoded)?)?;
        Ok(self.messages.get(input) == Some(&message))
    }
}

fn from_message<B: Bytes>(message: &Message) -> RichMessage<B> {
    let body = |body: &message::Body| match body {
        message::Body::Text(text) => Body::Text(text.clone()),
        message::Body::Markdown(text) => Body::Markdown(text.clone()),
    };
    let attachment = |it: &message::Attachment| Attachment {
        name: it.name.clone(),
        media_type: it.media_type.clone(),
        size: it.size,
        source: match &it.source {
            message::Source::Inline(blob) => Source::Inline(blob.clone().into()),
            message::Source::Referenced(blob) => Source::Referenced {
                digest: blob.digest.to_vec().into(),
                location: blob.location.clone(),
                wrapped_key: blob.wrapped_key.clone().into(),
            },
        },
    };
    let reaction = |it: &message::Reaction| Reaction {
        sender: it.sender.to_vec().into(),
        emoji: it.emoji.clone(),
        timestamp: it.timestamp,
    };
    let mention = |it: &message::Mention| Mention {
        peer: it.peer.to_vec().into(),
        start: it.start,
        length: it.length,
    };
    let edit = |it: &message::Edit| Edit { timestamp: it.timestamp, body: body(&it.body) };
    let entry = |it: &message::Entry| (it.key.clone(), it.value.clone().into());
    RichMessage {
        id: message.id.to_vec().into(),
        conversation: message.conversation.to_vec().into(),
        sender: message.sender.to_vec().into(),
        timestamp: message.timestamp,
        body: body(&message.body),
        attachments: message.attachments.iter().map(attachment).collect(),
        reactions: message.reactions.iter().map(reaction).collect(),
        mentions: message.mentions.iter().map(mention).collect(),
        reply_to: message.reply_to.map(|id| id.to_vec().into()),
        edits: message.edits.iter().map(edit).collect(),
        metadata: message.metadata.iter().map(entry).collect(),
    }
}

fn to_message<B: Bytes>(message: RichMessage<B>) -> Result<Message, Box<dyn Error>> {
    let body = |body| match body {
        Body::Text(text) => message::Body::Text(text),
        Body::Markdown(text) => message::Body::Markdown(text),
    };
    let attachment = |it: Attachment<B>| {
        let source = match it.source {
            Source::Inline(blob) => message::Source::Inline(blob.into()),
            Source::Referenced { digest, location, wrapped_key } => {
                message::Source::Referenced(message::BlobReference {
                    digest: exact(digest)?,
                    location,
                    wrapped_key: wrapped_key.into(),
                })
            }
        };
        let (name, media_type) = (it.name, it.media_type);
        Ok(message::Attachment { name, media_type, size: it.size, source })
    };
    let reaction = |it: Reaction<B>| {
        let (sender, emoji) = (exact(it.sender)?, it.emoji);
        Ok(message::Reaction { sender, emoji, timestamp: it.timestamp })
    };
    let mention = |it: Mention<B>| {
        Ok(message::Mention { peer: exact(it.peer)?, start: it.start, length: it.length })
    };
    let edit = |it: Edit| message::Edit { timestamp: it.timestamp, body: body(it.body) };
    let entry = |(key, value): (String, B)| message::Entry { key, value: value.into() };
    Ok(Message {
        id: exact(message.id)?,
        conversation: exact(message.conversation)?,
        sender: exact(message.sender)?,
        timestamp: message.timestamp,
        body: body(message.body),
        attachments: message
            .attachments
            .into_iter()
            .map(attachment)
            .collect::<Result<_, &str>>()?,
        reactions: message.reactions.into_iter().map(reaction).collect::<Result<_, &str>>()?,
        mentions: message.mentions.into_iter().map(mention).collect::<Result<_, &str>>()?,
        reply_to: message.reply_to.map(exact).transpose()?,
        edits: message.edits.into_iter().map(edit).collect(),
        metadata: message.metadata.into_iter().map(entry).collect(),
    })
}

fn exact<B: Bytes, const N: usize>(bytes: B) -> Result<[u8; N], &'static str> {
    bytes.into().try_into().map_err(|_| "another length")
}
