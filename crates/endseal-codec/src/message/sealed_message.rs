//! A message under end-to-end encryption.

use super::declare::*;
use super::open_enum;

message! {
    /// An encoded [`Message`](crate::Message) under end-to-end encryption.
    /// [`Sealed`](crate::Sealed) makes and opens it.
    pub struct SealedMessage, SealedMessageView {
        /// Scheme by which the ciphertext was made.
        1 scheme: Required<Open<Scheme>>,
        /// Identifier of the keys that open it, as the scheme says; at most 64 bytes.
        2 context: Implicit<Bytes<0, 64>>,
        /// The ciphertext, at least 1 byte.
        3 ciphertext: Required<Bytes<1, UNBOUNDED>>,
    }
    keeps unknown
}

open_enum! {
    /// Scheme by which a ciphertext was made, which decides how it is opened.
    pub struct Scheme = "Scheme" {
        /// The default, which no message may have.
        UNSPECIFIED = 0 "SCHEME_UNSPECIFIED",
        /// A group envelope as `docs/spec/envelope.md` specifies it.
        ENVELOPE = 1 "SCHEME_ENVELOPE",
        /// A pairwise session of two devices.
        PAIRWISE = 2 "SCHEME_PAIRWISE",
        /// A session of a group (RFC 9420).
        MLS = 3 "SCHEME_MLS",
    }
}
