//! The case of many rounds of encryption within the published memory budget.

use core::hint::black_box;

use endseal_nostr::nip44::{Conversation, Lengths, payload_len};

use super::{Pair, Work, checked, random, text};
use crate::subject::{Checked, Failure};

/// Bytes of the published budget: the buffer of a plaintext and that of a payload.
const BUDGET: [usize; 2] = [8 * 1024, 16 * 1024];
/// Sizes of successive rounds: no two rounds in a row have the same size.
const SIZES: [usize; 6] = [16, 8192, 64, 4096, 256, 1024];

/// Encrypts and decrypts one message in each round, in the same two buffers.
pub(super) struct Rounds {
    rounds: usize,
    conversation: Conversation,
    plaintext: [u8; BUDGET[0]],
    payload: [u8; BUDGET[1]],
}

impl Rounds {
    pub(super) fn new(rounds: usize) -> Result<Self, Failure> {
        let pair = Pair::new()?;
        let conversation = Conversation::new(&pair.own, &pair.peer_public());
        let mut plaintext = [0; BUDGET[0]];
        plaintext.copy_from_slice(&text(BUDGET[0]));
        Ok(Self { rounds, conversation, plaintext, payload: [0; BUDGET[1]] })
    }
}

impl Work for Rounds {
    fn once(&mut self, _: usize) -> Result<(), Failure> {
        for round in 0..self.rounds {
            let bytes = SIZES[round % SIZES.len()];
            let len = payload_len(bytes, Lengths::UpTo65535)?;
            let plaintext = &self.plaintext[..bytes];
            self.conversation.seal(plaintext, &random()?, Lengths::UpTo65535, &mut self.payload)?;
            let opened = self.conversation.open(&mut self.payload[..len])?;
            if black_box(opened) != plaintext {
                return Err("a message did not open to the same".into());
            }
        }
        Ok(())
    }

    /// Every round has compared the plaintext that it opened.
    fn check(&mut self) -> Result<Checked, Failure> {
        self.once(0).map(|()| checked(true, None, None))
    }
}
