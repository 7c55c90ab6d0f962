//! Frames in the order of their arrival.

use endseal_codec::frame::{Kind, LiveFrame};
use endseal_codec::{Codec as _, Content, Limits, Message};
use endseal_transport::Frame;

use super::refusal::Refusal;

/// A frame that has arrived. The code that parsed it from the stream has checked its number.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "the fields of docs/spec/frame.md")]
pub struct Arrival<'a> {
    /// Kind of the payload.
    pub kind: Kind,
    /// True if the payload is sealed end to end.
    pub sealed: bool,
    /// Content of the frame.
    pub payload: &'a [u8],
}

impl<'a> From<LiveFrame<'a>> for Arrival<'a> {
    fn from(frame: LiveFrame<'a>) -> Self {
        let header = frame.header;
        Self { kind: header.kind(), sealed: header.is_sealed(), payload: frame.payload }
    }
}

impl<'a> From<&'a Frame> for Arrival<'a> {
    fn from(frame: &'a Frame) -> Self {
        Self { kind: frame.kind(), sealed: frame.is_sealed(), payload: &frame.payload }
    }
}

impl Arrival<'_> {
    /// Decodes a cleartext frame of kind `message`. Fails with [`Refusal::Order`] for other frames.
    pub(super) fn message(&self) -> Result<Content, Refusal> {
        if self.kind != Kind::Message || self.sealed {
            return Err(Refusal::Order);
        }
        // Content that only a later version knows is not valid at any position in this one.
        Message::decode(self.payload, Limits::default())?.content.ok_or(Refusal::Order)
    }
}
