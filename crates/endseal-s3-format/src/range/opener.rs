//! A range opened as it arrives.

use core::ops::Range;

use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::{ChunkKeys, KeySource, SALT_LEN, TAG_LEN};

use super::{CHUNK, Content, RangePlan};
use crate::chunks::Taken;
use crate::form::Form;
use crate::header::Header;
use crate::record::Entry;
use crate::{AuthenticationFailed, ContentKey, part};

/// Opens the bytes that a [`RangePlan`] named, in their order.
///
/// It gives exactly the range's content, each byte after its chunk was authenticated. It keeps the
/// entries of the parts that the range touches; the caller keeps bytes that are not complete
/// chunks.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct RangeOpener {
    key: ContentKey,
    /// Parts behind the one at hand.
    parts: std::vec::IntoIter<Entry>,
    stage: Stage,
    /// Content of the next chunk before the range.
    skip: usize,
    /// Content still to be given.
    remaining: u64,
    /// True if bytes without content, behind the range, come too.
    is_all: bool,
    failed: bool,
}

/// Kind of the next bytes.
enum Stage {
    Salt(Entry),
    Chunk(Chunks),
    /// No further bytes are expected.
    End,
}

/// The part, or body, at hand.
struct Chunks {
    keys: ChunkKeys,
    index: u64,
    plaintext_len: u64,
}

impl RangePlan {
    /// Starts the opening. `salt` holds the bytes at [`salt`](Self::salt), if the plan asks for
    /// them.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if `key` is not the key of `header`, the plan is for another form
    /// or length than the header says, or a salt is missing.
    pub fn opener(
        self,
        header: &Header,
        key: &ContentKey,
        salt: Option<[u8; SALT_LEN]>,
    ) -> Result<RangeOpener, AuthenticationFailed> {
        let keys = header.keys(&KeySource::new(key))?;
        let first = self.start / CHUNK;
        let begins_with_salt = |entry: &Entry| self.is_all || (entry.salt.is_none() && first == 0);
        let (stage, parts) = match self.content {
            Content::Body { plaintext_len } => {
                if header.plaintext_len() != Some(plaintext_len) {
                    return Err(AuthenticationFailed);
                }
                (Stage::Chunk(Chunks { keys, index: first, plaintext_len }), Vec::new())
            }
            Content::Parts(_) if header.form() != Form::Multipart => {
                return Err(AuthenticationFailed);
            }
            Content::Parts(parts) => {
                let stage = match parts.first() {
                    None => Stage::End,
                    Some(entry) if begins_with_salt(entry) => Stage::Salt(*entry),
                    Some(entry) => {
                        let salt = entry.salt.or(salt).ok_or(AuthenticationFailed)?;
                        Stage::Chunk(Chunks::new(key, &salt, entry, first))
                    }
                };
                (stage, parts)
            }
        };
        let mut parts = parts.into_iter();
        // The first is the one at hand.
        parts.next();
        Ok(RangeOpener {
            key: ContentKey::from_bytes(key.expose_secret()),
            parts,
            stage: if self.len == 0 && !self.is_all { Stage::End } else { stage },
            skip: offset(self.start),
            remaining: self.len,
            is_all: self.is_all,
            failed: false,
        })
    }
}

impl RangeOpener {
    /// Opens the bytes at the start of `buffer` in place: the next bytes of the planned range, as
    /// many as have arrived. An incomplete rest, shorter than a sealed chunk, is not taken: the
    /// caller gives it again with more bytes behind it.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if it is another object or was changed, or if more bytes come than
    /// were planned; every later call fails too. The content that was given before is authentic but
    /// incomplete: the caller MUST let the reader know that it was cut.
    pub fn open(&mut self, buffer: &mut [u8]) -> Result<Taken, AuthenticationFailed> {
        let taken = if self.failed { Err(AuthenticationFailed) } else { self.open_inner(buffer) };
        self.failed |= taken.is_err();
        taken
    }

