//! Cases of NIP-44, with a conversation key that is cached or derived for each message.

use core::hint::black_box;

use endseal_crypto::random::{BufferedRandom, OsRandom, Random};
use endseal_nostr::key::PublicKey;
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};

use super::{Pair, Work, checked, text};
use crate::subject::{Checked, Failure};

/// Encrypts under a fresh nonce, or decrypts in place, including the copy that this needs here.
pub(super) struct Nip44 {
    pair: Pair,
    peer: [u8; 32],
    kept: Option<Conversation>,
    plaintext: Vec<u8>,
    payload: Vec<u8>,
    buffer: Vec<u8>,
    encrypts: bool,
    /// Nonces for many messages are read at once, as the peers' generators do.
    random: BufferedRandom<OsRandom, 4096>,
}

impl Nip44 {
    pub(super) fn new(bytes: usize, is_kept: bool, encrypts: bool) -> Result<Self, Failure> {
        let pair = Pair::new()?;
        let peer = pair.peer_public().to_bytes();
        let conversation = Conversation::new(&pair.own, &pair.peer_public());
        let len = payload_len(bytes, Lengths::Extended)?;
        let (plaintext, mut payload) = (text(bytes), vec![0; len]);
        let mut random = BufferedRandom::new(OsRandom);
        seal(&conversation, &plaintext, &mut random, &mut payload)?;
        let (kept, buffer) = (is_kept.then_some(conversation), payload.clone());
        Ok(Self { pair, peer, kept, plaintext, payload, buffer, encrypts, random })
    }

    fn derive(&self) -> Result<Conversation, Failure> {
        let peer = PublicKey::from_bytes(black_box(&self.peer))?;
        Ok(Conversation::new(&self.pair.own, &peer))
    }

    fn seal(&mut self) -> Result<(), Failure> {
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
    fn open(&mut self) -> Result<&[u8], Failure> {
        self.buffer.copy_from_slice(&self.payload);
        let opened = match &self.kept {
            Some(kept) => kept.open(&mut self.buffer),
            None => self.derive()?.open(&mut self.buffer),
        };
        Ok(opened?)
    }
}

fn seal(
    with: &Conversation,
    plaintext: &[u8],
    random: &mut impl Random,
    out: &mut [u8],
) -> Result<(), Failure> {
    let mut nonce = [0; 32];
    random.fill(&mut nonce)?;
    with.seal(black_box(plaintext), &nonce, Lengths::Extended, out)?;
    black_box(out);
    Ok(())
}

impl Work for Nip44 {
    fn once(&mut self, _: usize) -> Result<(), Failure> {
        if self.encrypts {
            return self.seal();
        }
        black_box(self.open()?);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked, Failure> {
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
