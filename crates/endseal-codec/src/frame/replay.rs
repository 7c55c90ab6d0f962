//! Stored frames of one sender that were seen.

use core::fmt;

const WORDS: usize = 16;

/// The sequences that were accepted from one sender: the highest one, and a bit for each of the
/// [`Self::SIZE`] sequences below it. Older ones are always refused.
///
/// The caller MUST authenticate the sender before it asks. Otherwise another party can use up the
/// numbers of a sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayWindow {
    highest: Option<u64>,
    /// Bit `s % SIZE` for sequence `s`, of the `SIZE` sequences below the highest.
    seen: [u64; WORDS],
}

impl ReplayWindow {
    /// Number of sequences below the highest one for which the window remembers the acceptance.
    pub const SIZE: u64 = 64 * WORDS as u64;
    /// Bytes of a window that is kept.
    pub const LEN: usize = 8 + 8 * WORDS;

    /// A window that has seen nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { highest: None, seen: [0; WORDS] }
    }

    /// Accepts a sequence once, and notes that it was accepted.
    ///
    /// # Errors
    /// [`Replayed`]; the window is as it was.
    pub fn accept(&mut self, sequence: u64) -> Result<(), Replayed> {
        let Some(highest) = self.highest else {
            self.highest = Some(sequence);
            return Ok(());
        };
        if sequence > highest {
            self.advance(highest, sequence);
            return Ok(());
        }
        if highest - sequence > Self::SIZE {
            return Err(Replayed::Old);
        }
        if sequence == highest || self.has(sequence) {
            return Err(Replayed::Seen);
        }
        self.set(sequence, true);
        Ok(())
    }

    /// The highest sequence that was accepted.
    #[must_use]
    pub const fn highest(&self) -> Option<u64> {
        self.highest
    }

    /// The window as bytes, to keep it: the highest (8), and the bits of those below it (128), in
    /// little-endian order. `None` if it has seen nothing.
    #[must_use]
    pub fn to_bytes(&self) -> Option<[u8; Self::LEN]> {
        let mut bytes = [0; Self::LEN];
        let (highest, seen) = bytes.split_at_mut(8);
        highest.copy_from_slice(&self.highest?.to_le_bytes());
        for (word, bytes) in self.seen.iter().zip(seen.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Some(bytes)
    }

    /// Takes a window that was kept.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let mut words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let highest = words.next();
        let mut seen = [0; WORDS];
        seen.iter_mut().zip(words).for_each(|(word, kept)| *word = kept);
        Self { highest, seen }
    }

    /// Moves the window up. The sequences that enter it were not seen, except for the highest so
    /// far.
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

/// Reason why a sequence is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a number is above, within or below the window")]
pub enum Replayed {
    /// The sequence was accepted before: the frame is a replay or a duplicate.
    Seen,
    /// The sequence is below the window, so it is not known if it was accepted before.
    Old,
}

impl fmt::Display for Replayed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Seen => "the frame was received before",
            Self::Old => "the frame is too old to tell whether it was received before",
        })
    }
}

impl core::error::Error for Replayed {}
