//! Frames on their way to the node.

use endseal_codec::Codec as _;
use endseal_codec::frame::StoredFrame;
use endseal_codec::hub::{AnswerView, GapView, HubAnswer, RefusedView};
use endseal_crypto::peer_id::PeerId;

use super::HubFault;
use crate::credit::Credit;
use crate::message_id::MessageId;
use crate::{payload_limits, stored_limits};

/// Frames of the node's mailbox, in order.
#[derive(Debug)]
pub struct Subscription {
    credit: Credit,
    position: u64,
}

/// A frame or a notice that the hub sent.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "all are to be dealt with")]
pub enum Arrival<'a> {
    /// A frame. Its sender is the one that the hub vouches for.
    Frame {
        /// Position, to be acknowledged when the content is durable.
        position: u64,
        /// The frame, as its sender signed it.
        frame: StoredFrame<'a>,
        /// Id of the message in the frame, by which duplicates are recognised.
        id: MessageId,
    },
    /// Bytes that are no vouched frame: they were damaged at the hub.
    Damaged {
        /// Position, to be acknowledged when this is noted.
        position: u64,
    },
    /// The mailbox has no further frame at the moment; later ones follow when they arrive.
    CaughtUp,
    /// The hub deleted frames that were not delivered, for the reason that the gap names.
    Gap(GapView<'a>),
    /// The subscription was refused, or has ended.
    Refused(RefusedView<'a>),
}

impl Subscription {
    /// A subscription behind a position.
    #[must_use]
    pub const fn new(after: u64, credit: Credit) -> Self {
        Self { credit, position: after }
    }

    /// Position of the last frame.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Credit that the hub has left.
    #[must_use]
    pub const fn credit(&self) -> Credit {
        self.credit
    }

    /// Notes credit that the node has granted to the hub.
    pub const fn give(&mut self, more: Credit) {
        self.credit.add(more);
    }

    /// Takes the payload of an answer.
    ///
    /// # Errors
    /// [`HubFault`].
    pub fn answer<'a>(&mut self, payload: &'a [u8]) -> Result<Arrival<'a>, HubFault> {
        let answer = HubAnswer::view(payload, payload_limits()).map_err(|_| HubFault::Answer)?;
        Ok(match answer.answer {
            AnswerView::Deliver(deliver) => {
                if deliver.position <= self.position {
                    return Err(HubFault::Position);
                }
                if !self.credit.take(deliver.frame.len() as u64) {
                    return Err(HubFault::Credit);
                }
                self.position = deliver.position;
                let Some(frame) = vouched(deliver.frame) else {
                    return Ok(Arrival::Damaged { position: deliver.position });
                };
                let sender = PeerId::from_bytes(&frame.stamp().sender);
                let id = MessageId::of(&sender, frame.stamp().sequence);
                Arrival::Frame { position: deliver.position, frame, id }
            }
            AnswerView::CaughtUp(_) => Arrival::CaughtUp,
            AnswerView::Gap(gap) => {
                // After a hub was restored, its positions may be lower than before.
                self.position = gap.position;
                Arrival::Gap(gap)
            }
            AnswerView::Refused(refused) => Arrival::Refused(refused),
            _ => return Err(HubFault::Unexpected),
        })
    }
}

/// Reads a frame for whose sender the hub vouches.
fn vouched(frame: &[u8]) -> Option<StoredFrame<'_>> {
    let frame = StoredFrame::parse(frame, stored_limits()).ok()?;
    frame.vouched_by(&frame.sender()).ok()
}
