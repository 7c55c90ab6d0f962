//! Frames and bytes that may be under way.

/// Frames and bytes that may be under way. One more may go while both are above 0, so that the last
/// may exceed the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "these two numbers are the protocol's")]
pub struct Credit {
    /// Number of frames that may be sent.
    pub frames: u64,
    /// Number of bytes of frames that may be sent.
    pub bytes: u64,
}

impl Credit {
    /// Returns true if one more may go.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.frames > 0 && self.bytes > 0
    }

    /// Adds `more` to both numbers; they stay at the greatest number if they would overflow.
    pub(crate) const fn add(&mut self, more: Self) {
        self.frames = self.frames.saturating_add(more.frames);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }

    /// Takes one frame. Returns false if none may go.
    pub(crate) const fn take(&mut self, bytes: u64) -> bool {
        if !self.is_open() {
            return false;
        }
        self.frames -= 1;
        self.bytes = self.bytes.saturating_sub(bytes);
        true
    }
}
