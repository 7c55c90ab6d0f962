//! The limits of a hub (docs/spec/delivery.md, "Limits").

use core::time::Duration;

/// Limits on the resources that one person may use.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HubLimits {
    /// Maximum number of frames in a mailbox. Default 100,000.
    pub mailbox_frames: u64,
    /// Maximum bytes of frames in a mailbox. Default 256 MiB.
    pub mailbox_bytes: u64,
    /// Work that a device may ask for in one burst, in frames. A frame counts once for each mailbox
    /// and each started 64 KiB, another request once, and a publication once more for each
    /// 1,372 bytes of prekeys. Default 1,024.
    pub burst: u32,
    /// Work that a device may ask for per second on average. Default 50.
    pub rate: u32,
    /// Maximum bytes of the database. Above it, frames are refused. Default: no limit.
    pub database_bytes: u64,
    /// Bytes of the file system that are kept for all else than frames. While less is left, frames
    /// are refused, and what waits is delivered, acknowledged and deleted. Default 128 MiB.
    pub reserve: u64,
    /// Time for which a clock that jumped ahead by more than this time must run on before frames
    /// expire by it. Default one day.
    pub clock_grace: Duration,
    /// Time after which a frame expires. Default 30 days.
    pub retention: Duration,
    /// Maximum number of stored prekeys of a device that serve once. Default 256.
    pub prekeys: u64,
    /// An asker gets at most one prekey of a device that serves once within this time. Default 10
    /// minutes.
    pub prekey_interval: Duration,
    /// Maximum number of members in all groups that a person has made, where a device counts once
    /// for each of the groups. Default 262,144.
    pub group_members: u64,
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
            database_bytes: u64::MAX,
            reserve: 128 << 20,
            clock_grace: Duration::from_secs(24 * 3_600),
            retention: Duration::from_secs(30 * 24 * 3_600),
            prekeys: 256,
            prekey_interval: Duration::from_secs(600),
            group_members: 262_144,
            commit_commands: 1_000,
            invites_devices: false,
        }
    }
}
