//! Replay windows of stored and relayed frames (docs/spec/transport.md, "Replay").
//!
//! A live connection needs none: QUIC delivers each byte once. A frame that was stored or relayed
//! can arrive again, and its signature is right each time.

use core::fmt;
use std::collections::HashMap;

use endseal_codec::frame::ReplayWindow;
use endseal_crypto::peer_id::PeerId;

/// A [`ReplayWindow`] for each of a bounded number of senders, less than 200 bytes each.
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
    /// [`ReplayError`]. No sender is forgotten to make room for another: that would let its frames
    /// in again.
    pub fn accept(&mut self, sender: PeerId, sequence: u64) -> Result<(), ReplayError> {
        if !self.windows.contains_key(&sender) && self.windows.len() >= self.max {
            return Err(ReplayError::TooManySenders);
        }
        let window = self.windows.entry(sender).or_default();
        window.accept(sequence).map_err(|_| ReplayError::Replayed)
    }

    /// Forgets a sender. The caller MUST NOT accept its old frames any more.
    pub fn forget(&mut self, sender: &PeerId) {
        self.windows.remove(sender);
    }
}

/// Why a sequence number is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayError {
    /// It was taken before, or is so far behind that nobody knows.
    Replayed,
    /// There is no room for another sender.
    TooManySenders,
}

impl ReplayError {
    /// A stable name of the class, as in the test vectors.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Replayed => "replayed",
            Self::TooManySenders => "senders",
        }
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Replayed => "the frame was received before, or is too old to tell",
            Self::TooManySenders => "there is no room for the replay window of another sender",
        })
    }
}

impl core::error::Error for ReplayError {}
