//! Answers on their way to a node.

use endseal_codec::Codec as _;
use endseal_codec::hub::{Answer, HubAnswer};
use endseal_delivery::payload_limits;
use endseal_transport::{Frame, FrameSender, Kind, SendError};

/// Sends an answer.
pub(super) async fn send(sender: &mut FrameSender, answer: Answer) -> Result<(), SendError> {
    feed(sender, answer).await?;
    sender.flush().await
}

/// Sends an answer with those that follow.
pub(super) async fn feed(sender: &mut FrameSender, answer: Answer) -> Result<(), SendError> {
    // All that a hub says is within the limits: it was read within them.
    let Ok(payload) = HubAnswer::from(answer).to_vec(payload_limits()) else { return Ok(()) };
    sender.feed(&Frame::new(Kind::Control, payload)).await
}
