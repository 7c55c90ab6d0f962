//! Delivery of a mailbox under the credit of its node.

use crate::credit::Credit;

/// Delivery of a mailbox, in order and within the credit.
#[derive(Debug)]
pub struct Subscription {
    credit: Credit,
    /// Position of the last frame that went.
    position: u64,
    /// True if the node knows that nothing is left.
    is_caught_up: bool,
}

impl Subscription {
    /// A subscription behind a position.
    #[must_use]
    pub const fn new(after: u64, credit: Credit) -> Self {
        Self { credit, position: after, is_caught_up: false }
    }

    /// Position behind which the next frame is.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Adds credit that the node granted.
    pub const fn add(&mut self, more: Credit) {
        self.credit.add(more);
    }

    /// Credit that is left for frames of this subscription.
    #[must_use]
    pub const fn credit(&self) -> Credit {
        self.credit
    }

    /// Returns true if a frame may go now.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.credit.is_open()
    }

    /// Notes that a frame of `bytes` bytes is sent. Returns false, and notes nothing, if there is
    /// no credit or if the position is not behind the last one.
    pub const fn deliver(&mut self, position: u64, bytes: u64) -> bool {
        if position <= self.position || !self.credit.take(bytes) {
            return false;
        }
        (self.position, self.is_caught_up) = (position, false);
        true
    }

    /// Notes that the frames up to a position are gone.
    pub const fn skip_to(&mut self, position: u64) {
        self.position = position;
    }

    /// Notes that the mailbox has no further frame. Returns true if the node must be informed,
    /// which is the case once after each delivery.
    pub const fn caught_up(&mut self) -> bool {
        let is_news = !self.is_caught_up;
        self.is_caught_up = true;
        is_news
    }
}
