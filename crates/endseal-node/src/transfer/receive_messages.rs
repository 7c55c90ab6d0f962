//! Receives a series of messages from a peer.

use core::time::Duration;

use endseal_codec::frame::Kind;
use endseal_codec::{Codec as _, ContentView, Limits, Message};
use endseal_transport::{Frame, FrameReceiver, FrameSender, PeerId};
use tokio::time;

use super::arrival::Arrival;
use super::error::ReceiveMessagesError;
use super::inbox::Inbox;
use super::receipts::DueReceipts;
use super::receive_file::told;
use super::reception::Reception;
use super::refusal::Refusal;
use super::request::Request;
use super::stall::taken;

/// Time that a message waits for others, to share a receipt with them.
const PAUSE: Duration = Duration::from_millis(10);

/// Delivers the messages of an exchange to the inbox and confirms them. `first` is its first frame.
/// Returns their number when the sender has all receipts.
pub(super) async fn receive_messages(
    peer: PeerId,
    (first, mut stream, answers): Request,
    reception: &Reception,
    inbox: &impl Inbox,
) -> Result<u64, ReceiveMessagesError> {
    let mut receipts = Receipts { due: DueReceipts::default(), answers };
    let received = hand_over(peer, first, &mut stream, &mut receipts, reception, inbox).await;
    match received {
        Ok(count) => {
            taken(reception.stall, async { told(receipts.answers.finish().await) }).await?;
            Ok(count)
        }
        Err(error) => {
            stream.stop();
            Err(error)
        }
    }
}

struct Receipts {
    due: DueReceipts,
    answers: FrameSender,
}

impl Receipts {
    async fn send(
        &mut self,
        reception: &Reception,
        inbox: &impl Inbox,
    ) -> Result<(), ReceiveMessagesError> {
        let Some(receipt) = self.due.take(reception.own, (reception.now)()) else { return Ok(()) };
        // A receipt is sent only after the user has the messages.
        inbox.flush().map_err(ReceiveMessagesError::Output)?;
        let receipt = Frame::new(Kind::Message, receipt);
        Ok(taken(reception.stall, self.answers.send(&receipt)).await?)
    }
}

async fn hand_over(
    peer: PeerId,
    first: Frame,
    stream: &mut FrameReceiver,
    receipts: &mut Receipts,
    reception: &Reception,
    inbox: &impl Inbox,
) -> Result<u64, ReceiveMessagesError> {
    let mut count = 0;
    let mut next = Some(first);
    loop {
        let frame = if next.is_some() {
            next.take()
        } else if receipts.due.is_empty() {
            stream.receive().await?
        } else {
            match time::timeout(PAUSE, stream.receive()).await {
                Ok(frame) => frame?,
                Err(_) => {
                    receipts.send(reception, inbox).await?;
                    continue;
                }
            }
        };
        let Some(frame) = frame else {
            receipts.send(reception, inbox).await?;
            return Ok(count);
        };
        let frame = Arrival::from(&frame);
        let ContentView::Rich(message) = content(&frame)? else {
            return Err(Refusal::Order.into());
        };
        if !receipts.due.takes(message.conversation) {
            receipts.send(reception, inbox).await?;
        }
        inbox.message(peer, &message).map_err(ReceiveMessagesError::Output)?;
        receipts.due.add(message.conversation, *message.id);
        count += 1;
        if receipts.due.is_due() {
            receipts.send(reception, inbox).await?;
        }
    }
}

fn content<'a>(frame: &Arrival<'a>) -> Result<ContentView<'a>, Refusal> {
    if frame.kind != Kind::Message || frame.sealed {
        return Err(Refusal::Order);
    }
    Message::view(frame.payload, Limits::default())?.content.ok_or(Refusal::Order)
}
