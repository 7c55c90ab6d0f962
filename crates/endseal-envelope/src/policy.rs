//! Refusals by the application of envelopes that are authentic.

use alloc::boxed::Box;
use alloc::vec::Vec;

use endseal_crypto::ed25519;

use crate::error::OpenError;
use crate::message_info::MessageInfo;
use crate::suite::Suite;

/// Memory of opened messages.
///
/// [`is_new`](Self::is_new) is asked before the first byte of content is released, and
/// [`remember`](Self::remember) after the last signature was verified. A stream that breaks off in
/// between leaves nothing behind: the same envelope, sent again, opens.
pub trait ReplayCache {
    /// Returns true if this message of this sender is not remembered. MUST NOT remember it.
    fn is_new(&self, sender: &ed25519::PublicKey, message_id: &[u8; 16], time: u64) -> bool;

    /// Remembers this message of this sender. Returns false if it is remembered already: another
    /// opener of the same message was faster, and this one fails.
    ///
    /// The implementation MUST remember it at least as long as the policy's age allows it to be
    /// opened.
    fn remember(&mut self, sender: &ed25519::PublicKey, message_id: &[u8; 16], time: u64) -> bool;
}

impl<C: ReplayCache + ?Sized> ReplayCache for &mut C {
    fn is_new(&self, sender: &ed25519::PublicKey, message_id: &[u8; 16], time: u64) -> bool {
        (**self).is_new(sender, message_id, time)
    }

    fn remember(&mut self, sender: &ed25519::PublicKey, message_id: &[u8; 16], time: u64) -> bool {
        (**self).remember(sender, message_id, time)
    }
}

/// Choice of the authentic envelopes that are opened. The default is all of them.
#[derive(Default)]
#[allow(missing_debug_implementations, reason = "a replay cache need not have it")]
pub struct Policy<'a> {
    suites: Option<Vec<Suite>>,
    senders: Option<Vec<ed25519::PublicKey>>,
    age: Option<Age>,
    replay: Option<Box<dyn ReplayCache + Send + 'a>>,
}

#[derive(Clone, Copy)]
struct Age {
    now: u64,
    max_age: u64,
    max_ahead: u64,
}

impl<'a> Policy<'a> {
    /// A policy that opens every authentic envelope of any suite, sender and time.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens only envelopes of one of these suites. The suite is public: others are refused before
    /// any key is used, with [`OpenError::SuiteNotAccepted`].
    #[must_use]
    pub fn suites(self, suites: impl IntoIterator<Item = Suite>) -> Self {
        Self { suites: Some(suites.into_iter().collect()), ..self }
    }

    /// Opens only envelopes of these senders.
    #[must_use]
    pub fn senders(self, senders: impl IntoIterator<Item = ed25519::PublicKey>) -> Self {
        let mut senders: Vec<_> = senders.into_iter().collect();
        senders.sort_unstable();
        Self { senders: Some(senders), ..self }
    }

    /// Opens only envelopes that are dated at most `max_age` before and `max_ahead` after `now`,
    /// all in milliseconds (`now` since 1970-01-01T00:00:00Z).
    #[must_use]
    pub fn age(self, now: u64, max_age: u64, max_ahead: u64) -> Self {
        Self { age: Some(Age { now, max_age, max_ahead }), ..self }
    }

    /// A policy that opens each message only once, by its message id. It owns `cache`, or borrows
    /// it if that is a reference.
    #[must_use]
    pub fn replay(self, cache: impl ReplayCache + Send + 'a) -> Self {
        Self { replay: Some(Box::new(cache)), ..self }
    }

    /// Judges the suite, which is known before a key is used.
    pub(crate) fn judge_suite(&self, suite: Suite) -> Result<(), OpenError> {
        match &self.suites {
            Some(suites) if !suites.contains(&suite) => Err(OpenError::SuiteNotAccepted(suite)),
            _ => Ok(()),
        }
    }

    /// Judges a message whose first block was verified, before content is released.
    pub(crate) fn judge(&self, info: &MessageInfo) -> Result<(), OpenError> {
        let MessageInfo { sender, message_id, time, .. } = info;
        if let Some(senders) = &self.senders
            && senders.binary_search(sender).is_err()
        {
            return Err(OpenError::SenderNotAccepted(*sender));
        }
        if let Some(Age { now, max_age, max_ahead }) = self.age {
            if *time < now.saturating_sub(max_age) || *time == 0 {
                return Err(OpenError::TooOld);
            }
            if *time > now.saturating_add(max_ahead) {
                return Err(OpenError::TooNew);
            }
        }
        let replay = self.replay.as_ref();
        let is_new = replay.is_none_or(|cache| cache.is_new(sender, message_id, *time));
        if is_new { Ok(()) } else { Err(OpenError::Replayed) }
    }

    /// Remembers a message that was judged, once all of it was verified.
    pub(crate) fn remember(&mut self, info: &MessageInfo) -> Result<(), OpenError> {
        let MessageInfo { sender, message_id, time, .. } = info;
        let replay = self.replay.as_mut();
        let is_first = replay.is_none_or(|cache| cache.remember(sender, message_id, *time));
        if is_first { Ok(()) } else { Err(OpenError::Replayed) }
    }
}
