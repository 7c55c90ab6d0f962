//! Many X25519 agreements with one secret: the kernel where the CPU has it, the library elsewhere.

use alloc::vec::Vec;

use curve25519_dalek::edwards::CompressedEdwardsY;

use super::{backend, ed25519_verify};
use crate::high::x25519::PublicKey;

/// What agrees with many keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Platform {
    /// The library, one by one.
    Portable,
}

impl Platform {
    /// The fastest that this CPU has.
    #[must_use]
    pub fn detect() -> Self {
        Self::Portable
    }
}

pub(crate) fn agree(
    _platform: Platform,
    secret: &[u8; 32],
    publics: &[PublicKey],
) -> Vec<[u8; 32]> {
    let secret = backend::X25519Secret::new(secret);
    publics.iter().map(|public| secret.agree(public.as_bytes())).collect()
}

pub(crate) fn edwards_to_montgomery(keys: &[[u8; 32]], out: &mut Vec<[u8; 32]>) {
    out.extend(keys.iter().map(|key| {
        CompressedEdwardsY(*key).decompress().map_or([0; 32], |p| p.to_montgomery().to_bytes())
    }));
}

pub(crate) fn first_invalid_key(keys: &[[u8; 32]]) -> Option<usize> {
    keys.iter().position(|key| {
        ed25519_verify::decode_canonical(key).is_none_or(|point| point.is_small_order())
    })
}
