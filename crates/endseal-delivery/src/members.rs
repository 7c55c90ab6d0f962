//! Members of a group, as node and hub name them to each other.

use endseal_crypto::peer_id::PeerId;
use endseal_crypto::{hash, label};

/// Digest of the peer ids of a group's members, by which a hub notices that a node knows others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembersDigest([u8; Self::LEN]);

impl MembersDigest {
    /// Length of the digest in bytes.
    pub const LEN: usize = hash::LEN;

    /// `BLAKE3-derive("endseal/delivery@v1 members", peer ids)`. The peer ids MUST be in ascending
    /// order, each once.
    #[must_use]
    pub fn of<'a>(members: impl IntoIterator<Item = &'a PeerId>) -> Self {
        let parts: alloc::vec::Vec<&[u8]> =
            members.into_iter().map(|it| &it.as_bytes()[..]).collect();
        Self(hash::derive(label::DELIVERY_MEMBERS, &parts))
    }

    /// The digest in a request.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes of the digest.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}
