//! Limits of a hub (docs/spec/delivery.md, "Limits").

use core::time::Duration;

/// Bounds of what one person may cost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HubLimits {
    /// Frames in a mailbox. Default 100,000.
    pub mailbox_frames: u64,
    /// Bytes of frames and slots in a mailbox. Default 256 MiB.
    pub mailbox_bytes: u64,
    /// Frames that a sender may put at once; each mailbox counts. Default 1,024.
    pub burst: u32,
    /// Frames that a sender may put in a second on average. Default 50.
    pub rate: u32,
    /// Time after which a frame expires. Default 30 days.
    pub retention: Duration,
    /// One-time prekey bundles of a device. Default 256.
    pub bundles: u64,
    /// Time in which an asker gets one one-time bundle of a device. Default 10 minutes.
    pub bundle_interval: Duration,
    /// Most commands of a transaction. Default 1,000.
    pub commit_commands: usize,
}

impl Default for HubLimits {
    fn default() -> Self {
        Self {
            mailbox_frames: 100_000,
            mailbox_bytes: 256 << 20,
            burst: 1_024,
            rate: 50,
            retention: Duration::from_secs(30 * 24 * 3_600),
            bundles: 256,
            bundle_interval: Duration::from_secs(600),
            commit_commands: 1_000,
        }
    }
}
