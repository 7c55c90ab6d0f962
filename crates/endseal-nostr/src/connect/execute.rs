//! Execution of a request that is allowed.

use core::fmt;

use super::{Answer, Call, Message};
use crate::event::{Event, OtherAuthor};
use crate::key::{self, HEX_LEN, PublicKey, SigningKey};
use crate::nip04;
use crate::nip44::{Cache, Conversation, Lengths, SealError, payload_len};
use crate::output::OutputTooSmall;

const PONG: &str = "pong";

/// Result of a method that was executed.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it holds plaintexts")]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// A text: a key, a payload or a plaintext.
    Text(&'a str),
    /// An event that the user's key signed.
    Event(Event<'a>),
}

impl Outcome<'_> {
    /// The answer to the request.
    #[must_use]
    pub const fn answer(&self) -> Answer<'_> {
        match self {
            Self::Text(text) => Answer::Text(text),
            Self::Event(event) => Answer::Event(event),
        }
    }
}

/// Length of the buffer that [`execute`] needs.
///
/// # Errors
/// [`ExecuteError::Plaintext`].
pub fn execute_len(call: &Call<'_>) -> Result<usize, ExecuteError> {
    Ok(match call {
        Call::GetPublicKey => HEX_LEN,
        Call::Nip04Encrypt(message) => nip04::content_len(message.text.len()),
        Call::Nip44Encrypt(message) => payload_len(message.text.len(), Lengths::Extended)?,
        Call::Nip04Decrypt(message) | Call::Nip44Decrypt(message) => message.text.len(),
        _ => 0,
    })
}

/// Executes `get_public_key`, `ping`, `sign_event`, `nip04_*` or `nip44_*` with the user's key.
///
/// The caller MUST have decided that the request is allowed. `nonce` MUST be 32 bytes of a
/// cryptographically secure source, fresh for each execution; `aux` is as [`aux`](super::aux) makes
/// it. `out` needs [`execute_len`] bytes; the caller MUST wipe it after use.
///
/// # Errors
/// [`ExecuteError`]; all failures of decryption are one.
pub fn execute<'a, const N: usize>(
    call: &Call<'a>,
    user: &SigningKey,
    conversations: &mut Cache<N>,
    aux: &[u8; 32],
    nonce: &[u8; 32],
    out: &'a mut [u8],
) -> Result<Outcome<'a>, ExecuteError> {
    let legacy = |message: &Message<'_>| nip04::Key::new(user.secret_key(), &message.peer);
    Ok(Outcome::Text(match call {
        Call::Ping => PONG,
        Call::GetPublicKey => {
            let out = copied(&key::public_to_hex(user.public_key()), out)?;
            str::from_utf8(out).map_err(|_| ExecuteError::Decryption)?
        }
        Call::SignEvent(template) => return Ok(Outcome::Event(template.sign(user, aux)?)),
        Call::Nip04Encrypt(message) => {
            let (iv, _) = nonce.split_first_chunk().ok_or(ExecuteError::Plaintext)?;
            legacy(message).encrypt(message.text.as_bytes(), iv, out)?
        }
        Call::Nip44Encrypt(message) => {
            let with = conversation(conversations, user, &message.peer);
            with.seal(message.text.as_bytes(), nonce, Lengths::Extended, out)?
        }
        Call::Nip04Decrypt(message) => {
            let content = copied(message.text.as_bytes(), out)?;
            let opened = legacy(message).decrypt(content);
            plaintext(opened.map_err(|_| ExecuteError::Decryption)?)?
        }
        Call::Nip44Decrypt(message) => {
            let payload = copied(message.text.as_bytes(), out)?;
            let opened = conversation(conversations, user, &message.peer).open(payload);
            plaintext(opened.map_err(|_| ExecuteError::Decryption)?)?
        }
        Call::Connect(_) | Call::SwitchRelays | Call::Logout => return Err(ExecuteError::Method),
    }))
}

fn conversation<'c, const N: usize>(
    conversations: &'c mut Cache<N>,
    user: &SigningKey,
    peer: &PublicKey,
) -> &'c Conversation {
    let make = || Conversation::new(user.secret_key(), peer);
    conversations.get_or_insert_with(user.public_key(), peer, make)
}

/// A copy at the front of `out`, which is to be changed.
fn copied<'o>(bytes: &[u8], out: &'o mut [u8]) -> Result<&'o mut [u8], OutputTooSmall> {
    let needed = bytes.len();
    let copy = out.get_mut(..needed).ok_or(OutputTooSmall { needed })?;
    copy.copy_from_slice(bytes);
    Ok(copy)
}

fn plaintext(opened: &mut [u8]) -> Result<&str, ExecuteError> {
    str::from_utf8(opened).map_err(|_| ExecuteError::Decryption)
}

/// Cause why a method failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The method is one of the session: the caller executes it.
    Method,
    /// The payload was not decrypted. All failures of payload and plaintext give this one error.
    Decryption,
    /// The text to be encrypted is empty or too long.
    Plaintext,
    /// The event names another author.
    OtherAuthor,
    /// The buffer is too small.
    Output(OutputTooSmall),
}

impl From<OutputTooSmall> for ExecuteError {
    fn from(error: OutputTooSmall) -> Self {
        Self::Output(error)
    }
}

impl From<OtherAuthor> for ExecuteError {
    fn from(_: OtherAuthor) -> Self {
        Self::OtherAuthor
    }
}

impl From<SealError> for ExecuteError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Output(error) => Self::Output(error),
            SealError::Length => Self::Plaintext,
        }
    }
}

impl fmt::Display for ExecuteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Method => "the method is not executed with a user's key",
            Self::Decryption => "decryption failed",
            Self::Plaintext => "the text is empty or too long",
            Self::OtherAuthor => return OtherAuthor.fmt(f),
            Self::Output(error) => return error.fmt(f),
        })
    }
}

impl core::error::Error for ExecuteError {}