    /// Checks that the whole range was opened.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if something is missing or was refused.
    pub fn finish(self) -> Result<(), AuthenticationFailed> {
        let is_complete = matches!(self.stage, Stage::End) && self.remaining == 0;
        if self.failed || !is_complete { Err(AuthenticationFailed) } else { Ok(()) }
    }

    fn open_inner(&mut self, buffer: &mut [u8]) -> Result<Taken, AuthenticationFailed> {
        let mut taken = Taken::default();
        loop {
            match &mut self.stage {
                Stage::End if taken.sealed == buffer.len() => return Ok(taken),
                Stage::End => return Err(AuthenticationFailed),
                Stage::Salt(entry) => {
                    let Some(salt) = taken.next(buffer, SALT_LEN) else { return Ok(taken) };
                    taken.sealed = salt.end;
                    let salt = buffer[salt].first_chunk().ok_or(AuthenticationFailed)?;
                    if entry.salt.is_some_and(|bound| bound != *salt) {
                        return Err(AuthenticationFailed);
                    }
                    self.stage = Stage::Chunk(Chunks::new(&self.key, salt, entry, 0));
                }
                Stage::Chunk(chunks) => {
                    let len = chunks.next_len();
                    let chunk = taken.next(buffer, len + TAG_LEN);
                    let Some(chunk) = chunk else { return Ok(taken) };
                    taken.sealed = chunk.end;
                    let wanted = usize::try_from(self.remaining).unwrap_or(usize::MAX);
                    let end = len.min(self.skip.saturating_add(wanted));
                    taken.content += chunks.open(buffer, chunk, self.skip..end, taken.content)?;
                    // A chunk's length at most, and not more than remains.
                    self.remaining -= (end - self.skip) as u64;
                    self.skip = 0;
                    if self.remaining == 0 && !self.is_all {
                        self.stage = Stage::End;
                    } else if len as u64 != CHUNK {
                        self.stage = self.parts.next().map_or(Stage::End, Stage::Salt);
                    }
                }
            }
        }
    }
}

impl Chunks {
    fn new(key: &ContentKey, salt: &[u8; SALT_LEN], entry: &Entry, index: u64) -> Self {
        let keys = part::keys(key, salt, entry.number);
        Self { keys, index, plaintext_len: entry.plaintext_len }
    }

    /// Length of the next chunk's content; only the last one's is below 16 KiB.
    fn next_len(&self) -> usize {
        let behind = self.plaintext_len.saturating_sub(self.index.saturating_mul(CHUNK));
        usize::try_from(behind.min(CHUNK)).unwrap_or(0)
    }

    /// Opens the next chunk, which lies at `sealed`, and moves the part `wanted` of its content to
    /// `buffer[to..]`, which begins before the chunk or with it. Returns the length of that part.
    fn open(
        &mut self,
        buffer: &mut [u8],
        sealed: Range<usize>,
        wanted: Range<usize>,
        to: usize,
    ) -> Result<usize, AuthenticationFailed> {
        let len = wanted.len();
        if wanted == (0..sealed.len() - TAG_LEN) {
            self.keys.open_chunk_within(self.index, buffer, sealed, to)?;
        } else {
            // Content outside the requested range stays in this buffer.
            let mut content = Zeroizing::new(vec![0; sealed.len() - TAG_LEN]);
            self.keys.open_chunk(self.index, &buffer[sealed], &mut content)?;
            let out = buffer.get_mut(to..to + len).ok_or(AuthenticationFailed)?;
            out.copy_from_slice(content.get(wanted).ok_or(AuthenticationFailed)?);
        }
        self.index += 1;
        Ok(len)
    }
}

/// Offset of a position within its chunk.
#[allow(clippy::cast_possible_truncation, reason = "a remainder below 16 KiB")]
fn offset(at: u64) -> usize {
    (at % CHUNK) as usize
}
