//! Callbacks of a receiver.

use std::io;

use endseal_codec::RichMessageView;
use endseal_transport::PeerId;

use super::error::{ReceiveFileError, ReceiveMessagesError};
use super::receive_file::Stored;

/// Callbacks for received files and messages. They may block: the transport has threads of its own.
pub trait Inbox {
    /// Called with the number of bytes of a file that have arrived so far.
    fn progress(&self, peer: PeerId, received: u64);

    /// Called when a file is complete or has failed. The sender was informed if possible.
    fn file(&self, peer: PeerId, outcome: Result<Stored, ReceiveFileError>);

    /// Called for each message that has arrived.
    ///
    /// # Errors
    /// Returns an error if the message cannot be accepted. The sender then gets no receipt, and
    /// nothing more is received from it.
    fn message(&self, peer: PeerId, message: &RichMessageView<'_>) -> io::Result<()>;

    /// Called before the messages so far are confirmed. The user must have them when this returns.
    ///
    /// # Errors
    /// Returns an error if the messages cannot be handed over. They are then not confirmed.
    fn flush(&self) -> io::Result<()>;

    /// Called when a series of messages has ended, with their number or the reason of a failure.
    fn messages(&self, peer: PeerId, outcome: Result<u64, ReceiveMessagesError>);
}
