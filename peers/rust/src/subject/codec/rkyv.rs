//! rkyv with checks, for input at any address (feature `unaligned`), because the payload of a frame
//! need not be aligned. Fields cannot be added later.
//!
//! Settings follow <https://docs.rs/rkyv/0.8.18/rkyv/> (`access` and `from_bytes`, the safe
//! functions).

use std::error::Error;
use std::hint::black_box;

use ::rkyv::rancor::BoxedError;
use ::rkyv::{access, deserialize, from_bytes};

use super::layered::{Format, Layered};
use super::{BORROWED, Codec, Layer};
use crate::message::{ArchivedMessage, Message};

pub(crate) const SUBJECT: Codec = Codec {
    name: "rkyv",
    about: "rkyv, checked, input at any address; no fields can be added later",
    crates: &["rkyv"],
    settings: "https://docs.rs/rkyv/0.8.18/rkyv/",
    properties: &[],
    cases: BORROWED,
    layers: &[Layer::Message],
    prepare: Layered::<Rkyv>::prepare,
};

struct Rkyv;

impl Format for Rkyv {
    type Owned = Message;

    fn from_message(message: &Message) -> Message {
        message.clone()
    }

    fn encode(message: &Message, to: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
        ::rkyv::api::high::to_bytes_in::<_, BoxedError>(message, to)?;
        Ok(())
    }

    fn decode(encoded: &[u8]) -> Result<Message, Box<dyn Error>> {
        Ok(from_bytes::<Message, BoxedError>(encoded)?)
    }

    fn to_message(message: Message) -> Result<Message, Box<dyn Error>> {
        Ok(message)
    }

    fn decode_borrowed(encoded: &[u8]) -> Result<(), Box<dyn Error>> {
        black_box(access::<ArchivedMessage, BoxedError>(encoded)?);
        Ok(())
    }

    fn view_to_message(encoded: &[u8]) -> Result<Message, Box<dyn Error>> {
        let view = access::<ArchivedMessage, BoxedError>(encoded)?;
        Ok(deserialize::<Message, BoxedError>(view)?)
    }
}
