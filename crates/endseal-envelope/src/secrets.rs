//! The random values of one envelope, hedged.

use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment::SALT_LEN;
use endseal_crypto::{hash, identity, label, x25519};

use crate::slot::{Material, StreamSeed};
use crate::suite::Suite;

/// Secret and random values of one envelope.
#[allow(missing_debug_implementations, reason = "secrets print nothing")]
pub(crate) struct EnvelopeSecrets {
    pub(crate) ephemeral: x25519::SecretKey,
    pub(crate) material: Material,
    pub(crate) salt: [u8; SALT_LEN],
    pub(crate) message_id: [u8; 16],
    pub(crate) stream: StreamSeed,
}

/// Values that randomness is mixed with, so that a source that repeats itself does no harm as long
/// as one of them differs.
///
/// The hedge covers the first block of the content (4 MiB) and the length. [`Sealer::stream`] knows
/// neither. With a source that repeats itself, two contents that agree in all that is covered get
/// the same key and nonces: sender, recipients, time, suite, context, first block and length must
/// not all be equal.
///
/// [`Sealer::stream`]: crate::Sealer::stream
pub(crate) struct Hedge<'a> {
    pub(crate) sender: &'a identity::HedgeSecret,
    pub(crate) recipients: &'a [u8; hash::LEN],
    pub(crate) time: u64,
    pub(crate) suite: Suite,
    pub(crate) context: &'a [u8],
    /// Digest of the first block; zeros where it is not known.
    pub(crate) content: &'a [u8; hash::LEN],
    /// Length of the content; `u64::MAX` where it is not known.
    pub(crate) content_len: u64,
}

impl EnvelopeSecrets {
    pub(crate) fn generate(
        random: &mut impl Random,
        hedge: &Hedge<'_>,
    ) -> Result<Self, RandomError> {
        let mut drawn = Zeroizing::new([0; 64]);
        random.fill(&mut drawn[..])?;
        let (time, len) = (hedge.time.to_le_bytes(), hedge.content_len.to_le_bytes());
        // The context alone has a length of its own, and is the last.
        let parts: [&[u8]; 8] = [
            &drawn[..],
            hedge.sender.expose_secret(),
            hedge.recipients,
            &time,
            hedge.content,
            &len,
            &[hedge.suite.id()],
            hedge.context,
        ];
        let mut out = Zeroizing::new([0; 32 + 32 + 32 + SALT_LEN + 16]);
        hash::derive_into(label::ENVELOPE_HEDGE, &parts, &mut out[..]);
        let mut rest = &out[..];
        let mut take = |to: &mut [u8]| {
            let (head, tail) = rest.split_at(to.len());
            to.copy_from_slice(head);
            rest = tail;
        };
        let ephemeral = x25519::SecretKey::init_with(|to| take(to));
        let material = Material::init_with(|to| take(to));
        let stream = StreamSeed::init_with(|to| take(to));
        let (mut salt, mut message_id) = ([0; SALT_LEN], [0; 16]);
        take(&mut salt);
        take(&mut message_id);
        Ok(Self { ephemeral, material, salt, message_id, stream })
    }
}
