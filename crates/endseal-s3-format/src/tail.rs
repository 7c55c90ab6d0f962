//! "Tail": pad, record, its length and the copy of the header, behind the content.

use bytes::BytesMut;
use endseal_crypto::hazmat;
use endseal_crypto::label::S3_RECORD;
use endseal_crypto::random::Random;
use endseal_crypto::segment::{self, ChunkKeys, KeySource, SALT_LEN, SealKeys};

use crate::chunks::{context, message_len, open_message_by, seal_message_to};
use crate::form::Form;
use crate::header::Header;
use crate::record::{ENTRY_LEN, FIXED_LEN, Record};
use crate::size::{HEADER_COPY_LEN, plaintext_len, sealed_len, slots};
use crate::{AuthenticationFailed, ContentKey, SealError};

const LENGTH_LEN: usize = 4;

/// Keys that seal the record of one object.
pub(super) struct TailKeys {
    pub(super) salt: [u8; SALT_LEN],
    /// Derived with that salt and [`record_context`].
    pub(super) keys: SealKeys,
}

impl Record {
    /// Adds the tail to `out`: as much pad as gives the object the length T(P), then the record and
    /// the copy of `header`. Before it in the object lie exactly [`body_len`](Self::body_len)
    /// bytes. The caller has verified the header with `key`.
    ///
    /// # Errors
    /// [`SealError::Random`].
    pub fn seal_tail(
        &self,
        header: &Header,
        key: &ContentKey,
        random: &mut impl Random,
        out: &mut BytesMut,
    ) -> Result<(), SealError> {
        let mut salt = [0; SALT_LEN];
        random.fill(&mut salt)?;
        let source = KeySource::new(key);
        let context = record_context(self.form(), header);
        let keys = hazmat::uncommitted_seal_keys(&source, &salt, &context);
        self.seal_tail_by(TailKeys { salt, keys }, &header.to_copy(), out)
    }

    /// The same by keys of the form's.
    pub(super) fn seal_tail_by(
        &self,
        keys: TailKeys,
        copy: &[u8; HEADER_COPY_LEN],
        out: &mut BytesMut,
    ) -> Result<(), SealError> {
        let tail = frame_len(self).and_then(|frame| Some(frame + pad_len(self, frame)?));
        let tail = tail.ok_or(SealError::ContentTooLong)? + HEADER_COPY_LEN;
        let start = out.len();
        out.resize(start + tail, 0);
        self.seal_tail_to(keys, copy, &mut out[start..])
    }

    /// The same to `out`, which MUST be as long as the tail.
    pub(super) fn seal_tail_to(
        &self,
        TailKeys { salt, keys }: TailKeys,
        copy: &[u8; HEADER_COPY_LEN],
        out: &mut [u8],
    ) -> Result<(), SealError> {
        let (out, end) = out.split_last_chunk_mut().ok_or(SealError::Length)?;
        *end = *copy;
        let frame = frame_len(self).ok_or(SealError::ContentTooLong)?;
        let pad = pad_len(self, frame).ok_or(SealError::ContentTooLong)?;
        let (pad, frame) = out
            .split_at_mut_checked(pad)
            .filter(|(_, rest)| rest.len() == frame)
            .ok_or(SealError::Length)?;
        pad.fill(0);
        let (record, length) = frame.split_last_chunk_mut().ok_or(SealError::Length)?;
        seal_message_to(keys, &salt, &self.to_bytes(), record)?;
        // At most 320,408 bytes.
        let [.., a, b, c, d] = record.len().to_be_bytes();
        *length = [a, b, c, d];
        Ok(())
    }

