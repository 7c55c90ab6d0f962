//! Randomness of the browser.

use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

use endseal_facade::{Random, RandomError};

use crate::import::fill_entropy;

/// Place at which JavaScript writes random bytes. It has none between two calls of
/// [`Random::fill`].
pub static ENTROPY: [AtomicU8; 256] = [const { AtomicU8::new(0) }; 256];

/// The generator of Web Cryptography. It has no state here.
pub struct WebRandom;

impl Random for WebRandom {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        for piece in buffer.chunks_mut(ENTROPY.len()) {
            if fill_entropy(piece.len()) != 1 {
                return Err(RandomError::default());
            }
            for (to, from) in piece.iter_mut().zip(&ENTROPY) {
                *to = from.swap(0, Relaxed);
            }
        }
        Ok(())
    }
}
