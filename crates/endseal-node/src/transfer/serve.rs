//! Answering a peer.

use std::io;
use std::path::PathBuf;

use endseal_codec::RichMessageView;
use endseal_transport::{
    CloseCode, Connection, FrameReceiver, FrameSender, Kind, PeerId, ReceiveError,
};

use super::echo::echo;
use super::error::{ReceiveFileError, ReceiveMessagesError};
use super::receive_file::{Stored, receive_file};
use super::receive_messages::receive_messages;

/// What is accepted, and where it goes.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "settings; a new one is a decision for its user")]
pub struct Reception {
    /// The folder of received files.
    pub folder: PathBuf,
    /// Most bytes of a file.
    pub max_size: u64,
    /// The Ed25519 public key of who receives: stands in receipts.
    pub own: [u8; 32],
    /// Milliseconds since 1970.
    pub now: fn() -> u64,
}

/// Who is told what a peer sends. Calls may block: the transport has threads of its own.
pub trait Inbox {
    /// So many bytes of a file are there.
    fn progress(&self, peer: PeerId, received: u64);

    /// A file is done with, well or badly, and the sender knows if it can.
    fn file(&self, peer: PeerId, outcome: Result<Stored, ReceiveFileError>);

    /// A message has arrived. Its `sender` is the peer's word.
    ///
    /// # Errors
    /// If it cannot be handed over: the sender gets no receipt, and no more is received from it.
    fn message(&self, peer: PeerId, message: &RichMessageView<'_>) -> io::Result<()>;

    /// All messages so far are about to be confirmed.
    ///
    /// # Errors
    /// As for [`message`](Self::message).
    fn flush(&self) -> io::Result<()>;

    /// A series of messages is done with: their number, or why it ended.
    fn messages(&self, peer: PeerId, outcome: Result<u64, ReceiveMessagesError>);
}

/// Answers everything that a peer asks, until the connection ends: one file or echo after the other,
/// and beside them one series of messages after the other. Gives the reason of the end.
pub async fn receive(
    connection: &Connection,
    reception: &Reception,
    inbox: &impl Inbox,
) -> ReceiveError {
    let exchanges = async {
        loop {
            match connection.accept_exchange().await {
                Ok((answers, stream)) => {
                    exchange(connection.peer(), stream, answers, reception, inbox).await;
                }
                Err(error) => break error,
            }
        }
    };
    let series = async {
        loop {
            match connection.accept_messages().await {
                Ok(stream) => {
                    let outcome = receive_messages(connection, stream, reception, inbox).await;
                    inbox.messages(connection.peer(), outcome);
                }
                Err(error) => break error,
            }
        }
    };
    // Both: what is under way when the connection ends has its outcome, too.
    let (ended, _) = tokio::join!(exchanges, series);
    ended
}

async fn exchange(
    peer: PeerId,
    mut stream: FrameReceiver,
    answers: FrameSender,
    reception: &Reception,
    inbox: &impl Inbox,
) {
    let first = match stream.receive().await {
        Ok(Some(first)) => first,
        // Nothing was asked.
        Ok(None) | Err(_) => return answers.reset(CloseCode::Cancelled),
    };
    if first.kind() == Kind::Control {
        // Whoever asked knows that it ended.
        let _ended = echo(first, stream, answers).await;
        return;
    }
    let mut progress = |received| inbox.progress(peer, received);
    let place = (reception.folder.as_path(), reception.max_size);
    inbox.file(peer, receive_file(first, stream, answers, place, &mut progress).await);
}
