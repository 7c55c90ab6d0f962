//! A whole object opened as it arrives.

use endseal_crypto::hazmat;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::{
    CHUNK_LEN, ChunkKeys, KeySource, SALT_LEN, SEALED_CHUNK_LEN, TAG_LEN,
};

use crate::chunks::Taken;
use crate::form::Form;
use crate::header::Header;
use crate::record::Record;
use crate::size::{HEADER_COPY_LEN, SHORT_TAIL, SHORT_TAIL_LEN, sealed_len, tail_len_max};
use crate::tail::{self, record_context};
use crate::{AuthenticationFailed, ContentKey};

/// Opens all of a whole object, from its first byte to its last.
///
/// No byte is released before its chunk is authentic. The last chunk is released only by
/// [`finish`](Self::finish), after the tail was verified: a caller that has received all of the
/// content knows that it is complete. The opener keeps the last chunk; the caller keeps bytes that
/// are not complete chunks.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct WholeOpener {
    keys: ChunkKeys,
    source: KeySource,
    header: Header,
    plaintext_len: u64,
    state: State,
}

enum State {
    /// The next bytes are those of chunk `index`.
    Chunks {
        index: u64,
    },
    /// So many bytes of the pad are next.
    Pad {
        left: u64,
        last: Zeroizing<Vec<u8>>,
    },
    /// Salt, record, `length` and the copy of the header are next.
    Record {
        last: Zeroizing<Vec<u8>>,
    },
    /// The object is complete and was verified; no bytes may follow.
    Verified {
        last: Zeroizing<Vec<u8>>,
        record: Record,
    },
    Failed,
}

impl WholeOpener {
    /// Prepares the opening of a whole object under `key`, and compares the commitment of `header`.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if `key` is not the key of `header`, or the header is that of a
    /// multipart object.
    pub fn new(header: &Header, key: &ContentKey) -> Result<Self, AuthenticationFailed> {
        let plaintext_len = header.plaintext_len().ok_or(AuthenticationFailed)?;
        let source = KeySource::new(key);
        let keys = header.keys(&source)?;
        let (header, state) = (header.clone(), State::Chunks { index: 0 });
        Ok(Self { keys, source, header, plaintext_len, state })
    }

    /// The length that the object must have. The caller compares it with what the backend says
    /// before it begins to answer; [`open`](Self::open) and [`finish`](Self::finish) refuse any
    /// other length too.
    #[must_use]
    pub fn sealed_len(&self) -> u64 {
        // The length is that of a header, which was checked to be within the limit.
        sealed_len(self.plaintext_len).unwrap_or(0)
    }

    /// Opens the bytes at the start of `buffer` in place: the next bytes of the object, as many as
    /// have arrived. An incomplete rest, shorter than a sealed chunk, is not taken: the caller
    /// gives it again with more bytes behind it.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if it is another object or was changed; every later call fails too.
    /// The content that was given before is authentic but incomplete: the caller MUST let the
    /// reader know that it was cut.
    pub fn open(&mut self, buffer: &mut [u8]) -> Result<Taken, AuthenticationFailed> {
        let taken = self.open_full(buffer);
        self.open_end(buffer, taken)
    }

    /// Returns true if the last chunk is the only one.
    #[must_use]
    pub fn is_short(&self) -> bool {
        last_index(self.plaintext_len) == 0
    }

