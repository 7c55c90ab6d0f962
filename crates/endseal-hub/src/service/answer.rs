//! Sends answers to a node.

use std::sync::Arc;

use endseal_codec::Codec as _;
use endseal_codec::hub::{Answer, HubAnswer};
use endseal_delivery::payload_limits;
use endseal_transport::{Frame, FrameSender, Kind, SendError};

use crate::metrics::Metrics;

/// The sending half of an exchange. It counts the frames that it sends.
pub(super) struct Answers {
    sender: FrameSender,
    metrics: Arc<Metrics>,
}

impl Answers {
    pub(super) const fn new(sender: FrameSender, metrics: Arc<Metrics>) -> Self {
        Self { sender, metrics }
    }

    /// Sends an answer at once.
    pub(super) async fn send(&mut self, answer: Answer) -> Result<(), SendError> {
        self.feed(answer).await?;
        self.flush().await
    }

    /// Queues an answer, to be sent together with those that follow.
    pub(super) async fn feed(&mut self, answer: Answer) -> Result<(), SendError> {
        let delivered = match &answer {
            Answer::Deliver(deliver) => Some(deliver.frame.len()),
            _ => None,
        };
        if let Answer::Refused(refused) = &answer {
            self.metrics.refusal(refused.code);
        }
        // Encoding cannot fail: the values were read within the same limits.
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

    /// Ends this half of the exchange. The node may have disconnected.
    pub(super) async fn end(self) {
        let _ = self.sender.end().await;
    }

    /// [`Self::end`], and waits until the node has received all of it: its connection is closed
    /// then.
    pub(super) async fn finish(self) {
        let _ = self.sender.finish().await;
    }
}
