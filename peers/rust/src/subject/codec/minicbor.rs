//! CBOR (RFC 8949) by minicbor: structures as arrays with an index for each field.
//!
//! Settings follow <https://docs.rs/minicbor/2.3.1/minicbor/> and, for byte strings,
//! <https://docs.rs/minicbor/2.3.1/minicbor/bytes/index.html>.

use std::error::Error;
use std::hint::black_box;

use super::layered::{Format, Layered};
use super::{BORROWED, Codec, Layer};
use crate::message::Message;
use crate::message::view::MessageView;

pub(crate) const SUBJECT: Codec = Codec {
    name: "minicbor",
    about: "CBOR by minicbor's derives, fields in arrays by index, byte strings as such",
    crates: &["minicbor"],
    settings: "https://docs.rs/minicbor/2.3.1/minicbor/",
    properties: &[],
    cases: BORROWED,
    layers: &[Layer::Message],
    prepare: Layered::<Cbor>::prepare,
};

struct Cbor;

impl Format for Cbor {
    type Owned = Message;

    fn from_message(message: &Message) -> Message {
        message.clone()
    }

    fn encode(message: &Message, to: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
        minicbor::encode(message, to)?;
        Ok(())
    }

    fn decode(encoded: &[u8]) -> Result<Message, Box<dyn Error>> {
        Ok(minicbor::decode(encoded)?)
    }

    fn to_message(message: Message) -> Result<Message, Box<dyn Error>> {
        Ok(message)
    }

    fn decode_borrowed(encoded: &[u8]) -> Result<(), Box<dyn Error>> {
        let view: MessageView<'_> = minicbor::decode(encoded)?;
        drop(black_box(view));
        Ok(())
    }

    fn view_to_message(encoded: &[u8]) -> Result<Message, Box<dyn Error>> {
        let view: MessageView<'_> = minicbor::decode(encoded)?;
        Ok(view.to_message())
    }
}
