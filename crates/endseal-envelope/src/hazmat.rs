//! Sealing with given "random" values, for test vectors. Two envelopes that share a salt and a key
//! or an ephemeral secret give away their contents.

use alloc::vec;
use alloc::vec::Vec;

use endseal_crypto::segment::SALT_LEN;
use endseal_crypto::x25519;

use crate::error::SealError;
use crate::seal::{Sealer, first_block_digest};
use crate::secrets::EnvelopeSecrets;
use crate::slot::{Material, StreamSeed};
use crate::steps::unmarked;

/// Values that are otherwise random.
#[derive(Clone, Copy)]
#[allow(clippy::exhaustive_structs, reason = "all of the randomness, by definition")]
#[allow(missing_debug_implementations, reason = "secrets print nothing")]
pub struct Derandomized<'a> {
    /// The ephemeral X25519 secret key.
    pub ephemeral: &'a [u8; 32],
    /// The content key; in the compact suite the seed, in the first 16 bytes.
    pub material: &'a [u8; 32],
    /// Salt of the content stream. It MUST be unique for each content key.
    pub salt: &'a [u8; SALT_LEN],
    /// Id of the message. It MUST be unique, because readers recognise replays by it.
    pub message_id: &'a [u8; 16],
    /// Randomness of encapsulations and decoys.
    pub stream: &'a [u8; 32],
}

/// Seals as [`Sealer::seal`] does, but with the given values instead of random ones.
///
/// # Errors
/// [`SealError`].
pub fn seal(
    sealer: &Sealer<'_>,
    content: &[u8],
    values: &Derandomized<'_>,
) -> Result<Vec<u8>, SealError> {
    let secrets = EnvelopeSecrets {
        ephemeral: x25519::SecretKey::from_bytes(values.ephemeral),
        material: Material::from_bytes(values.material),
        salt: *values.salt,
        message_id: *values.message_id,
        stream: StreamSeed::from_bytes(values.stream),
    };
    let len = sealer.sealed_len(content.len() as u64)?;
    let mut out = vec![0; usize::try_from(len).map_err(|_| SealError::ContentTooLong)?];
    let digest = first_block_digest(content);
    sealer.assemble(&secrets, content, &digest, &mut out, &mut unmarked)?;
    Ok(out)
}
