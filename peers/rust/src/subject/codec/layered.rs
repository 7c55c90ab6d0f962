//! The three layers of a message over a binary format.
//!
//!     layer 1    the message
//!     layer 2    sealed message: nonce (12) | layer 1 under AES-256-GCM | tag (16)
//!     layer 3    version and kind (1) | flags (1) | varint length | varint sequence | layer 2
//!
//! The frame is the live frame of `docs/spec/frame.md`. Its sequence is the position of the input.

use std::borrow::Cow;
use std::error::Error;
use std::hint::black_box;

use aws_lc_rs::aead::{AES_256_GCM, Aad, Algorithm, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::error::Unspecified;

use super::{Decoder, Layer, NOT_BORROWED, Prepared};
use crate::message::Message;

const TAG: usize = 16;

/// A binary format, encoded and decoded as users of its library do it.
pub(crate) trait Format {
    /// A message in the form that is encoded, and that the decoder of owned values returns.
    type Owned;

    fn from_message(message: &Message) -> Self::Owned;

    /// Encodes a message and appends it to `to`.
    fn encode(message: &Self::Owned, to: &mut Vec<u8>) -> Result<(), Box<dyn Error>>;

    fn decode(encoded: &[u8]) -> Result<Self::Owned, Box<dyn Error>>;

    /// Converts a decoded message for the check.
    fn to_message(message: Self::Owned) -> Result<Message, Box<dyn Error>>;

    /// Decodes a view, keeps the optimiser from removing the work, and drops the view.
    fn decode_borrowed(_encoded: &[u8]) -> Result<(), Box<dyn Error>> {
        Err(NOT_BORROWED.into())
    }

    /// Converts the fields of a view for the check.
    fn view_to_message(_encoded: &[u8]) -> Result<Message, Box<dyn Error>> {
        Err(NOT_BORROWED.into())
    }

    /// Appends the encoded message. `frame` gets its length and appends the header before it.
    fn encode_framed(
        _message: &Self::Owned,
        _frame: &dyn Fn(usize, &mut Vec<u8>),
        _to: &mut Vec<u8>,
    ) -> Result<(), Box<dyn Error>> {
        Err("no frame around a message".into())
    }

    /// Appends a sealed message of that context. `frame` gets its length and appends the header
    /// before it.
    fn wrap(
        _context: &[u8],
        _ciphertext: &mut Vec<u8>,
        _frame: &dyn Fn(usize, &mut Vec<u8>),
        _to: &mut Vec<u8>,
    ) -> Result<(), Box<dyn Error>> {
        Err("no layer above the first".into())
    }

    /// Returns the ciphertext of a sealed message.
    fn unwrap(_sealed: &[u8]) -> Result<Cow<'_, [u8]>, Box<dyn Error>> {
        Err("no layer above the first".into())
    }
}

/// Inputs of a format at one layer, with the key and buffers that the layer needs.
pub(crate) struct Layered<F: Format> {
    layer: Layer,
    messages: Vec<Message>,
    inputs: Vec<F::Owned>,
    /// Key of the session; `None` if only the connection encrypts.
    key: Option<SessionKey>,
    /// Buffer of sealed or opened bytes; its memory is reused.
    scratch: Vec<u8>,
}

impl<F: Format + 'static> Layered<F> {
    pub(crate) fn prepare(
        messages: Vec<Message>,
        layer: Layer,
    ) -> Result<Box<dyn Prepared>, Box<dyn Error>> {
        let key = SessionKey::new(&AES_256_GCM)?;
        Ok(Self::with_key(messages, layer, Some(key)))
    }

    /// Prepares inputs without encryption: layer 3 is the message in a frame.
    pub(crate) fn prepare_direct(
        messages: Vec<Message>,
        layer: Layer,
    ) -> Result<Box<dyn Prepared>, Box<dyn Error>> {
        Ok(Self::with_key(messages, layer, None))
    }

    fn with_key(
        messages: Vec<Message>,
        layer: Layer,
        key: Option<SessionKey>,
    ) -> Box<dyn Prepared> {
        let inputs = messages.iter().map(F::from_message).collect();
        Box::new(Self { layer, messages, inputs, key, scratch: Vec::new() })
    }
}

