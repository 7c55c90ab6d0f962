//! Replay windows for stored and relayed frames (docs/spec/transport.md, "Replay").
//!
//! A live connection needs none: QUIC delivers each byte once. A frame that was stored or relayed can
//! arrive again, and its signature is right each time.

use core::fmt;
use std::collections::HashMap;

use endseal_crypto::peer_id::PeerId;

const WORDS: usize = 16;

/// Which sequence numbers of one sender were seen: the highest, and those up to 1,023 below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayWindow {
    /// The highest number seen plus one; 0 before the first.
    next: u64,
    /// Bit `n % 1024` tells whether `n` was seen, for the 1,024 numbers below `next`.
    seen: [u64; WORDS],
}

impl ReplayWindow {
    /// Numbers that the window spans.
    pub const LEN: u64 = WORDS as u64 * 64;

    /// A window that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a sequence number, once. The caller MUST have verified the frame's signature.
    ///
    /// # Errors
    /// [`Replayed`] if it was seen, or is too old to tell. The window is unchanged then.
    pub fn accept(&mut self, sequence: u64) -> Result<(), Replayed> {
        // The last number cannot be followed by another; nobody gets there in good faith.
        let after = sequence.checked_add(1).ok_or(Replayed::TooOld)?;
        if after > self.next {
            let skipped = (self.next..after).take(usize::try_from(Self::LEN).unwrap_or(usize::MAX));
            // Beyond one turn every bit is cleared already.
            skipped.for_each(|number| self.set(number, false));
            if after - self.next > Self::LEN {
                self.seen = [0; WORDS];
            }
            self.next = after;
        } else if self.next - after >= Self::LEN {
            return Err(Replayed::TooOld);
        } else if self.has(sequence) {
            return Err(Replayed::Seen);
        }
        self.set(sequence, true);
        Ok(())
    }

    fn place(number: u64) -> (usize, u64) {
        let bit = number % Self::LEN;
        (usize::try_from(bit / 64).unwrap_or(0), 1 << (bit % 64))
    }

    fn has(&self, number: u64) -> bool {
        let (word, mask) = Self::place(number);
        self.seen[word] & mask != 0
    }

    fn set(&mut self, number: u64, seen: bool) {
        let (word, mask) = Self::place(number);
        if seen {
            self.seen[word] |= mask;
        } else {
            self.seen[word] &= !mask;
        }
    }
}

/// A window for each of a bounded number of senders, 160 bytes each.
#[derive(Clone, Debug)]
pub struct ReplayWindows {
    windows: HashMap<PeerId, ReplayWindow>,
    max: usize,
}

impl ReplayWindows {
    /// Windows for at most `max` senders.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { windows: HashMap::new(), max }
    }

    /// Takes a sequence number of a sender, once. The caller MUST have verified that the frame is
    /// its, and that it is one of those it deals with.
    ///
    /// # Errors
    /// [`Replayed`]. No sender is forgotten to make room for another: that would let its frames in
    /// again.
    pub fn accept(&mut self, sender: PeerId, sequence: u64) -> Result<(), Replayed> {
        if let Some(window) = self.windows.get_mut(&sender) {
            return window.accept(sequence);
        }
        if self.windows.len() >= self.max {
            return Err(Replayed::TooManySenders);
        }
        self.windows.entry(sender).or_default().accept(sequence)
    }

    /// Forgets a sender. The caller MUST NOT accept its old frames any more.
    pub fn forget(&mut self, sender: &PeerId) {
        self.windows.remove(sender);
    }
}

/// Why a sequence number is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replayed {
    /// It was taken before.
    Seen,
    /// It is so far behind that nobody knows.
    TooOld,
    /// There is no room for another sender.
    TooManySenders,
}

impl Replayed {
    /// A stable name of the class, as in the test vectors.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::TooOld => "too-old",
            Self::TooManySenders => "senders",
        }
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seen => "the frame was delivered before",
            Self::TooOld => "the frame is too old to know whether it was delivered before",
            Self::TooManySenders => "there is no room for the replay window of another sender",
        })
    }
}

impl core::error::Error for Replayed {}
