//! The case of a conversation key, derived from two keys.

use core::hint::black_box;

use endseal_nostr::key::{PublicKey, SecretKey};
use endseal_nostr::nip44::{Conversation, Lengths};

use super::{Pair, Work, checked};
use crate::subject::{Checked, Failure};

/// Derives conversation keys with one peer after the other, whose public key is parsed from bytes.
pub(super) struct Derive {
    own: SecretKey,
    peers: Vec<([u8; 32], SecretKey)>,
}

impl Derive {
    pub(super) fn new(inputs: u32) -> Result<Self, Failure> {
        let own = Pair::new()?.own;
        let peer = |_| Pair::new().map(|pair| (pair.peer_public().to_bytes(), pair.peer));
        Ok(Self { own, peers: (0..inputs).map(peer).collect::<Result<_, _>>()? })
    }

    fn derive(&self, input: usize) -> Result<Conversation, Failure> {
        let peer = PublicKey::from_bytes(black_box(&self.peers[input].0))?;
        Ok(Conversation::new(&self.own, &peer))
    }
}

impl Work for Derive {
    fn once(&mut self, input: usize) -> Result<(), Failure> {
        black_box(self.derive(input)?);
        Ok(())
    }

    /// A payload of one side must open on the other side.
    fn check(&mut self) -> Result<Checked, Failure> {
        let mut opened = true;
        for (input, (_, peer)) in self.peers.iter().enumerate() {
            let mut out = [0; 132];
            let sealed = self.derive(input)?;
            sealed.seal(b"a", &[7; 32], Lengths::Extended, &mut out)?;
            let other = Conversation::new(peer, &self.own.public_key());
            opened &= other.open(&mut out)? == b"a";
        }
        Ok(checked(opened, None, None))
    }
}
