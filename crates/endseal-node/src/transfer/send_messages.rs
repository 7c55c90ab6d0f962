//! Sends a series of messages to a peer.

use core::cell::{Cell, RefCell};

use endseal_codec::{Body, Codec as _, Content, Limits, Message, RichMessage};
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_transport::{Connection, Frame, FrameReceiver, FrameSender, Kind};
use tokio::sync::{Notify, mpsc};

use super::arrival::Arrival;
use super::error::SendError;
use super::receipts::Unconfirmed;
use super::refusal::Refusal;
use super::stall::StallTimeout;
use crate::file::Progress;

/// A text to send.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "a text and when it was said")]
pub struct OutgoingMessage {
    /// Content of the text, some hundred bytes shorter than 1 MiB at most.
    pub text: String,
    /// Time of the text in milliseconds since 1970.
    pub time: u64,
}

/// Sends texts as they arrive on the channel, in a conversation of their own, and waits until the
/// peer has confirmed each of them. `own` is the Ed25519 key of the sender. Returns the number of
/// texts.
///
/// # Errors
/// Returns [`SendError`] if not all of them are confirmed. [`SendError::Input`] reports an error
/// from the channel, or a text that is too long.
pub async fn send_messages(
    connection: &Connection,
    own: [u8; 32],
    texts: mpsc::Receiver<std::io::Result<OutgoingMessage>>,
    stall: StallTimeout,
    progress: Progress<'_>,
) -> Result<u64, SendError> {
    let mut conversation = [0; 16];
    OsRandom.fill(&mut conversation)?;
    let window = Window::default();
    let (stream, receipts) = stall.wait(connection, 0, connection.open_exchange()).await??;
    let peer = (connection, stall);
    let sending = send(peer, texts, stream, (own, conversation), &window);
    let confirming = confirm(peer, receipts, &window, progress);
    let (sent, ()) = tokio::try_join!(sending, confirming)?;
    Ok(sent)
}

/// State that the sending and the confirming half share. They run in one task, and hold no borrow
/// while they wait.
#[derive(Default)]
struct Window {
    waiting: RefCell<Unconfirmed>,
    /// Bytes that were sent since the last time that no message waited for its receipt.
    bytes: Cell<u64>,
    confirmed: Notify,
    /// True when all texts were sent.
    sent: RefCell<bool>,
    started: Notify,
}

async fn send(
    (connection, stall): (&Connection, StallTimeout),
    mut texts: mpsc::Receiver<std::io::Result<OutgoingMessage>>,
    mut stream: FrameSender,
    (own, conversation): ([u8; 32], [u8; 16]),
    window: &Window,
) -> Result<u64, SendError> {
    let mut count = 0;
    loop {
        let text = tokio::select! {
            text = texts.recv() => text,
            // While the next text is awaited, a peer that is gone is noticed.
            closed = connection.closed() => {
                return Err(endseal_transport::SendError::Closed(closed).into());
            }
        };
        let Some(text) = text.transpose()? else { break };
        let mut id = [0; 16];
        OsRandom.fill(&mut id)?;
        let rich = RichMessage {
            id,
            conversation: conversation.into(),
            sender: own,
            timestamp: text.time,
            body: Some(Body::Text(text.text.into())),
            ..RichMessage::default()
        };
        let message = Message::from(Content::Rich(rich)).to_vec(Limits::default());
        let message = message.map_err(std::io::Error::other)?;
        while !window.waiting.borrow().has_room() {
            // The confirming half enforces the timeout.
            window.confirmed.notified().await;
        }
        let len = message.len() as u64;
        let before = if window.waiting.borrow().is_empty() { 0 } else { window.bytes.get() };
        window.bytes.set(before + len);
        window.waiting.borrow_mut().add(id);
        window.started.notify_one();
        let frame = Frame::new(Kind::Message, message);
        stall.wait(connection, len, stream.send(&frame)).await??;
        count += 1;
    }
    *window.sent.borrow_mut() = true;
    window.started.notify_one();
    stall.wait(connection, window.bytes.get(), stream.finish()).await??;
    Ok(count)
}

async fn confirm(
    (connection, stall): (&Connection, StallTimeout),
    mut receipts: FrameReceiver,
    window: &Window,
    progress: Progress<'_>,
) -> Result<(), SendError> {
    window.started.notified().await;
    let mut confirmed = 0;
    loop {
        if *window.sent.borrow() && window.waiting.borrow().is_empty() {
            return Ok(());
        }
        // No message waits for a receipt. All texts may have been sent by the time of the
        // notification.
        if window.waiting.borrow().is_empty() {
            window.started.notified().await;
            continue;
        }
        let frame = stall.wait(connection, window.bytes.get(), receipts.receive()).await??;
        let Some(frame) = frame else { return Err(Refusal::Truncated.into()) };
        let Content::Receipt(receipt) = Arrival::from(&frame).message()? else {
            return Err(Refusal::Order.into());
        };
        confirmed += window.waiting.borrow_mut().confirm(&receipt)? as u64;
        window.confirmed.notify_one();
        progress(confirmed);
    }
}
