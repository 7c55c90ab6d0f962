//! Group members that are known by their Ed25519 keys.

use std::error::Error;

use aws_lc_rs::digest::{SHA256, SHA512, digest};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use curve25519_dalek::edwards::CompressedEdwardsY;

/// A member with the state that it would keep: its own X25519 keys are computed once, not at each
/// open.
pub(crate) struct Member {
    pub(crate) ed25519: [u8; 32],
    pub(crate) x25519: [u8; 32],
    pub(crate) x25519_secret: [u8; 32],
    pub(crate) seed: [u8; 32],
}

impl Member {
    /// Returns the member at that position, the same in every run.
    pub(crate) fn numbered(number: usize) -> Result<Self, Box<dyn Error>> {
        let label = format!("endseal benchmark member {number}");
        let seed: [u8; 32] = digest(&SHA256, label.as_bytes()).as_ref().try_into()?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed)?;
        let ed25519: [u8; 32] = pair.public_key().as_ref().try_into()?;
        // RFC 8032, 5.1.5: the scalar is the first half of the hash; X25519 clamps it.
        let mut x25519_secret = [0; 32];
        x25519_secret.copy_from_slice(&digest(&SHA512, &seed).as_ref()[..32]);
        Ok(Self { ed25519, x25519: to_x25519(&ed25519)?, x25519_secret, seed })
    }

    pub(crate) fn group(members: usize) -> Result<Vec<Self>, Box<dyn Error>> {
        (0..members).map(Self::numbered).collect()
    }
}

/// Converts an Ed25519 key to X25519, which takes a square root and an inversion.
pub(crate) fn to_x25519(ed25519: &[u8; 32]) -> Result<[u8; 32], &'static str> {
    let point = CompressedEdwardsY(*ed25519).decompress().ok_or("not a point on the curve")?;
    Ok(point.to_montgomery().to_bytes())
}
