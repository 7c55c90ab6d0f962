//! Sealing in memory.

use endseal_crypto::random::Random;
use endseal_envelope::{Decoys, Sealer, Suite};

use crate::error::Error;
use crate::identity::Identity;
use crate::recipients::Recipients;

/// Choice of the suite of an envelope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SuiteChoice {
    /// X25519 with ML-KEM-768. It fails if a recipient has no post-quantum key: nothing is
    /// classical without a choice.
    #[default]
    Hybrid,
    /// X25519 alone.
    X25519,
}

/// Parts of an envelope beside its content.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "has a secret")]
pub struct SealOptions {
    /// The identity that seals and signs.
    pub sender: Identity,
    /// The readers.
    pub recipients: Recipients,
    /// Name of the application and its protocol, at most 1,024 bytes. Both sides give the same.
    pub context: Vec<u8>,
    /// Time to state, in milliseconds since 1970-01-01T00:00:00Z.
    pub time: Option<u64>,
    /// Suite of the envelope.
    pub suite: SuiteChoice,
    /// Hides the number of recipients among slots that no one can open.
    pub hides_count: bool,
}

impl SealOptions {
    pub(crate) fn sealer(&self) -> Sealer<'_> {
        let mut sealer = Sealer::new(&self.sender.0, &self.recipients.0, &self.context);
        if let Some(time) = self.time {
            sealer = sealer.time(time);
        }
        if self.hides_count {
            sealer = sealer.decoys(Decoys::PowerOfTwo);
        }
        match self.suite {
            SuiteChoice::X25519 => sealer.suite(Suite::X25519),
            SuiteChoice::Hybrid => sealer.suite(Suite::X25519MlKem768),
        }
    }
}

/// Seals content.
///
/// # Errors
/// `argument` for a context that is too long, or a suite for which a recipient has no key; `random`
/// if the source of randomness fails.
pub fn seal(
    content: &[u8],
    options: &SealOptions,
    random: &mut impl Random,
) -> Result<Vec<u8>, Error> {
    Ok(options.sealer().seal(content, random)?)
}

/// Returns the length of an envelope for so many bytes of content.
///
/// # Errors
/// `argument` for content beyond the limit of the format.
pub fn sealed_len(content_len: usize, options: &SealOptions) -> Result<usize, Error> {
    let len = options.sealer().sealed_len(content_len as u64)?;
    usize::try_from(len).map_err(|_| Error::argument("the content is too long"))
}

/// Seals content into a buffer of exactly [`sealed_len`] bytes.
///
/// # Errors
/// Those of [`seal`].
pub fn seal_into(
    content: &[u8],
    options: &SealOptions,
    out: &mut [u8],
    random: &mut impl Random,
) -> Result<(), Error> {
    options.sealer().seal_into(content, out, random)?;
    Ok(())
}
