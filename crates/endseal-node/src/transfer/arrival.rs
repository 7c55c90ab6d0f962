//! Frames as they arrive, in their order.

use endseal_codec::frame::{Kind, LiveFrame};
use endseal_codec::{Codec as _, Content, Limits, Message};

use super::refusal::Refusal;

/// A frame that has arrived, whoever has cut it out of a stream.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "the fields of docs/spec/frame.md")]
pub struct Arrival<'a> {
    /// What the payload is.
    pub kind: Kind,
    /// Whether it is sealed end to end.
    pub sealed: bool,
    /// Its number.
    pub sequence: u64,
    /// The payload.
    pub payload: &'a [u8],
}

impl<'a> From<LiveFrame<'a>> for Arrival<'a> {
    fn from(frame: LiveFrame<'a>) -> Self {
        let header = frame.header;
        Self {
            kind: header.kind(),
            sealed: header.is_sealed(),
            sequence: header.sequence(),
            payload: frame.payload,
        }
    }
}

impl Arrival<'_> {
    /// The message of a frame of kind `message` in the clear.
    pub(super) fn message(&self) -> Result<Content, Refusal> {
        if self.kind != Kind::Message || self.sealed {
            return Err(Refusal::Order);
        }
        // What a later version says has no place in this one's order.
        Message::decode(self.payload, Limits::default())?.content.ok_or(Refusal::Order)
    }
}

/// Counts the frames of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count(u64);

impl Count {
    /// Whether it is the next one.
    pub(super) fn check(&mut self, sequence: u64) -> Result<(), Refusal> {
        if sequence != self.0 {
            return Err(Refusal::Sequence);
        }
        self.0 += 1;
        Ok(())
    }

    /// The number of the next one.
    pub(super) fn next(&mut self) -> u64 {
        let next = self.0;
        self.0 += 1;
        next
    }
}
