//! Files and messages between two peers that are connected (docs/spec/transfer.md).
//!
//! | to do this | use |
//! |---|---|
//! | send a file | [`send_file`] |
//! | send a series of messages | [`send_messages`] |
//! | ask whether a peer answers | [`Echo`] |
//! | time out a peer that makes no progress | [`StallTimeout`] |
//! | answer all of it | [`receive`] with an [`Inbox`] and a [`TransferQuota`] |
//! | the same without I/O, or over another transport | [`FileSender`], [`FileReceiver`], [`Unconfirmed`], [`DueReceipts`] |

mod arrival;
mod echo;
mod error;
mod file_receiver;
mod file_sender;
mod inbox;
mod message;
mod name;
mod quota;
mod receipts;
mod receive_file;
mod receive_messages;
mod reception;
mod refusal;
mod request;
mod send_file;
mod send_messages;
mod serve;
mod stall;
mod storage;

pub use arrival::Arrival;
pub use echo::{Echo, MAX_ECHO};
pub use error::{ReceiveFileError, ReceiveMessagesError, SendError, SendFileError};
pub use file_receiver::{Action, FileReceiver, Offer};
pub use file_sender::FileSender;
pub use inbox::Inbox;
pub use name::{FileName, InvalidFileName};
pub use quota::TransferQuota;
pub use receipts::{DueReceipts, Unconfirmed};
pub use receive_file::Stored;
pub use reception::Reception;
pub use refusal::Refusal;
pub use send_file::{OutgoingFile, send_file};
pub use send_messages::{OutgoingMessage, send_messages};
pub use serve::receive;
pub use stall::StallTimeout;
