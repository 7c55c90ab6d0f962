//! Events: identified, signed, verified.

use endseal_crypto::secp256k1::SigningKey;
use endseal_nostr::event::{Event, RawTags, Tags, Template};
use endseal_nostr::json::Text;

use crate::arena::{LARGE, SMALL};
use crate::keys;
use crate::platform::{Platform, draw};
use crate::status::{Failure, WriteFailure};

/// Members of an event that its author chooses.
#[derive(Clone, Copy)]
pub(crate) struct Draft<'a> {
    pub(crate) created_at: u64,
    pub(crate) kind: u16,
    /// A JSON array of arrays of strings; empty for no tags.
    pub(crate) tags: &'a [u8],
    /// Plain text without escapes.
    pub(crate) content: &'a [u8],
}

impl<'a> Draft<'a> {
    fn template(&self) -> Result<Template<'a>, Failure> {
        if self.tags.len() > SMALL || self.content.len() > SMALL {
            return Err(Failure::Length);
        }
        let tags = if self.tags.is_empty() {
            Tags::NONE
        } else {
            let json = str::from_utf8(self.tags).map_err(|_| Failure::Text)?;
            Tags::Raw(RawTags::parse(json).map_err(|_| Failure::Json)?)
        };
        let content = str::from_utf8(self.content).map_err(|_| Failure::Text)?;
        Ok(Template {
            pubkey: None,
            created_at: self.created_at,
            kind: self.kind,
            tags,
            content: Text::Plain(content),
        })
    }
}

/// Writes the id that the event has if `author` signs it.
pub(crate) fn id(
    platform: &mut impl Platform,
    author: &[u8; 32],
    draft: &Draft<'_>,
    out: &mut [u8; 32],
) -> Result<(), Failure> {
    platform.between_steps();
    *out = draft.template()?.id(author);
    platform.between_steps();
    Ok(())
}

/// Writes the signed event as JSON to the front of `out`. Returns its length.
pub(crate) fn sign(
    platform: &mut impl Platform,
    own: &[u8; 32],
    draft: &Draft<'_>,
    out: &mut [u8],
) -> Result<usize, WriteFailure> {
    let template = draft.template()?;
    let aux = draw(platform)?;
    platform.between_steps();
    let key = SigningKey::new(keys::secret(own)?);
    platform.between_steps();
    let event = template.sign(&key, &aux).map_err(|_| Failure::Argument)?;
    platform.between_steps();
    let json = event.write(out).map_err(|error| WriteFailure::TooSmall(error.needed))?;
    Ok(json.len())
}

/// Checks the id and the signature of an event. Returns its author.
pub(crate) fn verify(platform: &mut impl Platform, json: &[u8]) -> Result<[u8; 32], Failure> {
    if json.len() > LARGE {
        return Err(Failure::Length);
    }
    platform.between_steps();
    let event = Event::parse(json).map_err(|_| Failure::Json)?;
    let author = event.verify().map_err(|_| Failure::Signature)?;
    platform.between_steps();
    Ok(author.to_bytes())
}
