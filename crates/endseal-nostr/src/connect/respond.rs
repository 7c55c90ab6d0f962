//! From an answer to an event.

use core::fmt;

use endseal_crypto::secret::wipe;

use super::{Answer, KIND};
use crate::event::{Tags, Template};
use crate::key::{self, PublicKey, SigningKey};
use crate::nip04;
use crate::nip44::{Conversation, Lengths, SealError, payload_len};
use crate::output::OutputTooSmall;

/// Bytes of an event beside its content, at most: members, key, id, signature, receiver and time.
const AROUND_CONTENT: usize = 432;

/// Sender, receiver and encryption of an answer.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it refers to secrets")]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct ResponseKeys<'k> {
    /// The signer's key for this app, which signs.
    pub transport: &'k SigningKey,
    /// Public key of the client that receives the answer.
    pub client: &'k PublicKey,
    /// Encryption between signer and client, which is that of the request.
    pub encryption: Encryption<'k>,
}

/// Encryption of an answer, which is that of the request.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it refers to secrets")]
#[allow(clippy::exhaustive_enums, reason = "requests come by these")]
pub enum Encryption<'k> {
    /// NIP-44, the encryption of all permitted requests.
    Nip44(&'k Conversation),
    /// NIP-04, for the error that refuses it.
    Nip04(&'k nip04::Key),
}

impl Encryption<'_> {
    /// Length of the content of `plaintext_len` bytes.
    fn content_len(&self, plaintext_len: usize) -> Result<usize, RespondError> {
        match self {
            Self::Nip44(_) => payload_len(plaintext_len, Lengths::Extended).map_err(From::from),
            Self::Nip04(_) => Ok(nip04::content_len(plaintext_len)),
        }
    }
}

/// Time and randomness of an answer.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "its bytes hide plaintexts")]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Stamp {
    /// Time of the event in seconds since 1970.
    pub created_at: u64,
    /// 32 bytes of a cryptographically secure source, fresh for each answer. NIP-04 takes the first
    /// 16.
    pub nonce: [u8; 32],
    /// Auxiliary bytes of the event's signature, as [`Template::sign`] has them.
    pub aux: [u8; 32],
}

/// Lengths of buffers for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseLen {
    /// Bytes for the answer and its encryption.
    pub scratch: usize,
    /// Bytes for the event, at most; a relay's limit is compared with them.
    pub event: usize,
}

/// Lengths of the buffers that [`respond`] needs.
///
/// # Errors
/// [`RespondError::Length`].
pub fn response_len(
    answer: &Answer<'_>,
    id: &str,
    encryption: &Encryption<'_>,
) -> Result<ResponseLen, RespondError> {
    let plaintext = answer.len(id);
    let content = encryption.content_len(plaintext)?;
    let sum = |a: usize, b| a.checked_add(b).ok_or(RespondError::Length);
    Ok(ResponseLen { scratch: sum(plaintext, content)?, event: sum(content, AROUND_CONTENT)? })
}

/// Answers a request: writes the event with the response to `id` to the front of `out`.
///
/// The buffers need the lengths of [`response_len`]. The plaintext in `scratch` is wiped.
///
/// # Errors
/// [`RespondError`].
pub fn respond<'o>(
    answer: &Answer<'_>,
    id: &str,
    keys: &ResponseKeys<'_>,
    stamp: &Stamp,
    scratch: &mut [u8],
    out: &'o mut [u8],
) -> Result<&'o str, RespondError> {
    let plaintext_len = answer.write(id, scratch)?.len();
    let (plaintext, free) = scratch.split_at_mut(plaintext_len);
    let event = respond_with(plaintext, keys, stamp, free, out);
    wipe(plaintext);
    event
}

/// Writes the event with a response that [`Answer::write`] has written, as [`respond`] does, for
/// callers whose response and scratch memory are not adjacent. The caller MUST wipe `plaintext`.
///
/// `scratch` needs the length of the encrypted response.
///
/// # Errors
/// [`RespondError`].
pub fn respond_with<'o>(
    plaintext: &[u8],
    keys: &ResponseKeys<'_>,
    stamp: &Stamp,
    scratch: &mut [u8],
    out: &'o mut [u8],
) -> Result<&'o str, RespondError> {
    let Stamp { created_at, nonce, aux } = stamp;
    let content = match keys.encryption {
        Encryption::Nip44(conversation) => {
            conversation.seal(plaintext, nonce, Lengths::Extended, scratch)?
        }
        Encryption::Nip04(key) => {
            let (iv, _) = nonce.split_first_chunk().ok_or(RespondError::Length)?;
            key.encrypt(plaintext, iv, scratch)?
        }
    };
    let client = key::public_to_hex(keys.client);
    let client = str::from_utf8(&client).map_err(|_| RespondError::Length)?;
    let template = Template {
        pubkey: None,
        created_at: *created_at,
        kind: KIND,
        tags: Tags::List(&[&["p", client]]),
        content: content.into(),
    };
    let event = template.sign(keys.transport, aux).map_err(|_| RespondError::Length)?;
    event.write_text(out).map_err(From::from)
}

/// Cause why an answer was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RespondError {
    /// The answer is longer than any payload.
    Length,
    /// A buffer is too small.
    Output(OutputTooSmall),
}

impl From<OutputTooSmall> for RespondError {
    fn from(error: OutputTooSmall) -> Self {
        Self::Output(error)
    }
}

impl From<SealError> for RespondError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Output(error) => Self::Output(error),
            SealError::Length => Self::Length,
        }
    }
}

impl fmt::Display for RespondError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("the answer is longer than any payload"),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RespondError {}
