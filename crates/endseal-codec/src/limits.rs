//! Limits on which both sides agree before the first message.

/// The longest message or frame payload that is accepted or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    maximum: u32,
}

impl Limits {
    /// The maximum without agreement, in bytes.
    pub const DEFAULT_MAXIMUM: u32 = 1 << 20;
    /// The largest maximum that can be agreed on, in bytes.
    pub const LARGEST_MAXIMUM: u32 = (1 << 31) - 1;

    /// Limits with another maximum, in bytes; `None` above [`Self::LARGEST_MAXIMUM`].
    #[must_use]
    pub const fn with_maximum(maximum: u32) -> Option<Self> {
        if maximum <= Self::LARGEST_MAXIMUM { Some(Self { maximum }) } else { None }
    }

    /// The longest message or payload, in bytes.
    #[must_use]
    pub const fn maximum(self) -> u32 {
        self.maximum
    }

    pub(crate) fn allow(self, len: usize) -> bool {
        u32::try_from(len).is_ok_and(|len| len <= self.maximum)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { maximum: Self::DEFAULT_MAXIMUM }
    }
}
