//! bincode 2 by its own derives, with a limit: without one, a damaged length allocates gigabytes.
//!
//! The crate is no longer maintained (RUSTSEC-2025-0141). Fields cannot be added later.
//!
//! Settings follow <https://docs.rs/bincode/2.0.1/bincode/config/index.html> (`standard`, with the
//! limit that it recommends for untrusted input).

use std::error::Error;
use std::hint::black_box;

use bincode::config::{Configuration, Limit, LittleEndian, Varint, standard};

use super::layered::{Format, Layered, MAXIMUM};
use super::{BORROWED, Codec, Layer};
use crate::message::Message;
use crate::message::view::MessageView;

pub(crate) const SUBJECT: Codec = Codec {
    name: "bincode2",
    about: "bincode 2, standard configuration with a limit of 1 MiB; unmaintained \
            (RUSTSEC-2025-0141)",
    crates: &["bincode"],
    settings: "https://docs.rs/bincode/2.0.1/bincode/config/index.html",
    properties: &[],
    cases: BORROWED,
    layers: &[Layer::Message],
    prepare: Layered::<Bincode>::prepare,
};

const CONFIGURATION: Configuration<LittleEndian, Varint, Limit<MAXIMUM>> =
    standard().with_limit::<MAXIMUM>();

struct Bincode;

impl Format for Bincode {
    type Owned = Message;

    fn from_message(message: &Message) -> Message {
        message.clone()
    }

    fn encode(message: &Message, to: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
        bincode::encode_into_std_write(message, to, CONFIGURATION)?;
        Ok(())
    }

    fn decode(encoded: &[u8]) -> Result<Message, Box<dyn Error>> {
        Ok(bincode::decode_from_slice(encoded, CONFIGURATION)?.0)
    }

    fn to_message(message: Message) -> Result<Message, Box<dyn Error>> {
        Ok(message)
    }

    fn decode_borrowed(encoded: &[u8]) -> Result<(), Box<dyn Error>> {
        drop(black_box(view(encoded)?));
        Ok(())
    }

    fn view_to_message(encoded: &[u8]) -> Result<Message, Box<dyn Error>> {
        Ok(view(encoded)?.to_message())
    }
}

fn view(encoded: &[u8]) -> Result<MessageView<'_>, Box<dyn Error>> {
    Ok(bincode::borrow_decode_from_slice(encoded, CONFIGURATION)?.0)
}
