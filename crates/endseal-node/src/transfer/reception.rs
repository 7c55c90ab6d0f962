//! Settings of a receiver.

use alloc::sync::Arc;
use core::time::Duration;
use std::path::PathBuf;

use super::quota::TransferQuota;

/// Settings of a receiver: limits of requests, and the folder of received files.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "settings; a new one is a decision for its user")]
pub struct Reception {
    /// The folder of received files.
    pub folder: PathBuf,
    /// Most bytes of a file.
    pub max_size: u64,
    /// Bounds on the unfinished files of each peer. Shared by all connections of a receiver.
    pub quota: Arc<TransferQuota>,
    /// Timeout for the next frame of a file, and for an answer that the peer does not take. A
    /// sender may wait for its own input for so long.
    pub stall: Duration,
    /// Ed25519 public key of the receiver, which stands in receipts.
    pub own: [u8; 32],
    /// Milliseconds since 1970.
    pub now: fn() -> u64,
}
