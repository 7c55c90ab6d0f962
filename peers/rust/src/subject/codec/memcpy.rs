//! No format: the raw bytes of all fields, copied. It is the lower bound of times, and sizes are
//! compared with it.

use std::error::Error;
use std::hint::black_box;

use super::{Codec, Decoder, Layer, Prepared};
use crate::message::Message;

pub(crate) const SUBJECT: Codec = Codec {
    name: "memcpy",
    about: "a copy of the raw bytes of all fields, into a used buffer (encode) or a new one (decode): \
            the floor",
    crates: &[],
    settings: "https://doc.rust-lang.org/std/vec/struct.Vec.html#method.extend_from_slice",
    properties: &[],
    cases: &["encode", "decode", "wire_size"],
    layers: &[Layer::Message],
    prepare: |messages, _| Ok(Box::new(Memcpy::new(&messages))),
};

struct Memcpy {
    inputs: Vec<Vec<u8>>,
}

impl Memcpy {
    fn new(messages: &[Message]) -> Self {
        Self { inputs: messages.iter().map(Message::raw).collect() }
    }
}

impl Prepared for Memcpy {
    fn encode(&mut self, input: usize, to: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
        to.extend_from_slice(self.inputs.get(input).ok_or("no such input")?);
        Ok(())
    }

    fn decode(&mut self, encoded: &[u8]) -> Result<(), Box<dyn Error>> {
        drop(black_box(encoded.to_vec()));
        Ok(())
    }

    fn is_input(
        &mut self,
        input: usize,
        encoded: &[u8],
        _: Decoder,
    ) -> Result<bool, Box<dyn Error>> {
        Ok(self.inputs.get(input).is_some_and(|raw| raw == encoded))
    }
}
