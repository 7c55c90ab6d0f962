//! Requests of a node to its hub (`proto/endseal/v1/`, docs/spec/delivery.md).

use crate::message::declare::*;

message! {
    /// Payload of a frame of kind `control` from a node to a hub.
    pub struct HubRequest, HubRequestView {
        /// The request that the frame carries; it must be present.
        1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 request: OneOf<Request, true>,
    }
}

oneof! {
    /// A request of a node.
    pub enum Request, RequestView {
        /// Asks for the state of the node at the hub.
        0 Hello hello: Nested<Hello>,
        /// Registers the device of the connection.
        1 Register register: Nested<Register>,
        /// Stores a frame in mailboxes.
        2 Put put: Nested<Put>,
        /// Asks for the frames of the peer's mailbox.
        3 Subscribe subscribe: Nested<Subscribe>,
        /// Permits the hub to send more frames.
        4 Credit credit: Nested<Credit>,
        /// All up to a position is durable at the node.
        5 Acknowledge acknowledge: Nested<Acknowledge>,
        /// Asks for the record and the devices of a person.
        6 Find find: Nested<Find>,
        /// Publishes data of the device that other nodes can find.
        7 Publish publish: Nested<Publish>,
        /// Asks for a prekey of a device.
        8 Take take: Nested<Take>,
        /// Asks for one's own person record, by the root key alone.
        9 Recover recover: Nested<Recover>,
    }
}

impl From<Request> for HubRequest {
    fn from(request: Request) -> Self {
        Self { request }
    }
}

message! {
    /// Asks for the state of the node at the hub.
    pub struct Hello, HelloView {
        /// Version of the protocol, 1.
        1 version: Implicit<Uint32>,
        /// Time of the newest address note that the node has, 0 if none.
        2 address_time: Implicit<Uint64>,
    }
}

message! {
    /// Registers the device of the connection.
    pub struct Register, RegisterView {
        /// Token of the invitation by which the device registers; absent for a device of a person
        /// that the hub knows.
        1 token: Optional<Fixed<32>>,
        /// Certificate of the device, in its encoding.
        2 certificate: Required<Bytes<237, 237>>,
        /// Person record of the identity, 1 to 8,192 bytes.
        3 person: Required<Bytes<1, 8_192>>,
    }
}

message! {
    /// Stores a frame in one or more mailboxes.
    pub struct Put, PutView {
        /// Peer ids of up to 1,024 mailboxes, one after the other; empty for all members of a
        /// conversation.
        1 targets: Implicit<Bytes<0, 32_768>>,
        /// The stored frame, encoded and vouched.
        2 frame: Required<Bytes<64, UNBOUNDED>>,
        /// The conversation to which the frame belongs.
        3 conversation: Optional<Nested<Conversation>>,
    }
}

message! {
    /// The group to which a frame belongs, as its sender knows it.
    pub struct Conversation, ConversationView {
        /// Id of the group.
        1 group: Required<Fixed<16>>,
        /// Epoch in which the frame was made.
        2 epoch: Implicit<Uint64>,
        /// Digest of the peer ids of the members in that epoch.
        3 members: Required<Fixed<32>>,
        /// The group after this frame, if it begins the next epoch.
        4 commit: Optional<Nested<Commit>>,
    }
}

message! {
    /// The group after a commit.
    pub struct Commit, CommitView {
        /// Peer ids of the members, one after the other, in ascending order.
        1 members: Required<Bytes<32, 32_768>>,
        /// A stored frame for the members that are new; empty if there are none.
        2 welcome: Implicit<Bytes<0, UNBOUNDED>>,
    }
}

message! {
    /// Asks for the frames of the peer's mailbox behind a position.
    pub struct Subscribe, SubscribeView {
        /// Position after which the node asks for frames; 0 for all of them.
        1 after: Implicit<Uint64>,
        /// Frames that may be under way.
        2 frames: Implicit<Uint64>,
        /// Bytes that may be under way.
        3 bytes: Implicit<Uint64>,
    }
}

message! {
    /// Permits the hub to send more frames than before.
    pub struct Credit, CreditView {
        /// Number of further frames that may be under way.
        1 frames: Implicit<Uint64>,
        /// Number of further bytes that may be under way.
        2 bytes: Implicit<Uint64>,
    }
}

message! {
    /// All up to a position is durable at the node.
    pub struct Acknowledge, AcknowledgeView {
        /// Position of the last frame that is durable at the node.
        1 position: Implicit<Uint64>,
    }
}

message! {
    /// Asks for the record and the devices of a person.
    pub struct Find, FindView {
        /// The person, or one of their devices.
        1 | 2 by: OneOf<By, true>,
    }
}

oneof! {
    /// Name under which a person is looked for.
    pub enum By, ByView {
        /// Ed25519 public key of the identity.
        0 Identity identity: Fixed<32>,
        /// Peer id of a device.
        1 Peer peer: Fixed<32>,
    }
}

message! {
    /// Publishes data of the device that other nodes can find. Absent fields leave the stored data
    /// unchanged.
    pub struct Publish, PublishView {
        /// Certificate of the device; empty if it is absent.
        1 certificate: Implicit<Bytes<0, 237>>,
        /// Person record of the identity; empty if it is absent.
        2 person: Implicit<Bytes<0, 8_192>>,
        /// At most 128 prekeys of the device, each of which serves once.
        3 prekeys: Repeated<Bytes<1, 8_192>, 0, 128>,
        /// True if they take the place of all such prekeys that are there.
        4 replace: Implicit<Bool>,
        /// A prekey that serves any number of times; empty if it is absent.
        5 last_resort: Implicit<Bytes<0, 8_192>>,
    }
}

message! {
    /// Asks for a prekey of a device.
    pub struct Take, TakeView {
        /// Peer id of the device.
        1 peer: Required<Fixed<32>>,
    }
}

message! {
    /// Asks for one's own person record, by the root key alone.
    pub struct Recover, RecoverView {
        /// Ed25519 public key of the identity.
        1 identity: Required<Fixed<32>>,
        /// Signature by that key over hub and peer of the connection.
        2 signature: Required<Bytes<64, 64>>,
    }
}