impl<F: Format> Layered<F> {
    /// Returns the encoding of the message, opened if the layer seals.
    fn open<'a>(&'a mut self, encoded: &'a [u8]) -> Result<&'a [u8], Box<dyn Error>> {
        let sealed = match self.layer {
            Layer::Message => return Ok(encoded),
            Layer::Sealed => encoded,
            Layer::Framed => read_frame(encoded, flags(self.key.is_some()))?,
        };
        let Some(key) = &self.key else { return Ok(sealed) };
        match F::unwrap(sealed)? {
            Cow::Borrowed(ciphertext) => key.open(ciphertext, &mut self.scratch)?,
            Cow::Owned(ciphertext) => {
                self.scratch = ciphertext;
                return Ok(key.open_in_place(&mut self.scratch)?);
            }
        }
        Ok(&self.scratch)
    }
}

impl<F: Format> Prepared for Layered<F> {
    fn encode(&mut self, input: usize, to: &mut Vec<u8>) -> Result<(), Box<dyn Error>> {
        let message = self.inputs.get(input).ok_or("no such input")?;
        if self.layer == Layer::Message {
            return F::encode(message, to);
        }
        let framed = self.layer == Layer::Framed;
        let flags = flags(self.key.is_some());
        let frame = |length, to: &mut Vec<u8>| {
            if framed {
                write_frame(flags, length, input, to);
            }
        };
        let Some(key) = &self.key else { return F::encode_framed(message, &frame, to) };
        let ciphertext = &mut self.scratch;
        let nonce = SessionKey::nonce()?;
        ciphertext.clear();
        ciphertext.extend_from_slice(&nonce);
        F::encode(message, ciphertext)?;
        key.seal_in_place(nonce, ciphertext, NONCE_LEN)?;
        let context = self.messages.get(input).ok_or("no such input")?.conversation;
        F::wrap(&context, ciphertext, &frame, to)
    }

    fn decode(&mut self, encoded: &[u8]) -> Result<(), Box<dyn Error>> {
        drop(black_box(F::decode(self.open(encoded)?)?));
        Ok(())
    }

    fn decode_borrowed(&mut self, encoded: &[u8]) -> Result<(), Box<dyn Error>> {
        F::decode_borrowed(self.open(encoded)?)
    }

    fn is_input(
        &mut self,
        input: usize,
        encoded: &[u8],
        decoder: Decoder,
    ) -> Result<bool, Box<dyn Error>> {
        let opened = self.open(encoded)?;
        let message = match decoder {
            Decoder::Owned => F::to_message(F::decode(opened)?)?,
            Decoder::Borrowed => F::view_to_message(opened)?,
        };
        Ok(self.messages.get(input) == Some(&message))
    }
}

/// A key that two sides agreed on and set up before the measurement.
pub(crate) struct SessionKey(LessSafeKey);

impl SessionKey {
    pub(crate) fn new(algorithm: &'static Algorithm) -> Result<Self, Unspecified> {
        let mut key = [0; 32];
        aws_lc_rs::rand::fill(&mut key)?;
        Ok(Self(LessSafeKey::new(UnboundKey::new(algorithm, &key)?)))
    }

    /// Returns a random nonce.
    pub(crate) fn nonce() -> Result<[u8; NONCE_LEN], Unspecified> {
        let mut nonce = [0; NONCE_LEN];
        aws_lc_rs::rand::fill(&mut nonce)?;
        Ok(nonce)
    }

