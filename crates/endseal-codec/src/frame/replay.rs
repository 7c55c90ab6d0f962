//! Stored frames of one sender that were seen.

use core::fmt;

const WORDS: usize = 16;

/// The sequences that were accepted from one sender: the highest, and which of the
/// [`Self::SIZE`] below it. What is older is refused, seen or not.
///
/// Ask it only after the signature was verified: else anybody can use up a sender's numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayWindow {
    highest: Option<u64>,
    /// Bit `s % SIZE` for sequence `s`, of the `SIZE` sequences below the highest.
    seen: [u64; WORDS],
}

impl ReplayWindow {
    /// Number of sequences below the highest that are told apart.
    pub const SIZE: u64 = 64 * WORDS as u64;

    /// A window that has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { highest: None, seen: [0; WORDS] }
    }

    /// Accepts a sequence once.
    ///
    /// # Errors
    /// [`Replayed`] if it was accepted before, or is too old to tell.
    pub fn accept(&mut self, sequence: u64) -> Result<(), Replayed> {
        let Some(highest) = self.highest else {
            self.highest = Some(sequence);
            return Ok(());
        };
        if sequence > highest {
            self.advance(highest, sequence);
            return Ok(());
        }
        if sequence == highest || highest - sequence > Self::SIZE || self.has(sequence) {
            return Err(Replayed);
        }
        self.set(sequence, true);
        Ok(())
    }

    /// Moves the window up: what comes into it was not seen, but for the highest so far.
    fn advance(&mut self, from: u64, to: u64) {
        if to - from > Self::SIZE {
            self.seen = [0; WORDS];
        } else {
            for sequence in from + 1..to {
                self.set(sequence, false);
            }
            self.set(from, true);
        }
        self.highest = Some(to);
    }

    fn has(&self, sequence: u64) -> bool {
        let (word, mask) = place(sequence);
        self.seen[word] & mask != 0
    }

    fn set(&mut self, sequence: u64, seen: bool) {
        let (word, mask) = place(sequence);
        if seen {
            self.seen[word] |= mask;
        } else {
            self.seen[word] &= !mask;
        }
    }
}

/// Word and bit of a sequence.
fn place(sequence: u64) -> (usize, u64) {
    let slot = (sequence % ReplayWindow::SIZE) as usize;
    (slot / 64, 1 << (slot % 64))
}

/// The sequence was accepted before, or is too old to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed;

impl fmt::Display for Replayed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the frame was received before, or is too old to tell")
    }
}

impl core::error::Error for Replayed {}
