//! Answers on their way to a node.

use std::sync::Arc;

use endseal_codec::Codec as _;
use endseal_codec::hub::{Answer, HubAnswer};
use endseal_delivery::payload_limits;
use endseal_transport::{Frame, FrameSender, Kind, SendError};

use crate::metrics::Metrics;

/// Direction of an exchange to the node. What leaves is counted.
pub(super) struct Answers {
    sender: FrameSender,
    metrics: Arc<Metrics>,
}

impl Answers {
    pub(super) const fn new(sender: FrameSender, metrics: Arc<Metrics>) -> Self {
        Self { sender, metrics }
    }

    /// Sends an answer.
    pub(super) async fn send(&mut self, answer: Answer) -> Result<(), SendError> {
        self.feed(answer).await?;
        self.flush().await
    }

    /// Sends an answer with those that follow.
    pub(super) async fn feed(&mut self, answer: Answer) -> Result<(), SendError> {
        let delivered = match &answer {
            Answer::Deliver(deliver) => Some(deliver.frame.len() + deliver.slot.len()),
            _ => None,
        };
        if let Answer::Refused(refused) = &answer {
            self.metrics.refusal(refused.code);
        }
        // All that a hub says is within the limits: it was read within them.
        let Ok(payload) = HubAnswer::from(answer).to_vec(payload_limits()) else { return Ok(()) };
        self.sender.feed(&Frame::new(Kind::Control, payload)).await?;
        if let Some(bytes) = delivered {
            self.metrics.delivered(bytes);
        }
        Ok(())
    }

    pub(super) async fn flush(&mut self) -> Result<(), SendError> {
        self.sender.flush().await
    }

    /// Ends the direction. The node may be gone.
    pub(super) async fn end(self) {
        let _ = self.sender.end().await;
    }
}