    /// Seals all bytes after the first `skipped` ones, and appends the tag.
    pub(crate) fn seal_in_place(
        &self,
        nonce: [u8; NONCE_LEN],
        buffer: &mut Vec<u8>,
        skipped: usize,
    ) -> Result<(), Unspecified> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let content = buffer.get_mut(skipped..).ok_or(Unspecified)?;
        let tag = self.0.seal_in_place_separate_tag(nonce, Aad::empty(), content)?;
        buffer.extend_from_slice(tag.as_ref());
        Ok(())
    }

    /// Opens nonce, ciphertext and tag. The content replaces `to`.
    pub(crate) fn open(&self, sealed: &[u8], to: &mut Vec<u8>) -> Result<(), Unspecified> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(Unspecified)?;
        let (ciphertext, tag) = rest.split_last_chunk::<TAG>().ok_or(Unspecified)?;
        to.resize(ciphertext.len(), 0);
        let nonce = Nonce::assume_unique_for_key(*nonce);
        self.0.open_separate_gather(nonce, Aad::empty(), ciphertext, tag, to)
    }

    /// Opens nonce, ciphertext and tag in place, and returns the content.
    fn open_in_place<'a>(&self, sealed: &'a mut [u8]) -> Result<&'a [u8], Unspecified> {
        let (nonce, rest) = sealed.split_first_chunk_mut::<NONCE_LEN>().ok_or(Unspecified)?;
        self.open_with(*nonce, rest)
    }

    /// Opens ciphertext and tag in place, and returns the content.
    pub(crate) fn open_with<'a>(
        &self,
        nonce: [u8; NONCE_LEN],
        sealed: &'a mut [u8],
    ) -> Result<&'a [u8], Unspecified> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        Ok(self.0.open_in_place(nonce, Aad::empty(), sealed)?)
    }
}

/// First byte of a frame: version 1, kind `message`.
const VERSION_AND_KIND: u8 = 0x11;
const SEALED: u8 = 0x02;

fn flags(sealed: bool) -> u8 {
    if sealed { SEALED } else { 0 }
}

/// Largest payload of a frame, which is the maximum that the specification assumes.
pub(crate) const MAXIMUM: usize = 1 << 20;

fn write_frame(flags: u8, length: usize, sequence: usize, to: &mut Vec<u8>) {
    to.extend_from_slice(&[VERSION_AND_KIND, flags]);
    write_varint(length as u64, to);
    write_varint(sequence as u64, to);
}

fn write_varint(mut value: u64, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    to.push(value.to_le_bytes()[0]);
}

/// Checks the header of a frame and returns its payload.
fn read_frame(frame: &[u8], flags: u8) -> Result<&[u8], Box<dyn Error>> {
    let mut rest = frame.strip_prefix(&[VERSION_AND_KIND, flags]).ok_or("another frame")?;
    let length = read_varint(&mut rest)?;
    let _the_input = read_varint(&mut rest)?;
    if length > MAXIMUM as u64 || length != rest.len() as u64 {
        return Err("another length".into());
    }
    Ok(rest)
}

/// Reads a varint below 2^62, which must have its shortest form.
fn read_varint(rest: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (byte, left) = rest.split_first().ok_or("the frame is too short")?;
        *rest = left;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            let shortest = *byte != 0 || shift == 0;
            return if shortest && value < 1 << 62 { Ok(value) } else { Err("no varint") };
        }
    }
    Err("no varint")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_read_as_written_and_in_one_form() {
        for value in [0, 1, 127, 128, 8720, (1 << 62) - 1] {
            let mut bytes = Vec::new();
            write_varint(value, &mut bytes);
            assert_eq!(read_varint(&mut &bytes[..]), Ok(value));
            assert!(read_varint(&mut &bytes[..bytes.len() - 1]).is_err());
        }
        let refused: [&[u8]; 3] = [&[0x80, 0], &[0xff; 9], &[0xff, 0xff, 0x80, 0]];
        for bytes in refused {
            assert!(read_varint(&mut &*bytes).is_err(), "{bytes:?}");
        }
    }
}
