//! From a rumor to its wrap.

use core::fmt;

use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::secret::wipe;

use super::SEAL;
use super::layer::{EXPIRATION, Layer, Lifetime};
use crate::event::{Tags, Template};
use crate::json::{Text, write};
use crate::key::{PublicKey, SecretKey, SigningKey, public_to_hex};
use crate::nip44::{Conversation, Lengths, SealError, payload_len};
use crate::output::{Output, OutputTooSmall};

/// Both layers around a rumor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Wrapping {
    /// Public times of the seal: creation and expiration.
    pub seal: Layer,
    /// Public times of the wrap: creation and expiration.
    pub wrap: Layer,
    /// Lifetime of the wrap at relays, which chooses its kind.
    pub lifetime: Lifetime,
}

/// Bytes of JSON around the content of a seal or a wrap, at most.
const MAX_ENVELOPE: usize = 512;

/// Length in bytes of both buffers that suffices to [`wrap`] a rumor of `rumor_len` bytes of JSON.
///
/// # Errors
/// [`SealError::Length`] if NIP-44 cannot hold a rumor of this length.
pub fn max_wrapped_len(rumor_len: usize) -> Result<usize, SealError> {
    let layer = |len| {
        payload_len(len, Lengths::Extended)?.checked_add(MAX_ENVELOPE).ok_or(SealError::Length)
    };
    layer(layer(rumor_len)?)
}

/// Seals `rumor` for `receiver`, signed by `author`, and wraps the seal. Writes the wrap's JSON to
/// the front of `out` and returns it.
///
/// The rumor's author is `author`. It is wrapped separately for each receiver, and once for the
/// author, who wants to keep it. `random` gives both nonces, the one-time key and the randomness of
/// both signatures. Both buffers need [`max_wrapped_len`] bytes; `scratch` is written to.
///
/// # Errors
/// [`WrapError`]; both buffers are wiped.
pub fn wrap<'o>(
    rumor: &Template<'_>,
    author: &SigningKey,
    receiver: &PublicKey,
    wrapping: &Wrapping,
    random: &mut impl Random,
    scratch: &mut [u8],
    out: &'o mut [u8],
) -> Result<&'o mut [u8], WrapError> {
    match write_layers(rumor, author, receiver, wrapping, random, scratch, out) {
        Ok(len) => Ok(&mut out[..len]),
        Err(error) => {
            wipe(scratch);
            wipe(out);
            Err(error)
        }
    }
}

/// Length of the wrap, at the front of `out`.
fn write_layers(
    rumor: &Template<'_>,
    author: &SigningKey,
    receiver: &PublicKey,
    wrapping: &Wrapping,
    random: &mut impl Random,
    scratch: &mut [u8],
    out: &mut [u8],
) -> Result<usize, WrapError> {
    if rumor.pubkey.is_some_and(|pubkey| pubkey != author.public_key().to_bytes()) {
        return Err(WrapError::OtherAuthor);
    }
    let len = rumor.rumor(author.public_key()).write(out)?.len();
    let len = Sealed { key: author, receiver, kind: SEAL, tagged: false, layer: &wrapping.seal }
        .write(len, random, scratch, out)?;
    let once = SigningKey::new(SecretKey::generate(random)?);
    let kind = wrapping.lifetime.kind();
    Sealed { key: &once, receiver, kind, tagged: true, layer: &wrapping.wrap }
        .write(len, random, scratch, out)
}

/// A seal or a wrap.
struct Sealed<'a> {
    key: &'a SigningKey,
    receiver: &'a PublicKey,
    kind: u16,
    /// True if a tag names the receiver, as in a wrap.
    tagged: bool,
    layer: &'a Layer,
}

impl Sealed<'_> {
    /// Puts an event in the place of the JSON in `out[..len]`, which holds that JSON encrypted.
    /// Returns its length, which is greater.
    #[allow(clippy::expect_used)]
    fn write(
        &self,
        len: usize,
        random: &mut impl Random,
        scratch: &mut [u8],
        out: &mut [u8],
    ) -> Result<usize, WrapError> {
        let (mut nonce, mut aux) = ([0; 32], [0; 32]);
        random.fill(&mut nonce)?;
        random.fill(&mut aux)?;
        let conversation = Conversation::new(self.key.secret_key(), self.receiver);
        let content = conversation.seal(&out[..len], &nonce, Lengths::Extended, scratch)?;

        let (receiver, mut digits) = (public_to_hex(self.receiver), [0; 20]);
        let receiver = str::from_utf8(&receiver).expect("digits are ASCII");
        let mut output = Output::new(&mut digits);
        write::integer(&mut output, self.layer.expiration.unwrap_or_default());
        let time = output.finish_text()?;
        let all: [&[&str]; 2] = [&["p", receiver], &[EXPIRATION, time]];
        let start = usize::from(!self.tagged);
        let end = 1 + usize::from(self.layer.expiration.is_some());
        let event = Template {
            pubkey: None,
            created_at: self.layer.created_at,
            kind: self.kind,
            tags: Tags::List(&all[start..end]),
            content: Text::Plain(content),
        };
        let event = event.sign(self.key, &aux).map_err(|_| WrapError::OtherAuthor)?;
        Ok(event.write(out)?.len())
    }
}

/// Error of wrapping: the reason why there is no wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WrapError {
    /// The rumor is too long for NIP-44.
    Length,
    /// The template of the rumor names another author than the key.
    OtherAuthor,
    /// A buffer is too small. The length is what this step needed, [`max_wrapped_len`] more.
    Output(OutputTooSmall),
    /// The source of randomness failed.
    Random,
}

impl From<SealError> for WrapError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Length => Self::Length,
            SealError::Output(error) => Self::Output(error),
        }
    }
}

impl From<OutputTooSmall> for WrapError {
    fn from(error: OutputTooSmall) -> Self {
        Self::Output(error)
    }
}

impl From<RandomError> for WrapError {
    fn from(_: RandomError) -> Self {
        Self::Random
    }
}

impl fmt::Display for WrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("the rumor is too long"),
            Self::OtherAuthor => f.write_str("the rumor names another author"),
            Self::Output(error) => error.fmt(f),
            Self::Random => RandomError::default().fmt(f),
        }
    }
}

impl core::error::Error for WrapError {}
