//! The list of peers that a person knows (docs/spec/identity.md, "Peers").

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use endseal_crypto::peer_id::PeerId;

use crate::address_book::{AddressBook, Key, Listed};
use crate::name::Name;
use crate::peer_id_text::{ParsePeerIdError, PeerIdText};

/// Names and peer ids, one to one.
pub type Peers = AddressBook<PeerId>;

impl Peers {
    /// Returns the name of the peer with that id, if it is in the book.
    #[must_use]
    pub fn name_of(&self, peer: &PeerId) -> Option<&Name> {
        self.of_key(peer.as_bytes()).map(|(name, _)| name)
    }
}

impl Listed for PeerId {
    type Error = ParsePeerIdError;

    const HEADER: &'static str =
        "# endseal peers: one \"name peer-id\" a line. Comments are not kept.\n";
    const NOUN: &'static str = "a peer id";

    fn key(&self) -> Key {
        *self.as_bytes()
    }

    fn text_len(&self) -> usize {
        PeerIdText::LEN
    }

    fn write(&self, out: &mut String) {
        out.push_str(&PeerIdText::from(*self).to_string());
    }

    fn decode_many(words: &[&str]) -> Result<Vec<Self>, (usize, ParsePeerIdError)> {
        let decoded = words.iter().map(|word| word.parse::<PeerIdText>()).enumerate();
        decoded.map(|(i, one)| one.map(|one| one.peer_id()).map_err(|e| (i, e))).collect()
    }
}
