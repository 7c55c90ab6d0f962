//! From a wrap to its rumor, in the buffer in which the wrap lies.

use core::fmt;
use core::ops::Range;

use endseal_crypto::secret::wipe;

use super::SEAL;
use super::layer::{Lifetime, expiration, may_seal_have};
use crate::event::{Event, Rumor};
use crate::json::unescape;
use crate::key::{PublicKey, SecretKey};
use crate::nip44::{Conversation, OpenError};

/// A rumor, whose author signed the seal around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unwrapped<'a> {
    /// The rumor. Its id is that of its members, its author that of the seal.
    pub rumor: Rumor<'a>,
    /// Earlier of the times at which seal and wrap expire (NIP-40), if any. The caller SHOULD
    /// ignore a rumor that has expired.
    pub expiration: Option<u64>,
    /// Lifetime of the wrap at relays, which its kind states.
    pub lifetime: Lifetime,
}

/// Opens the wrap whose JSON is in `json`, where it lies, and returns the rumor in it.
///
/// Both signatures are verified, the seal's author MUST be the rumor's, the rumor MUST be unsigned
/// and have its id. Its kind and its tags are the caller's to judge: private messages have the
/// kinds 5, 7, 14 and 15, and the rumor's time is what its author says. The caller finds duplicates
/// by the rumor's id, as anyone can wrap a seal again, and wipes `json` after use.
///
/// # Errors
/// [`UnwrapError`]. `json` is as it was if the wrap itself was refused, otherwise wiped.
pub fn unwrap<'a>(json: &'a mut [u8], own: &SecretKey) -> Result<Unwrapped<'a>, UnwrapError> {
    let (wrap, lifetime) = read_wrap(json)?;
    match open_layers(json, own, &wrap) {
        Ok((place, seal)) => Ok(Unwrapped {
            rumor: Rumor::parse(&json[place]).map_err(|_| UnwrapError::Rumor)?,
            expiration: [wrap.expiration, seal.expiration].into_iter().flatten().min(),
            lifetime,
        }),
        Err(error) => {
            wipe(json);
            Err(error)
        }
    }
}

/// Place of the rumor, and the seal. After an error `json` is neither whole nor wiped.
fn open_layers(
    json: &mut [u8],
    own: &SecretKey,
    wrap: &Verified,
) -> Result<(Range<usize>, Verified), UnwrapError> {
    let outer = wrap.open(json, own)?;
    let json = &mut json[outer.clone()];
    let seal = read_seal(json)?;
    let inner = seal.open(json, own)?;
    let rumor = Rumor::parse(&json[inner.clone()]).map_err(|_| UnwrapError::Rumor)?;
    rumor.verify_id().map_err(|_| UnwrapError::Rumor)?;
    if rumor.pubkey != seal.author.to_bytes() {
        return Err(UnwrapError::Author);
    }
    Ok((outer.start + inner.start..outer.start + inner.end, seal))
}

fn read_wrap(json: &[u8]) -> Result<(Verified, Lifetime), UnwrapError> {
    let (event, content) = Event::parse_located(json).map_err(|_| UnwrapError::Wrap)?;
    let lifetime = Lifetime::of_kind(event.kind).ok_or(UnwrapError::Kind)?;
    Ok((Verified::new(&event, content)?, lifetime))
}

fn read_seal(json: &[u8]) -> Result<Verified, UnwrapError> {
    let (event, content) = Event::parse_located(json).map_err(|_| UnwrapError::Seal)?;
    if event.kind != SEAL || !may_seal_have(&event.tags) {
        return Err(UnwrapError::Seal);
    }
    Verified::new(&event, content)
}

/// A seal or a wrap whose id and signature are right.
struct Verified {
    author: PublicKey,
    content: Range<usize>,
    expiration: Option<u64>,
}

impl Verified {
    fn new(event: &Event<'_>, content: Range<usize>) -> Result<Self, UnwrapError> {
        let author = event.verify().map_err(|_| UnwrapError::Authentication)?;
        Ok(Self { author, content, expiration: expiration(&event.tags) })
    }

    /// Opens the content where it lies in `json`. Returns the place of the plaintext.
    fn open(&self, json: &mut [u8], own: &SecretKey) -> Result<Range<usize>, UnwrapError> {
        let content = &mut json[self.content.clone()];
        let len = unescape::in_place(content).map_err(|_| UnwrapError::Authentication)?;
        let place = Conversation::new(own, &self.author).open_located(&mut content[..len])?;
        let start = self.content.start;
        Ok(start + place.start..start + place.end)
    }
}

/// Error of unwrapping: the reason why a wrap was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnwrapError {
    /// The wrap is not the JSON of an event.
    Wrap,
    /// The event has another kind than 1059 and 21059.
    Kind,
    /// A signature, an id or a payload is not authentic: changed, or for another receiver.
    Authentication,
    /// A payload has another version than 2 of NIP-44: made by newer software.
    UnsupportedVersion,
    /// The wrap holds no seal, or a seal with tags other than its expiration.
    Seal,
    /// The seal holds no rumor, or one that is signed or has another id.
    Rumor,
    /// The rumor's author is another one than the seal's, who poses as that author.
    Author,
}

impl From<OpenError> for UnwrapError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::UnsupportedVersion => Self::UnsupportedVersion,
            OpenError::Length | OpenError::Encoding | OpenError::Authentication => {
                Self::Authentication
            }
        }
    }
}

impl fmt::Display for UnwrapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wrap => "this is no gift wrap",
            Self::Kind => "the event is not a gift wrap: it has another kind",
            Self::Authentication => "the gift wrap does not authenticate",
            Self::UnsupportedVersion => "the version of an encrypted payload is not supported",
            Self::Seal => "the gift wrap holds no valid seal",
            Self::Rumor => "the gift wrap holds no valid rumor",
            Self::Author => "the rumor names another author than its seal",
        })
    }
}

impl core::error::Error for UnwrapError {}