    /// [`open`](Self::open) of an object that [is short](Self::is_short): nothing is opened in its
    /// place. It takes nothing of others.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_short(&mut self, buffer: &[u8]) -> Result<Taken, AuthenticationFailed> {
        self.open_end(buffer, Ok(Taken::default()))
    }

    /// Ends the opening after the whole object was taken. Returns the last of the content, and the
    /// record of the object.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if something is missing or was refused.
    pub fn finish(self) -> Result<(Zeroizing<Vec<u8>>, Record), AuthenticationFailed> {
        let State::Verified { last, record } = self.state else { return Err(AuthenticationFailed) };
        Ok((last, record))
    }

    /// Opens full chunks, which all but the last one are.
    fn open_full(&mut self, buffer: &mut [u8]) -> Result<Taken, AuthenticationFailed> {
        let mut taken = Taken::default();
        let State::Chunks { index } = &mut self.state else { return Ok(taken) };
        while *index < last_index(self.plaintext_len)
            && let Some(chunk) = taken.next(buffer, SEALED_CHUNK_LEN)
        {
            taken.sealed = chunk.end;
            // Content is shorter than what it was sealed to, so it begins before this chunk or with
            // it.
            taken.content += self.keys.open_chunk_within(*index, buffer, chunk, taken.content)?;
            *index += 1;
        }
        Ok(taken)
    }

    /// Opens what follows those that were `taken`. After an error nothing is opened any more.
    fn open_end(
        &mut self,
        buffer: &[u8],
        taken: Result<Taken, AuthenticationFailed>,
    ) -> Result<Taken, AuthenticationFailed> {
        let taken = taken.and_then(|taken| self.open_last(buffer, taken));
        if taken.is_err() {
            self.state = State::Failed;
        }
        taken
    }

    /// Opens the last chunk and the tail.
    fn open_last(
        &mut self,
        buffer: &[u8],
        mut taken: Taken,
    ) -> Result<Taken, AuthenticationFailed> {
        loop {
            match &mut self.state {
                State::Chunks { index } if *index < last_index(self.plaintext_len) => {
                    return Ok(taken);
                }
                State::Chunks { index } => {
                    let len = last_len(self.plaintext_len);
                    let Some(chunk) = taken.next(buffer, len + TAG_LEN) else { return Ok(taken) };
                    taken.sealed = chunk.end;
                    let mut last = Zeroizing::new(vec![0; len]);
                    self.keys.open_chunk(*index, &buffer[chunk], &mut last)?;
                    let behind = SHORT_TAIL + HEADER_COPY_LEN as u64;
                    let left = tail_len_max(self.plaintext_len) - behind;
                    self.state = State::Pad { left, last };
                }
                State::Pad { left, last } => {
                    let rest = buffer.get(taken.sealed..).unwrap_or_default();
                    let len =
                        usize::try_from(*left).map_or(rest.len(), |left| left.min(rest.len()));
                    if rest.iter().take(len).any(|byte| *byte != 0) {
                        return Err(AuthenticationFailed);
                    }
                    taken.sealed += len;
                    *left -= len as u64;
                    if *left > 0 {
                        return Ok(taken);
                    }
                    self.state = State::Record { last: core::mem::take(last) };
                }
                State::Record { last } => {
                    let len = SHORT_TAIL_LEN + HEADER_COPY_LEN;
                    let Some(rest) = taken.next(buffer, len) else { return Ok(taken) };
                    taken.sealed = rest.end;
                    let rest = &buffer[rest];
                    let copy = self.header.same_object(rest)?;
                    let context = record_context(Form::Whole, &copy);
                    let source = &self.source;
                    let keys =
                        |salt: &[u8; SALT_LEN]| hazmat::uncommitted_keys(source, salt, &context);
                    let record = tail::open_frame(keys, Form::Whole, 0, &rest[..SHORT_TAIL_LEN])?;
                    if record.plaintext_len() != self.plaintext_len {
                        return Err(AuthenticationFailed);
                    }
                    self.state = State::Verified { last: core::mem::take(last), record };
                }
                State::Verified { .. } if taken.sealed == buffer.len() => return Ok(taken),
                State::Verified { .. } | State::Failed => return Err(AuthenticationFailed),
            }
        }
    }
}

/// Index of the last chunk, which is shorter than the others.
const fn last_index(plaintext_len: u64) -> u64 {
    plaintext_len / CHUNK_LEN as u64
}

/// Length of the last chunk's content.
#[allow(clippy::cast_possible_truncation, reason = "a remainder below 16 KiB")]
fn last_len(plaintext_len: u64) -> usize {
    (plaintext_len % CHUNK_LEN as u64) as usize
}
