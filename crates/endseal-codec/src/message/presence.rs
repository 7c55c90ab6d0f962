//! Receipts, and notices of typing.

use super::declare::*;
use super::open_enum;

message! {
    /// Delivery status of messages, which their receiver reports.
    pub struct Receipt, ReceiptView {
        /// Id of the conversation, 1 to 64 bytes.
        1 conversation: Required<Bytes<1, 64>>,
        /// The Ed25519 public key of the person who received them.
        2 sender: Required<Fixed<32>>,
        /// Delivery status of the messages.
        3 kind: Implicit<Open<ReceiptKind>>,
        /// The ids of 1 to 1,024 messages.
        4 messages: Repeated<Fixed<16>, 1, 1024>,
        /// Milliseconds since 1970, by the sender's clock.
        5 timestamp: Implicit<Uint64>,
    }
    keeps unknown
}

open_enum! {
    /// Delivery status that a receipt reports.
    pub struct ReceiptKind = "Kind" {
        /// The default value, which reports nothing.
        UNSPECIFIED = 0 "KIND_UNSPECIFIED",
        /// The messages are stored on a device of the receiver.
        DELIVERED = 1 "KIND_DELIVERED",
        /// The messages were shown to the receiver.
        READ = 2 "KIND_READ",
        /// The receiver did not accept the messages.
        REFUSED = 3 "KIND_REFUSED",
    }
}

message! {
    /// The sender is typing, or has stopped.
    pub struct Typing, TypingView {
        /// Id of the conversation, 1 to 64 bytes.
        1 conversation: Required<Bytes<1, 64>>,
        /// The Ed25519 public key of the person who types.
        2 sender: Required<Fixed<32>>,
        /// True if the sender is typing.
        3 active: Implicit<Bool>,
        /// Milliseconds since 1970, by the sender's clock.
        4 timestamp: Implicit<Uint64>,
    }
    keeps unknown
}
