#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | to do this | use |
//! |---|---|
//! | answer the requests of a node | [`hub::Exchange`] |
//! | hand frames to a hub | [`node::Puts`] |
//! | take frames from a hub | [`node::Subscription`] |
//! | recognise a delivery that comes again | [`MessageId`] |
//! | compare the members of a group with the hub | [`MembersDigest`] |
//! | number the frames of a mailbox | [`position_after`] |
//! | prove a root key to a hub | [`RecoveryProof`] |
//!
//! The protocol is specified in `docs/spec/delivery.md` of the project.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod hub;
pub mod node;

mod credit;
mod members;
mod message_id;
mod position;
mod recovery;
mod targets;

pub use credit::Credit;
pub use members::MembersDigest;
pub use message_id::MessageId;
pub use position::position_after;
pub use recovery::RecoveryProof;
pub use targets::{Targets, TargetsError};

use endseal_codec::Limits;

/// Limits that both sides of the protocol keep (docs/spec/delivery.md).
pub mod limit {
    /// Greatest payload of a frame between node and hub, in bytes.
    pub const MAX_PAYLOAD: u32 = (1 << 20) + (128 << 10);
    /// Greatest payload of a stored frame, in bytes.
    pub const MAX_STORED_PAYLOAD: u32 = 1 << 20;
    /// Greatest number of mailboxes of one frame.
    pub const MAX_TARGETS: usize = 1_024;
    /// Most frames of an exchange that have no answer.
    pub const MAX_UNANSWERED: usize = 1_000;
}

/// Limits of a payload: a request of a node or an answer of a hub.
#[must_use]
pub fn payload_limits() -> Limits {
    Limits::with_maximum(limit::MAX_PAYLOAD).unwrap_or_default()
}

/// Limits of a stored frame that a hub accepts.
#[must_use]
pub fn stored_limits() -> Limits {
    Limits::with_maximum(limit::MAX_STORED_PAYLOAD).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{limit, payload_limits, stored_limits};

    #[test]
    fn limits_are_those_of_the_protocol() {
        assert_eq!(payload_limits().maximum(), limit::MAX_PAYLOAD);
        assert_eq!(stored_limits().maximum(), limit::MAX_STORED_PAYLOAD);
    }
}
