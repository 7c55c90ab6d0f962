//! What the application refuses though it is authentic.

use alloc::vec::Vec;

use endseal_crypto::ed25519;

use crate::error::OpenError;
use crate::prelude::Prelude;

/// Remembers which messages were opened.
pub trait ReplayCache {
    /// Whether this message of this sender is seen for the first time; from now on it is not.
    ///
    /// The implementation MUST remember it at least as long as the policy's age allows it to be
    /// opened.
    fn first_seen(&mut self, sender: &ed25519::PublicKey, message_id: &[u8; 16], time: u64)
    -> bool;
}

/// Which authentic envelopes are opened. The default is all of them.
#[derive(Default)]
#[allow(missing_debug_implementations, reason = "a replay cache need not have it")]
pub struct Policy<'a> {
    senders: Option<Vec<ed25519::PublicKey>>,
    age: Option<Age>,
    replay: Option<&'a mut dyn ReplayCache>,
}

#[derive(Clone, Copy)]
struct Age {
    now: u64,
    max_age: u64,
    max_ahead: u64,
}

impl<'a> Policy<'a> {
    /// Opens all that is authentic.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens only what one of these sent.
    #[must_use]
    pub fn senders(self, senders: impl IntoIterator<Item = ed25519::PublicKey>) -> Self {
        let mut senders: Vec<_> = senders.into_iter().collect();
        senders.sort_unstable();
        Self { senders: Some(senders), ..self }
    }

    /// Opens only what is dated at most `max_age` before and `max_ahead` after `now`, all in
    /// milliseconds (`now` since 1970-01-01T00:00:00Z).
    #[must_use]
    pub fn age(self, now: u64, max_age: u64, max_ahead: u64) -> Self {
        Self { age: Some(Age { now, max_age, max_ahead }), ..self }
    }

    /// Opens each message once.
    #[must_use]
    pub fn replay(self, cache: &'a mut dyn ReplayCache) -> Self {
        Self { replay: Some(cache), ..self }
    }

    /// Judges an authentic prelude. The replay cache is asked last, so that it remembers only what is
    /// opened.
    pub(crate) fn judge(
        &mut self,
        sender: &ed25519::PublicKey,
        prelude: &Prelude,
    ) -> Result<(), OpenError> {
        if let Some(senders) = &self.senders
            && senders.binary_search(sender).is_err()
        {
            return Err(OpenError::SenderNotAccepted(*sender));
        }
        if let Some(Age { now, max_age, max_ahead }) = self.age {
            if prelude.time < now.saturating_sub(max_age) || prelude.time == 0 {
                return Err(OpenError::TooOld);
            }
            if prelude.time > now.saturating_add(max_ahead) {
                return Err(OpenError::TooNew);
            }
        }
        let first = self
            .replay
            .as_mut()
            .is_none_or(|cache| cache.first_seen(sender, &prelude.message_id, prelude.time));
        if first { Ok(()) } else { Err(OpenError::Replayed) }
    }
}
