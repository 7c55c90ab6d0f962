//! The state between two pushes.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes};
use endseal_crypto::secret::constant_time_eq;
use endseal_crypto::sha256;
use http::{HeaderMap, HeaderName};

use super::ChunkError;
use super::held::Held;
use super::line::Line;
use super::trailer::{Trailer, trim};
use crate::sigv4::{ChunkSigner, digest};

/// `<16 digits>;chunk-signature=<64 digits>\r\n` has 99 bytes.
const MAX_HEAD: usize = 128;
/// All lines of a trailer together.
const MAX_TRAILER: usize = 4_096;
const TRAILER_SIGNATURE: &[u8] = b"x-amz-trailer-signature";

/// Form of the chunks that the request announces.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Form {
    /// Each with a signature, without a trailer.
    Signed(ChunkSigner),
    /// Each with a signature, and a trailer with one.
    SignedTrailer(ChunkSigner),
    /// Without signatures, and with the trailers that were announced, if any.
    Unsigned,
}

/// Limits of the bytes that are kept back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a signed chunk that wait for its signature, apart from one push; at least 1.
    pub hold: u64,
}

impl Default for Limits {
    /// 1 MiB, above what SDKs send in one chunk.
    fn default() -> Self {
        Self { hold: 1 << 20 }
    }
}

impl Limits {
    /// The default with another [`hold`](Self::hold).
    #[must_use]
    pub fn with_hold(hold: u64) -> Self {
        Self { hold: hold.max(1) }
    }
}

/// Takes the content out of a chunked upload.
#[derive(Debug)]
pub struct Decoder {
    signer: Option<ChunkSigner>,
    signed_trailer: bool,
    limits: Limits,
    /// Content that is still to come.
    remaining: u64,
    trailer: Trailer,
    state: State,
    line: Line,
    /// Bytes that the lines of the trailer may still have.
    trailer_room: usize,
    chunk: Chunk,
    held: Held,
    failed: Option<ChunkError>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Head,
    Data,
    /// CRLF behind a chunk, of which so many bytes came.
    DataEnd(usize),
    Trailer,
    /// The empty line between trailer and signature came.
    TrailerSignature,
    /// The end, behind which this many bytes of empty lines may still come.
    End(usize),
}

/// State of the chunk that is being read.
#[derive(Debug, Default)]
struct Chunk {
    left: u64,
    signature: [u8; 32],
    digest: sha256::Digest,
}

impl Decoder {
    /// A decoder of content that is `length` bytes long (`x-amz-decoded-content-length`), with the
    /// trailers that `x-amz-trailer` announced.
    #[must_use]
    pub fn new(form: Form, length: u64, announced: Vec<HeaderName>, limits: Limits) -> Self {
        let (signer, signed_trailer) = match form {
            Form::Signed(signer) => (Some(signer), false),
            Form::SignedTrailer(signer) => (Some(signer), true),
            Form::Unsigned => (None, false),
        };
        Self {
            signer,
            signed_trailer,
            limits: Limits::with_hold(limits.hold),
            remaining: length,
            trailer: Trailer::new(announced),
            state: State::Head,
            line: Line::default(),
            trailer_room: MAX_TRAILER,
            chunk: Chunk::default(),
            held: Held::default(),
            failed: None,
        }
    }

