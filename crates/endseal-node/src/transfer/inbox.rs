//! Callbacks of a receiver.

use std::io;

use endseal_codec::RichMessageView;
use endseal_transport::PeerId;

use super::error::{ReceiveFileError, ReceiveMessagesError};
use super::receive_file::Stored;

/// Callbacks for received files and messages. Calls may block: the transport has threads of its
/// own.
pub trait Inbox {
    /// So many bytes of a file are there.
    fn progress(&self, peer: PeerId, received: u64);

    /// A file is done with, well or badly, and the sender knows if it can.
    fn file(&self, peer: PeerId, outcome: Result<Stored, ReceiveFileError>);

    /// A message has arrived. x.
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
