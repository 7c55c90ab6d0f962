//! The fixed header, 100 bytes, and its digest.

use endseal_crypto::segment::{COMMITMENT_LEN, SALT_LEN};
use endseal_crypto::{hash, label, x25519};

use crate::error::{Malformed, OpenError};
use crate::limits::MAX_SLOTS;
use crate::suite::Suite;

/// Length of the fixed header.
pub(crate) const HEADER_LEN: usize = 100;
/// The part that the header digest covers: everything before the commitment.
const DIGESTED_LEN: usize = 64;
const MAGIC: [u8; 4] = [0xe5, b'e', b'n', b'v'];
const VERSION: u8 = 1;

/// The fixed part of the header, with values that were checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) suite: Suite,
    pub(crate) ephemeral: x25519::PublicKey,
    pub(crate) salt: [u8; SALT_LEN],
    pub(crate) commitment: [u8; COMMITMENT_LEN],
    pub(crate) slots: u32,
}

impl Header {
    /// The error for input that is shorter than a header: not an envelope, or the start of one.
    pub(crate) fn too_short(start: &[u8]) -> OpenError {
        let magic = start.len().min(MAGIC.len());
        let is_start = !start.is_empty() && start[..magic] == MAGIC[..magic];
        OpenError::Malformed(if is_start { Malformed::Truncated } else { Malformed::Magic })
    }

    /// Checks in the order of the specification: what this is, then whether it is well-formed.
    pub(crate) fn parse(bytes: &[u8; HEADER_LEN]) -> Result<Self, OpenError> {
        if bytes[..4] != MAGIC {
            return Err(Malformed::Magic.into());
        }
        if bytes[4] != VERSION {
            return Err(OpenError::UnsupportedVersion(bytes[4]));
        }
        let suite = Suite::from_id(bytes[5]).ok_or(OpenError::UnsupportedSuite(bytes[5]))?;
        if bytes[6..8] != [0, 0] {
            return Err(Malformed::Reserved.into());
        }
        let ephemeral = x25519::PublicKey::from_bytes(&array(&bytes[8..40]))
            .map_err(|_| Malformed::EphemeralKey)?;
        let slots = u32::from_le_bytes(array(&bytes[96..100]));
        if slots == 0 {
            return Err(Malformed::NoSlots.into());
        }
        if slots as usize > MAX_SLOTS {
            return Err(OpenError::TooManySlots(slots));
        }
        Ok(Self {
            suite,
            ephemeral,
            salt: array(&bytes[40..64]),
            commitment: array(&bytes[64..96]),
            slots,
        })
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        out[..4].copy_from_slice(&MAGIC);
        out[4] = VERSION;
        out[5] = self.suite.id();
        out[8..40].copy_from_slice(self.ephemeral.as_bytes());
        out[40..64].copy_from_slice(&self.salt);
        out[64..96].copy_from_slice(&self.commitment);
        out[96..].copy_from_slice(&self.slots.to_le_bytes());
        out
    }

    /// `H = BLAKE3-derive("endseal/envelope@v1 header", envelope[0..64] || context)`.
    pub(crate) fn digest(&self, context: &[u8]) -> [u8; hash::LEN] {
        hash::derive(label::ENVELOPE_HEADER, &[&self.encode()[..DIGESTED_LEN], context])
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(bytes);
    out
}
