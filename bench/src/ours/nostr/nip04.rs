//! Cases of NIP-04, with a key for each message, as published.

use core::hint::black_box;

use endseal_nostr::key::PublicKey;
use endseal_nostr::nip04::{Key, content_len};

use super::{Pair, Work, checked, failed, random, text};
use crate::subject::{Checked, SubjectError};

struct Material {
    pair: Pair,
    peer: [u8; 32],
    plaintext: Vec<u8>,
    content: Vec<u8>,
    buffer: Vec<u8>,
}

impl Material {
    fn new(bytes: usize) -> Result<Self, SubjectError> {
        let pair = Pair::new()?;
        let peer = pair.peer_public().to_bytes();
        let buffer = vec![0; content_len(bytes)];
        let mut own = Self { pair, peer, plaintext: text(bytes), content: Vec::new(), buffer };
        own.encrypt()?;
        own.content = own.buffer.clone();
        Ok(own)
    }

    fn derive(&self) -> Result<Key, SubjectError> {
        let peer = PublicKey::from_bytes(black_box(&self.peer)).map_err(failed)?;
        Ok(Key::new(&self.pair.own, &peer))
    }

    fn encrypt(&mut self) -> Result<(), SubjectError> {
        let key = self.derive()?;
        key.encrypt(black_box(&self.plaintext), &random()?, &mut self.buffer).map_err(failed)?;
        Ok(())
    }

    fn decrypt(&mut self) -> Result<&[u8], SubjectError> {
        let key = self.derive()?;
        self.buffer.copy_from_slice(&self.content);
        key.decrypt(&mut self.buffer).map(|plaintext| &*plaintext).map_err(failed)
    }

    fn check(&mut self) -> Result<Checked, SubjectError> {
        let (expected, len) = (self.plaintext.clone(), self.content.len());
        // NIP-04 authenticates nothing: a changed content is not refused.
        Ok(checked(self.decrypt()? == expected, None, Some(len)))
    }
}

/// Encrypts under a fresh IV.
pub(super) struct Encrypt(Material);

impl Encrypt {
    pub(super) fn new(bytes: usize) -> Result<Self, SubjectError> {
        Material::new(bytes).map(Self)
    }
}

impl Work for Encrypt {
    fn once(&mut self, _: usize) -> Result<(), SubjectError> {
        self.0.encrypt()?;
        black_box(&self.0.buffer);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked, SubjectError> {
        self.0.check()
    }
}

/// Decrypts in place, including the copy that this needs here.
pub(super) struct Decrypt(Material);

impl Decrypt {
    pub(super) fn new(bytes: usize) -> Result<Self, SubjectError> {
        Material::new(bytes).map(Self)
    }
}

impl Work for Decrypt {
    fn once(&mut self, _: usize) -> Result<(), SubjectError> {
        black_box(self.0.decrypt()?);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked, SubjectError> {
        self.0.check()
    }
}
