//! Notices to the members of a group.

use super::attachment::BlobReference;
use super::declare::*;

message! {
    /// An object was shared with a group.
    pub struct ShareNotice, ShareNoticeView {
        /// Id of the group, 1 to 64 bytes.
        1 group: Required<Bytes<1, 64>>,
        /// The epoch whose key wraps the object's.
        2 epoch: Implicit<Uint64>,
        /// The Ed25519 public key of the person who shared the object.
        3 sender: Required<Fixed<32>>,
        /// Name of the object, without a path. It comes from the sender: do not use it as a path.
        4 name: Required<Text<1, 255>>,
        /// Length of the plaintext in bytes, as the sender states it.
        5 size: Implicit<Uint64>,
        /// Reference to the object; its key is wrapped under the group's epoch key.
        6 object: Required<Nested<BlobReference>>,
        /// Milliseconds since 1970, by the sender's clock.
        7 timestamp: Implicit<Uint64>,
    }
    keeps unknown
}

message! {
    /// Members were removed from a group.
    pub struct RevokeNotice, RevokeNoticeView {
        /// Id of the group, 1 to 64 bytes.
        1 group: Required<Bytes<1, 64>>,
        /// The first epoch in which the removed members are not included.
        2 epoch: Implicit<Uint64>,
        /// The Ed25519 public key of the person who removed them.
        3 sender: Required<Fixed<32>>,
        /// The Ed25519 public keys of 1 to 1,024 members.
        4 removed: Repeated<Fixed<32>, 1, 1024>,
        /// Milliseconds since 1970, by the sender's clock.
        5 timestamp: Implicit<Uint64>,
    }
    keeps unknown
}
