//! Settings of a receiver.

use alloc::sync::Arc;
use core::time::Duration;
use std::path::PathBuf;

use super::quota::TransferQuota;

/// Settings of a receiver: limits of requests, and the folder of received files.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "settings; a new one is a decision for its user")]
pub struct Reception {
    /// Folder in which received files are stored.
    pub folder: PathBuf,
    /// Limit on the size of a file in bytes.
    pub max_size: u64,
    /// Limits on the unfinished files of each peer. All connections of a receiver share them.
    pub quota: Arc<TransferQuota>,
    /// Timeout for the next frame of a file, and for an answer that the peer does not accept. A
    /// sender may wait for its own input for this long.
    pub stall: Duration,
    /// Ed25519 public key of the receiver, which is written in receipts.
    pub own: [u8; 32],
    /// Clock that returns milliseconds since 1970.
    pub now: fn() -> u64,
}
