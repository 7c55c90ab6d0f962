//! The layers of a message: encoded, sealed, framed.

use endseal_codec::frame::{Kind, LiveHeader};
use endseal_codec::{Codec as _, Content, Limits, Message, Scheme, Sealed};
use endseal_crypto::random::{OsRandom, Random};
use endseal_crypto::segment::{
    self, ChunkKeys, InputKey, PREFIX_LEN, SealKeys, SliceOpener, SliceSealer,
};

use super::sample::{Size, sample};
use crate::subject::Failure;

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
    pub(super) fn new(layer: Layer, size: Size, inputs: u32) -> Result<Self, Failure> {
        let mut key = [0; 32];
        OsRandom.fill(&mut key)?;
        Ok(Self {
            layer,
            messages: (0..u64::from(inputs.max(1))).map(|index| sample(index, size)).collect(),
            key: InputKey::from_bytes(&key),
            limits: Limits::default(),
        })
    }

    /// Returns the message of an input.
    pub(super) fn message(&self, input: usize) -> &Message {
        &self.messages[input]
    }

    /// Returns true if this layer encrypts.
    pub(super) fn is_sealed(&self) -> bool {
        matches!(self.layer, Layer::Sealed | Layer::Framed)
    }

    /// Returns the encodings of all inputs.
    pub(super) fn encode_all(&self) -> Result<Vec<Vec<u8>>, Failure> {
        let encoded = |input| {
            let mut out = Vec::new();
            self.encode(input, &mut out).map(|()| out)
        };
        (0..self.messages.len()).map(encoded).collect()
    }

    /// Writes the encoding of an input to `out`, replacing its contents.
    pub(super) fn encode(&self, input: usize, out: &mut Vec<u8>) -> Result<(), Failure> {
        let (message, limits) = (&self.messages[input], self.limits);
        out.clear();
        if self.is_sealed() {
            let sealed = self.seal(message)?;
            let sealed = sealed.as_message();
            if self.layer == Layer::Framed {
                let len = sealed.encoded_len(limits)?;
                let plain = LiveHeader::new(Kind::Message, len, input as u64, limits)?;
                header(plain.sealed().ok_or("a frame of this kind is not sealed")?, out);
            }
            sealed.append_to(limits, out)?;
            return Ok(());
        }
        if self.layer == Layer::Direct {
            let len = message.encoded_len(limits)?;
            header(LiveHeader::new(Kind::Message, len, input as u64, limits)?, out);
        }
        message.append_to(limits, out)?;
        Ok(())
    }

    /// Decodes an encoding of an input into a message that borrows nothing.
    pub(super) fn decode(&self, input: usize, encoded: &[u8]) -> Result<Message, Failure> {
        let payload = self.payload(input, encoded)?;
        if !self.is_sealed() {
            return Ok(Message::decode(payload, self.limits)?);
        }
        let open = |_, context: &[u8], ciphertext: &[u8], out: &mut Vec<u8>| {
            open(&self.key, context, ciphertext, out)
        };
        Sealed::open_payload(payload, self.limits, open).map_err(|_| "it does not open".into())
    }

    /// Returns the payload of the frame, or the whole encoding at a layer without frames.
    fn payload<'e>(&self, input: usize, encoded: &'e [u8]) -> Result<&'e [u8], Failure> {
        if matches!(self.layer, Layer::Message | Layer::Sealed) {
            return Ok(encoded);
        }
        let parsed = LiveHeader::parse(encoded, input as u64, self.limits)?;
        let (header, len) = parsed.ok_or("half a header")?;
        let payload = &encoded[len..];
        let expected = (Kind::Message, self.is_sealed(), payload.len());
        match (header.kind(), header.is_sealed(), header.length()) == expected {
            true => Ok(payload),
            false => Err("another frame".into()),
        }
    }

    fn seal(&self, message: &Message) -> Result<Sealed<Message>, Failure> {
        let context: &[u8] = match &message.content {
            Some(Content::Rich(rich)) => &rich.conversation,
            _ => &[],
        };
        let seal = |plaintext: &[u8], out: &mut Vec<u8>| seal(&self.key, context, plaintext, out);
        Sealed::seal_with(Scheme::PAIRWISE, context, message, self.limits, seal)
            .map_err(|_| "it is not sealed".into())
    }
}

/// Appends a header, and makes room for its payload.
fn header(header: LiveHeader, out: &mut Vec<u8>) {
    let mut bytes = [0; LiveHeader::MAX_LEN];
    let len = header.write(&mut bytes);
    out.reserve(LiveHeader::MAX_LEN + header.length());
    out.extend_from_slice(&bytes[..len]);
}

/// Appends salt, commitment and chunks: `segment::seal` without a vector of its own.
fn seal(
    key: &InputKey,
    context: &[u8],
    plaintext: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let (keys, prefix) = SealKeys::generate(key, context, &mut OsRandom)?;
    let chunks = segment::chunks_len(plaintext.len() as u64).ok_or("too long to be sealed")?;
    let chunks = usize::try_from(chunks)?;
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
fn open(key: &InputKey, context: &[u8], sealed: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
    let (salt, rest) = sealed.split_first_chunk().ok_or("no salt")?;
    let (commitment, chunks) = rest.split_first_chunk().ok_or("no commitment")?;
    let keys = ChunkKeys::derive_committed(key, salt, context, commitment)?;
    let mut opener = SliceOpener::new(keys, chunks)?;
    let start = out.len();
    out.resize(start + opener.remaining(), 0);
    Ok(opener.pull(&mut out[start..])?)
}
