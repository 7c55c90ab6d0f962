//! The layers of a message: encoded, sealed, framed.

use endseal_codec::frame::{Kind, LiveHeader};
use endseal_codec::{Codec as _, Content, Limits, Message, Scheme, Sealed};
use endseal_crypto::random::{OsRandom, Random};
use endseal_crypto::segment::{
    self, ChunkKeys, InputKey, PREFIX_LEN, SealKeys, SliceOpener, SliceSealer,
};

use super::failed;
use super::sample::{Size, sample};
use crate::subject::SubjectError;

/// A layer at which a message is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// The message alone.
    Message,
    /// The message, sealed as a `SealedMessage`.
    Sealed,
    /// The sealed message in a live frame.
    Framed,
    /// The message in a live frame, unsealed: only the connection encrypts.
    Direct,
}

/// Messages at one layer, with everything that encoding and decoding them needs.
pub(super) struct Pipeline {
    layer: Layer,
    messages: Vec<Message>,
    /// Key that both sides have.
    key: InputKey,
    limits: Limits,
}

impl Pipeline {
    pub(super) fn new(layer: Layer, size: Size, inputs: u32) -> Result<Self, SubjectError> {
        let mut key = [0; 32];
        OsRandom.fill(&mut key).map_err(failed)?;
        Ok(Self {
            layer,
            messages: (0..u64::from(inputs.max(1))).map(|index| sample(index, size)).collect(),
            key: InputKey::from_bytes(&key),
            limits: Limits::default(),
        })
    }

    /// Returns the number of messages.
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns the message of an input.
    pub(super) fn message(&self, input: usize) -> &Message {
        &self.messages[input]
    }

    pub(super) fn layer(&self) -> Layer {
        self.layer
    }

    /// Writes the encoding of an input to `out`, replacing its contents.
    pub(super) fn encode(&self, input: usize, out: &mut Vec<u8>) -> Result<(), SubjectError> {
        let (message, limits) = (&self.messages[input], self.limits);
        out.clear();
        match self.layer {
            Layer::Message => {}
            Layer::Direct => {
                let len = message.encoded_len(limits).map_err(failed)?;
                out.reserve(LiveHeader::MAX_LEN + len);
                header(Some(header_of(len, input, limits)?), out);
            }
            Layer::Sealed | Layer::Framed => {
                let sealed = self.seal(message)?;
                let sealed = sealed.as_message();
                if self.layer == Layer::Framed {
                    let len = sealed.encoded_len(limits).map_err(failed)?;
                    out.reserve(LiveHeader::MAX_LEN + len);
                    header(header_of(len, input, limits)?.sealed(), out);
                }
                sealed.append_to(limits, out).map_err(failed)?;
                return Ok(());
            }
        }
        message.append_to(limits, out).map_err(failed)?;
        Ok(())
    }

    /// Decodes an encoding of an input into a message that borrows nothing.
    pub(super) fn decode(&self, input: usize, encoded: &[u8]) -> Result<Message, SubjectError> {
        let payload = self.payload(input, encoded)?;
        if matches!(self.layer, Layer::Message | Layer::Direct) {
            return Message::decode(payload, self.limits).map_err(failed);
        }
        let open = |_, context: &[u8], ciphertext: &[u8], out: &mut Vec<u8>| {
            open(&self.key, context, ciphertext, out)
        };
        Sealed::open_payload(payload, self.limits, open).map_err(|_| failed("it does not open"))
    }

    /// Returns the payload of the frame, or the whole encoding at a layer without frames.
    fn payload<'e>(&self, input: usize, encoded: &'e [u8]) -> Result<&'e [u8], SubjectError> {
        if matches!(self.layer, Layer::Message | Layer::Sealed) {
            return Ok(encoded);
        }
        let parsed = LiveHeader::parse(encoded, input as u64, self.limits).map_err(failed)?;
        let (header, len) = parsed.ok_or_else(|| failed("half a header"))?;
        let payload = &encoded[len..];
        let expected = (Kind::Message, self.layer == Layer::Framed, payload.len());
        if (header.kind(), header.is_sealed(), header.length()) != expected {
            return Err(failed("another frame"));
        }
        Ok(payload)
    }

    fn seal(&self, message: &Message) -> Result<Sealed<Message>, SubjectError> {
        let context: &[u8] = match &message.content {
            Some(Content::Rich(rich)) => &rich.conversation,
            _ => &[],
        };
        let seal = |plaintext: &[u8], out: &mut Vec<u8>| seal(&self.key, context, plaintext, out);
        Sealed::seal_with(Scheme::PAIRWISE, context, message, self.limits, seal)
            .map_err(|_| failed("it is not sealed"))
    }
}

fn header_of(len: usize, input: usize, limits: Limits) -> Result<LiveHeader, SubjectError> {
    LiveHeader::new(Kind::Message, len, input as u64, limits).map_err(failed)
}

fn header(header: Option<LiveHeader>, out: &mut Vec<u8>) {
    let mut bytes = [0; LiveHeader::MAX_LEN];
    let len = header.map_or(0, |header| header.write(&mut bytes));
    out.extend_from_slice(&bytes[..len]);
}

/// Appends salt, commitment and chunks: `segment::seal` without a vector of its own.
fn seal(
    key: &InputKey,
    context: &[u8],
    plaintext: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), SubjectError> {
    let (keys, prefix) = SealKeys::generate(key, context, &mut OsRandom).map_err(failed)?;
    let chunks = segment::chunks_len(plaintext.len() as u64)
        .and_then(|len| usize::try_from(len).ok())
        .ok_or_else(|| failed("too long to be sealed"))?;
    let start = out.len();
    out.reserve_exact(PREFIX_LEN + chunks);
    out.extend_from_slice(&prefix);
    out.resize(start + PREFIX_LEN + chunks, 0);
    let mut sealer = SliceSealer::new(keys, &mut out[start + PREFIX_LEN..]);
    sealer.push(plaintext);
    sealer.finish();
    Ok(())
}

/// Opens what [`seal`] appended.
fn open(
    key: &InputKey,
    context: &[u8],
    sealed: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), SubjectError> {
    let (salt, rest) = sealed.split_first_chunk().ok_or_else(|| failed("no salt"))?;
    let (commitment, chunks) = rest.split_first_chunk().ok_or_else(|| failed("no commitment"))?;
    let keys = ChunkKeys::derive_committed(key, salt, context, commitment).map_err(failed)?;
    let mut opener = SliceOpener::new(keys, chunks).map_err(failed)?;
    let start = out.len();
    out.resize(start + opener.remaining(), 0);
    opener.pull(&mut out[start..]).map_err(failed)
}
