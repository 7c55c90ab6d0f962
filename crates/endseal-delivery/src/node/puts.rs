//! Frames on their way to the hub.

use alloc::collections::VecDeque;

use endseal_codec::Codec as _;
use endseal_codec::hub::{AnswerView, HubAnswer, RefusedView};

use super::HubFault;
use crate::limit::MAX_UNANSWERED;
use crate::payload_limits;

/// Frames of one exchange that have no answer yet, in the order of their sequences.
#[derive(Debug, Default)]
pub struct Puts {
    unanswered: VecDeque<u64>,
    last: Option<u64>,
}

/// Frames that have their answer.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "both are to be dealt with")]
pub enum Settled<'a> {
    /// These sequences are durable at the hub: they may leave the outbox.
    Stored(alloc::vec::Vec<u64>),
    /// This one was not accepted; `None` if the exchange was not.
    Refused(Option<u64>, RefusedView<'a>),
}

impl Puts {
    /// State of an exchange in which no frame was sent yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns true if another frame may be sent now.
    #[must_use]
    pub fn can_send(&self) -> bool {
        self.unanswered.len() < MAX_UNANSWERED
    }

    /// Number of frames without an answer.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        self.unanswered.len()
    }

    /// Notes that a frame is sent. Returns false, and notes nothing, if too many wait for an answer
    /// or the sequence is not above that of the frame before: the caller MUST NOT send it then.
    pub fn send(&mut self, sequence: u64) -> bool {
        if !self.can_send() || self.last.is_some_and(|last| sequence <= last) {
            return false;
        }
        self.last = Some(sequence);
        self.unanswered.push_back(sequence);
        true
    }

    /// Takes the payload of an answer.
    ///
    /// # Errors
    /// [`HubFault`].
    pub fn answer<'a>(&mut self, payload: &'a [u8]) -> Result<Settled<'a>, HubFault> {
        let answer = HubAnswer::view(payload, payload_limits()).map_err(|_| HubFault::Answer)?;
        match answer.answer {
            AnswerView::Stored(stored) => {
                // All up to it that have no answer: those refused are not among them.
                let count = self.unanswered.partition_point(|it| *it <= stored.sequence);
                let last = count.checked_sub(1).and_then(|last| self.unanswered.get(last));
                if last != Some(&stored.sequence) {
                    return Err(HubFault::Sequence);
                }
                Ok(Settled::Stored(self.unanswered.drain(..count).collect()))
            }
            AnswerView::Refused(refused) => {
                if let Some(sequence) = refused.sequence {
                    let at = self.unanswered.binary_search(&sequence);
                    self.unanswered.remove(at.map_err(|_| HubFault::Sequence)?);
                }
                Ok(Settled::Refused(refused.sequence, refused))
            }
            _ => Err(HubFault::Unexpected),
        }
    }
}
