//! The limits of a hub (docs/spec/delivery.md, "Limits").

use core::time::Duration;

/// Limits on the resources that one person may use.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HubLimits {
    /// Maximum number of frames in a mailbox. Default 100,000.
    pub mailbox_frames: u64,
    /// Maximum bytes of frames and slots in a mailbox. Default 256 MiB.
    pub mailbox_bytes: u64,
    /// Number of frames that a sender may put in one burst. A frame counts once for each mailbox.
    /// Default 1,024.
    pub burst: u32,
    /// Number of frames that a sender may put per second on average. Default 50.
    pub rate: u32,
    /// Time after which a frame expires. Default 30 days.
    pub retention: Duration,
    /// Maximum number of stored one-time prekey bundles of a device. Default 256.
    pub bundles: u64,
    /// An asker gets at most one one-time bundle of a device within this time. Default 10 minutes.
    pub bundle_interval: Duration,
    /// Maximum number of commands in a transaction. Default 1,000.
    pub commit_commands: usize,
    /// True if a person whom the hub knows needs an invitation for each further device. Default
    /// false: the root's signature on the person record suffices.
    pub invites_devices: bool,
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
            invites_devices: false,
        }
    }
}
