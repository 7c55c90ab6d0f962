//! postcard by serde: it encodes from a `Vec` into the caller's buffer.
//!
//! Byte strings use `serde_bytes`, because serde treats them as lists of numbers otherwise. Fields
//! cannot be added later.
//!
//! Settings follow <https://docs.rs/postcard/1.1.3/postcard/>.

use std::error::Error;
use std::hint::black_box;
use std::mem;

use super::layered::{Format, Layered};
use super::{BORROWED, Codec, Layer};
use crate::message::Message;
use crate::message::view::MessageView;

pub(crate) const SUBJECT: Codec = Codec {
    name: "postcard",
    about: "postcard with byte strings through serde_bytes; no fields can be added later",
    crates: &["postcard", "serde", "serde_bytes"],
    settings: "https://docs.rs/postcard/1.1.3/postcard/",
    properties: &[],
    cases: BORROWED,
    layers: &[Layer::Message],
    prepare: Layered::<Postcard>::prepare,
};

struct Postcard;

impl Format for Postcard {
    type Owned = Message;

    fn from_message(message: &Message) -> Message {
        message.clone()
    }

    fn encode(message: &Message, to: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
        *to = postcard::to_extend(message, mem::take(to))?;
        Ok(())
    }

    fn decode(encoded: &[u8]) -> Result<Message, Box<dyn Error>> {
        Ok(postcard::from_bytes(encoded)?)
    }

    fn to_message(message: Message) -> Result<Message, Box<dyn Error>> {
        Ok(message)
    }

    fn decode_borrowed(encoded: &[u8]) -> Result<(), Box<dyn Error>> {
        let view: MessageView<'_> = postcard::from_bytes(encoded)?;
        drop(black_box(view));
        Ok(())
    }

    fn view_to_message(encoded: &[u8]) -> Result<Message, Box<dyn Error>> {
        let view: MessageView<'_> = postcard::from_bytes(encoded)?;
        Ok(view.to_message())
    }
}
