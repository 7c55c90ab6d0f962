//! A whole object opened as it arrives.

use bytes::BytesMut;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::{CHUNK_LEN, ChunkKeys, SEALED_CHUNK_LEN, TAG_LEN};

use crate::object::chunks::{Gather, open_onto};
use crate::object::header::{Form, Header};
use crate::object::record::Record;
use crate::object::size::{SHORT_TAIL, SHORT_TAIL_LEN, sealed_len, tail_len_max};
use crate::object::{ContentKey, Unauthentic, tail};

/// Opens all of a whole object, from its first byte to its last.
///
/// No byte is released before its chunk is authentic, and the last chunk only by
/// [`finish`](Self::finish), after the tail was verified: who has all of the content knows that it is
/// all. Keeps one chunk on its way, the last chunk and 92 bytes of the tail.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct WholeOpener {
    keys: ChunkKeys,
    key: ContentKey,
    plaintext_len: u64,
    gather: Gather,
    state: State,
}

enum State {
    /// Chunk `index` is next.
    Chunks {
        index: u64,
    },
    /// So many bytes of the pad are next.
    Pad {
        left: u64,
        last: Zeroizing<Vec<u8>>,
    },
    /// Salt, record and `length` are next.
    Record {
        last: Zeroizing<Vec<u8>>,
    },
    /// Nothing more comes.
    Verified {
        last: Zeroizing<Vec<u8>>,
        record: Record,
    },
    Failed,
}

impl WholeOpener {
    /// # Errors
    /// [`Unauthentic`] if `key` is not the key of `header`, or the header is that of a multipart
    /// object.
    pub fn new(header: &Header, key: &ContentKey) -> Result<Self, Unauthentic> {
        let plaintext_len = header.plaintext_len().ok_or(Unauthentic)?;
        Ok(Self {
            keys: header.keys(key)?,
            key: ContentKey::from_bytes(key.expose_secret()),
            plaintext_len,
            gather: Gather::default(),
            state: State::Chunks { index: 0 },
        })
    }

    /// The length that the object must have. The caller compares it with what the backend says
    /// before it begins to answer; [`push`](Self::push) and [`finish`](Self::finish) refuse any
    /// other length too.
    #[must_use]
    pub fn sealed_len(&self) -> u64 {
        // Of a header, which holds no length that is too long.
        sealed_len(self.plaintext_len).unwrap_or(0)
    }

    /// Takes the next bytes of the object; adds the content that is known to be authentic to `out`.
    ///
    /// # Errors
    /// [`Unauthentic`] if it is another object or was changed, now and ever after. What was added to
    /// `out` is authentic, but not all: the caller MUST let the reader know that it was cut.
    pub fn push(&mut self, sealed: &[u8], out: &mut BytesMut) -> Result<(), Unauthentic> {
        let pushed = self.push_inner(sealed, out);
        if pushed.is_err() {
            self.state = State::Failed;
        }
        pushed
    }

    /// After all of the object came: adds the last of the content to `out`, and gives what the
    /// record says.
    ///
    /// # Errors
    /// [`Unauthentic`] if something is missing or was refused.
    pub fn finish(self, out: &mut BytesMut) -> Result<Record, Unauthentic> {
        let State::Verified { last, record } = self.state else { return Err(Unauthentic) };
        out.extend_from_slice(&last);
        Ok(record)
    }

    fn push_inner(&mut self, mut sealed: &[u8], out: &mut BytesMut) -> Result<(), Unauthentic> {
        out.reserve(sealed.len());
        while !sealed.is_empty() {
            match &mut self.state {
                State::Chunks { index } => {
                    let is_last = *index == self.plaintext_len / CHUNK_LEN as u64;
                    let len = if is_last {
                        last_len(self.plaintext_len) + TAG_LEN
                    } else {
                        SEALED_CHUNK_LEN
                    };
                    let Some(chunk) = self.gather.take(&mut sealed, len) else { return Ok(()) };
                    if is_last {
                        let mut last = Zeroizing::new(vec![0; len - TAG_LEN]);
                        self.keys.open_chunk(*index, chunk, &mut last)?;
                        let left = tail_len_max(self.plaintext_len) - SHORT_TAIL;
                        self.state = State::Pad { left, last };
                    } else {
                        open_onto(&self.keys, *index, chunk, out)?;
                        *index += 1;
                    }
                }
                State::Pad { left, last } => {
                    let len = usize::try_from(*left).map_or(sealed.len(), |l| l.min(sealed.len()));
                    let (pad, rest) = sealed.split_at(len);
                    if pad.iter().any(|byte| *byte != 0) {
                        return Err(Unauthentic);
                    }
                    sealed = rest;
                    *left -= len as u64;
                    if *left == 0 {
                        self.state = State::Record { last: core::mem::take(last) };
                    }
                }
                State::Record { last } => {
                    let frame = self.gather.take(&mut sealed, SHORT_TAIL_LEN);
                    let Some(frame) = frame else { return Ok(()) };
                    let record = tail::open_frame(&self.key, Form::Whole, 0, frame)?;
                    if record.plaintext_len() != self.plaintext_len {
                        return Err(Unauthentic);
                    }
                    self.state = State::Verified { last: core::mem::take(last), record };
                }
                State::Verified { .. } | State::Failed => return Err(Unauthentic),
            }
        }
        if matches!(self.state, State::Failed) { Err(Unauthentic) } else { Ok(()) }
    }
}

/// Length of the last chunk's content.
#[allow(clippy::cast_possible_truncation, reason = "a remainder below 16 KiB")]
fn last_len(plaintext_len: u64) -> usize {
    (plaintext_len % CHUNK_LEN as u64) as usize
}