    /// Opens the record of an object of `sealed_len` bytes. `tail` is the end of the object: the
    /// last [`tail_len_max`](crate::size::tail_len_max) bytes for the content's length, which
    /// follows from [`plaintext_len`](crate::size::plaintext_len), or the whole object if it is
    /// shorter.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if `key` is not the key of `header`, `sealed_len` is the length of
    /// no object of this format, or anything of the tail is not as specified.
    pub fn open_tail(
        header: &Header,
        key: &ContentKey,
        sealed_len: u64,
        tail: &[u8],
    ) -> Result<Self, AuthenticationFailed> {
        let source = KeySource::new(key);
        header.keys(&source)?;
        let copy = header.same_object(tail)?;
        let tail = tail.len().checked_sub(HEADER_COPY_LEN).and_then(|len| tail.get(..len));
        let tail = tail.ok_or(AuthenticationFailed)?;
        let content = plaintext_len(sealed_len).ok_or(AuthenticationFailed)?;
        if header.plaintext_len().is_some_and(|announced| announced != content) {
            return Err(AuthenticationFailed);
        }
        let form = header.form();
        let context = record_context(form, &copy);
        let keys = |salt: &[u8; SALT_LEN]| hazmat::uncommitted_keys(&source, salt, &context);
        let record = open_frame(keys, form, slots(content), tail)?;
        if record.plaintext_len() != content {
            return Err(AuthenticationFailed);
        }
        let frame = frame_len(&record).ok_or(AuthenticationFailed)?;
        let pad = pad_len(&record, frame).ok_or(AuthenticationFailed)?;
        let start = tail.len().checked_sub(frame + pad).ok_or(AuthenticationFailed)?;
        let is_zero = tail[start..].iter().take(pad).all(|byte| *byte == 0);
        if is_zero { Ok(record) } else { Err(AuthenticationFailed) }
    }
}

/// Opens the record at the end of `tail`, which may have anything before it. Its length is checked
/// before anything is done for it: no entry for a whole object, at most `max_parts` for the other.
/// `keys` derives those of the form's records with a salt.
pub(super) fn open_frame(
    keys: impl FnOnce(&[u8; SALT_LEN]) -> ChunkKeys,
    form: Form,
    max_parts: u64,
    tail: &[u8],
) -> Result<Record, AuthenticationFailed> {
    let (before, length) = tail.split_last_chunk::<LENGTH_LEN>().ok_or(AuthenticationFailed)?;
    let length = u64::from(u32::from_be_bytes(*length));
    let chunks = length.checked_sub(SALT_LEN as u64).ok_or(AuthenticationFailed)?;
    let entries = segment::plaintext_len(chunks)
        .and_then(|record| record.checked_sub(FIXED_LEN as u64))
        .filter(|entries| entries % ENTRY_LEN as u64 == 0)
        .ok_or(AuthenticationFailed)?;
    let parts = entries / ENTRY_LEN as u64;
    let is_possible = match form {
        Form::Whole => parts == 0,
        Form::Multipart => (1..=max_parts).contains(&parts),
    };
    let start = usize::try_from(length).ok().and_then(|len| before.len().checked_sub(len));
    let sealed = start.and_then(|start| before.get(start..)).filter(|_| is_possible);
    let record = open_message_by(keys, sealed.ok_or(AuthenticationFailed)?)?;
    Record::from_bytes(&record).filter(|record| record.form() == form).ok_or(AuthenticationFailed)
}

/// `context("record", form || header)`, with the header whose copy is behind the record, so that
/// the record authenticates the copy.
pub(super) fn record_context(form: Form, copy: &Header) -> Vec<u8> {
    context(S3_RECORD, &[&[form.to_byte()], &copy.to_bytes()[..]].concat())
}

/// Length of salt, chunks and `length`.
fn frame_len(record: &Record) -> Option<usize> {
    let plaintext = FIXED_LEN + ENTRY_LEN * record.entries().len();
    usize::try_from(message_len(plaintext as u64)?).ok()?.checked_add(LENGTH_LEN)
}

/// The pad of an object with that record, whose tail without pad has `frame` bytes. Never negative,
/// as the specification proves.
fn pad_len(record: &Record, frame: usize) -> Option<usize> {
    let pad = sealed_len(record.plaintext_len())?
        .checked_sub(record.body_len())?
        .checked_sub((frame + HEADER_COPY_LEN) as u64)?;
    usize::try_from(pad).ok()
}