    /// Takes the next piece of the upload and puts content that may be released into `out`: slices
    /// of the piece, uncopied but for tiny ones.
    ///
    /// # Errors
    /// [`ChunkError`], and the same for every later call. The content in `out` MUST be thrown away.
    pub fn push(&mut self, input: Bytes, out: &mut VecDeque<Bytes>) -> Result<(), ChunkError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let outcome = self.take(input, out);
        self.failed = outcome.err();
        if self.signer.is_none() {
            self.held.release(out);
        }
        outcome
    }

    /// Ends the upload; all of its content has then been released and is authentic, if it is
    /// signed.
    ///
    /// # Errors
    /// [`ChunkError`] if the upload failed before or is not complete.
    pub fn finish(self) -> Result<HeaderMap, ChunkError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let ended = match self.state {
            // Half an empty line is none.
            State::End(room) => room % 2 == 0,
            State::Trailer if self.signer.is_none() && self.line.is_empty() => {
                self.trailer.is_complete()
            }
            _ => false,
        };
        if !ended {
            return Err(ChunkError::Incomplete);
        }
        self.trailer.finish()
    }

    fn take(&mut self, mut input: Bytes, out: &mut VecDeque<Bytes>) -> Result<(), ChunkError> {
        while !input.is_empty() {
            let mut rest = &input[..];
            self.framing(&mut rest)?;
            let framing = input.len() - rest.len();
            input.advance(framing);
            if !input.is_empty() {
                self.data(&mut input, out)?;
            }
        }
        Ok(())
    }

    /// Takes what is around content, up to the next content or the end of `input`.
    fn framing(&mut self, input: &mut &[u8]) -> Result<(), ChunkError> {
        while !input.is_empty() {
            match self.state {
                State::Head => {
                    let Some(line) = self.line.take(input, MAX_HEAD)? else { return Ok(()) };
                    self.head(&line)?;
                }
                State::Data => return Ok(()),
                State::DataEnd(have) => {
                    if input.get_u8() != b"\r\n"[have] {
                        return Err(ChunkError::MalformedChunk);
                    }
                    self.state = if have == 0 { State::DataEnd(1) } else { State::Head };
                }
                State::Trailer | State::TrailerSignature => {
                    let room = self.trailer_room;
                    let Some(line) = self.line.take(input, room)? else { return Ok(()) };
                    self.trailer_room -= line.len() + 1;
                    self.trailer_line(line.strip_suffix(b"\r").unwrap_or(&line))?;
                }
                State::End(0) => return Err(ChunkError::TrailingBytes),
                State::End(room) => {
                    if input.get_u8() != if room % 2 == 0 { b'\r' } else { b'\n' } {
                        return Err(ChunkError::TrailingBytes);
                    }
                    self.state = State::End(room - 1);
                }
            }
        }
        Ok(())
    }

    fn head(&mut self, line: &[u8]) -> Result<(), ChunkError> {
        let line = line.strip_suffix(b"\r").ok_or(ChunkError::MalformedChunk)?;
        let size = if self.signer.is_some() {
            let mark = line.iter().position(|byte| *byte == b';');
            let (size, extension) = line.split_at(mark.ok_or(ChunkError::MalformedChunk)?);
            let signature = extension.strip_prefix(b";chunk-signature=").and_then(digest);
            self.chunk.signature = signature.ok_or(ChunkError::MalformedChunk)?;
            size
        } else {
            line
        };
        self.chunk.left = hexadecimal(size).ok_or(ChunkError::MalformedChunk)?;
        self.chunk.digest = sha256::Digest::new();
        self.remaining =
            self.remaining.checked_sub(self.chunk.left).ok_or(ChunkError::WrongLength)?;
        if self.chunk.left > 0 {
            self.state = State::Data;
            return Ok(());
        }
        if self.remaining > 0 {
            return Err(ChunkError::WrongLength);
        }
        self.verify_chunk()?;
        self.state = match self.signer {
            Some(_) if !self.signed_trailer => State::End(2),
            _ => State::Trailer,
        };
        Ok(())
    }

    fn data(&mut self, input: &mut Bytes, out: &mut VecDeque<Bytes>) -> Result<(), ChunkError> {
        let len = input.len();
        let taken = usize::try_from(self.chunk.left).map_or(len, |left| left.min(len));
        let slice = input.split_to(taken);
        self.chunk.left -= taken as u64;
        if self.signer.is_some() {
            self.chunk.digest.update(&slice);
        }
        self.held.push(slice);
        if self.chunk.left == 0 {
            self.verify_chunk()?;
            self.state = State::DataEnd(0);
        }
        if self.signer.is_some() {
            match self.chunk.left {
                0 => self.held.release(out),
                _ => self.held.release_but(self.limits.hold, out),
            }
        }
        Ok(())
    }

    /// Compares the signature of the chunk that was read, if chunks are signed.
    fn verify_chunk(&mut self) -> Result<(), ChunkError> {
        let Some(signer) = &mut self.signer else { return Ok(()) };
        let computed = signer.chunk(&core::mem::take(&mut self.chunk.digest).finish());
        compare(&computed, &self.chunk.signature)
    }

    fn trailer_line(&mut self, line: &[u8]) -> Result<(), ChunkError> {
        if line.is_empty() {
            self.state = match (&self.signer, self.state) {
                // One more: some clients end trailers with an empty line too many.
                (None, _) => State::End(2),
                // Some clients put an empty line before the signature.
                (Some(_), State::Trailer) => State::TrailerSignature,
                _ => return Err(ChunkError::MalformedTrailer),
            };
            return if self.signer.is_some() || self.trailer.is_complete() {
                Ok(())
            } else {
                Err(ChunkError::MalformedTrailer)
            };
        }
        let mark = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(mark.ok_or(ChunkError::MalformedTrailer)?);
        let value = &value[1..];
        match &mut self.signer {
            Some(signer) if name.eq_ignore_ascii_case(TRAILER_SIGNATURE) => {
                let signature = digest(trim(value)).ok_or(ChunkError::MalformedTrailer)?;
                compare(&signer.trailer(self.trailer.signed_text()), &signature)?;
                if !self.trailer.is_complete() {
                    return Err(ChunkError::MalformedTrailer);
                }
                self.state = State::End(2);
                Ok(())
            }
            _ if self.state == State::TrailerSignature => Err(ChunkError::MalformedTrailer),
            _ => self.trailer.push(name, value),
        }
    }
}

fn compare(computed: &[u8; 32], sent: &[u8; 32]) -> Result<(), ChunkError> {
    if constant_time_eq(computed, sent) { Ok(()) } else { Err(ChunkError::SignatureMismatch) }
}

/// Parses 1 to 16 hexadecimal digits; `None` for any other text.
fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let digits = core::str::from_utf8(digits).ok().filter(|it| (1..=16).contains(&it.len()))?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}
