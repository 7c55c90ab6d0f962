//! Cases of NIP-44, with a conversation key that is cached or derived for each message.

use core::hint::black_box;

use endseal_crypto::random::{BufferedRandom, OsRandom, Random};
use endseal_nostr::key::PublicKey;
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};

use super::{Pair, Work, checked, failed, text};
use crate::subject::{Checked, SubjectError};

/// A conversation with a plaintext and its payload.
struct Material {
    pair: Pair,
    peer: [u8; 32],
    kept: Option<Conversation>,
    plaintext: Vec<u8>,
    payload: Vec<u8>,
    buffer: Vec<u8>,
    /// Nonces for many messages are read at once, as the peers' generators do.
    random: BufferedRandom<OsRandom, 4096>,
}

impl Material {
    fn new(bytes: usize, is_kept: bool) -> Result<Self, SubjectError> {
        let pair = Pair::new()?;
        let peer = pair.peer_public().to_bytes();
        let conversation = Conversation::new(&pair.own, &pair.peer_public());
        let len = payload_len(bytes, Lengths::Extended).map_err(failed)?;
        let (plaintext, mut payload) = (text(bytes), vec![0; len]);
        let mut random = BufferedRandom::new(OsRandom);
        seal(&conversation, &plaintext, &mut random, &mut payload)?;
        let (kept, buffer) = (is_kept.then_some(conversation), payload.clone());
        Ok(Self { pair, peer, kept, plaintext, payload, buffer, random })
    }

    fn derive(&self) -> Result<Conversation, SubjectError> {
        let peer = PublicKey::from_bytes(black_box(&self.peer)).map_err(failed)?;
        Ok(Conversation::new(&self.pair.own, &peer))
    }

    fn seal(&mut self) -> Result<(), SubjectError> {
        let derived;
        let with = match &self.kept {
            Some(kept) => kept,
            None => {
                derived = self.derive()?;
                &derived
            }
        };
        seal(with, &self.plaintext, &mut self.random, &mut self.buffer)
    }

    /// Opens a copy of the payload in place.
    fn open(&mut self) -> Result<&[u8], SubjectError> {
        self.buffer.copy_from_slice(&self.payload);
        let opened = match &self.kept {
            Some(kept) => kept.open(&mut self.buffer),
            None => self.derive()?.open(&mut self.buffer),
        };
        opened.map(|plaintext| &*plaintext).map_err(failed)
    }

    fn check(&mut self) -> Result<Checked, SubjectError> {
        self.seal()?;
        core::mem::swap(&mut self.buffer, &mut self.payload);
        let expected = self.plaintext.clone();
        let round_trip = self.open()? == expected;
        let middle = self.payload.len() / 2;
        let correct = self.payload[middle];
        self.payload[middle] = if correct == b'A' { b'B' } else { b'A' };
        let refused = self.open().is_err();
        self.payload[middle] = correct;
        Ok(checked(round_trip, Some(refused), Some(self.payload.len())))
    }
}

fn seal(
    with: &Conversation,
    plaintext: &[u8],
    random: &mut impl Random,
    out: &mut [u8],
) -> Result<(), SubjectError> {
    let mut nonce = [0; 32];
    random.fill(&mut nonce).map_err(failed)?;
    with.seal(black_box(plaintext), &nonce, Lengths::Extended, out).map_err(failed)?;
    black_box(out);
    Ok(())
}

/// Encrypts under a fresh nonce.
pub(super) struct Encrypt(Material);

impl Encrypt {
    pub(super) fn new(bytes: usize, is_kept: bool) -> Result<Self, SubjectError> {
        Material::new(bytes, is_kept).map(Self)
    }
}

impl Work for Encrypt {
    fn once(&mut self, _: usize) -> Result<(), SubjectError> {
        self.0.seal()
    }

    fn check(&mut self) -> Result<Checked, SubjectError> {
        self.0.check()
    }
}

/// Decrypts in place, including the copy that this needs here.
pub(super) struct Decrypt(Material);

impl Decrypt {
    pub(super) fn new(bytes: usize, is_kept: bool) -> Result<Self, SubjectError> {
        Material::new(bytes, is_kept).map(Self)
    }
}

impl Work for Decrypt {
    fn once(&mut self, _: usize) -> Result<(), SubjectError> {
        black_box(self.0.open()?);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked, SubjectError> {
        self.0.check()
    }
}
