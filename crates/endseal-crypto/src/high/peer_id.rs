//! The name of a peer on the wire (docs/spec/identity.md, "Peer id").

use core::fmt;

use base16ct::HexDisplay;

use crate::mid::{hash, label};

/// `BLAKE3-derive("endseal/peer@v1 id", SPKI)`: a digest of the key with which a peer authenticates
/// itself in TLS. The id alone is enough to tell the peer's key from every other key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId([u8; 32]);

impl PeerId {
    /// Length of a peer id in bytes, which is that of a BLAKE3 digest.
    pub const LEN: usize = 32;

    /// The id of a `SubjectPublicKeyInfo` in DER. The caller MUST know that it is one, or compare
    /// the id with one that was pinned.
    #[must_use]
    pub fn of_spki(spki: &[u8]) -> Self {
        Self(hash::derive(label::PEER_ID, &[spki]))
    }

    /// Takes an id, which is any 32 bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        Self(*bytes)
    }

    /// The bytes of the id: the digest itself.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerId({:x}…)", HexDisplay(&self.0[..8]))
    }
}
