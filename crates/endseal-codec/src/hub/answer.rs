//! Answers of a hub (`proto/endseal/v1/`, docs/spec/delivery.md).

use crate::message::declare::*;
use crate::message::open_enum;

message! {
    /// Payload of a frame of kind `control` from a hub to a node.
    pub struct HubAnswer, HubAnswerView {
        /// The answer that the frame carries; it must be present.
        1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 answer: OneOf<Answer, true>,
    }
}

oneof! {
    /// An answer of a hub.
    pub enum Answer, AnswerView {
        /// The hub's knowledge of the node.
        0 Welcome welcome: Nested<Welcome>,
        /// Frames of the exchange are durable at the hub.
        1 Stored stored: Nested<Stored>,
        /// A request or a frame was not accepted.
        2 Refused refused: Nested<Refused>,
        /// A frame of the mailbox.
        3 Deliver deliver: Nested<Deliver>,
        /// Nothing else is in the mailbox.
        4 CaughtUp caught_up: Nested<CaughtUp>,
        /// Frames were deleted before they were acknowledged.
        5 Gap gap: Nested<Gap>,
        /// A person and their devices.
        6 Person person: Nested<Person>,
        /// A prekey of a device.
        7 Prekey prekey: Nested<Prekey>,
    }
}

impl From<Answer> for HubAnswer {
    fn from(answer: Answer) -> Self {
        Self { answer }
    }
}

message! {
    /// The hub's knowledge of the node.
    pub struct Welcome, WelcomeView {
        /// Epoch of the node's person record at the hub.
        1 epoch: Implicit<Uint64>,
        /// Digest of the node's person record at the hub.
        2 digest: Required<Fixed<32>>,
        /// Number of the node's one-time prekeys that the hub still has.
        3 prekeys: Implicit<Uint32>,
        /// The highest sequence that was stored.
        4 sequence: Optional<Uint64>,
        /// Number of frames in the mailbox of the node.
        5 waiting: Implicit<Uint64>,
        /// Highest position that the node acknowledged, 0 if none.
        6 acknowledged: Implicit<Uint64>,
        /// Number of prekeys that the hub accepted from the node in all.
        7 published: Implicit<Uint64>,
        /// Number of frames of the node that were deleted before their receivers acknowledged them.
        8 dropped: Implicit<Uint64>,
        /// Encoded address note of the hub, at most 8,192 bytes; empty if the node has the newest.
        9 address_note: Implicit<Bytes<0, 8_192>>,
        /// Time at the hub in milliseconds since 1970.
        10 time: Implicit<Uint64>,
    }
}

message! {
    /// All frames of the exchange up to a sequence are durable, but those that were refused.
    pub struct Stored, StoredView {
        /// Sequence of the last frame that is durable.
        1 sequence: Implicit<Uint64>,
    }
}

message! {
    /// A request or a frame was not accepted.
    pub struct Refused, RefusedView {
        /// Reason why the request or the frame was not accepted.
        1 code: Implicit<Open<Code>>,
        /// Sequence of the frame that was refused.
        2 sequence: Optional<Uint64>,
        /// Mailboxes that are the reason, at most 1,024.
        3 mailboxes: Repeated<Fixed<32>, 0, 1024>,
        /// Milliseconds after which it may be tried again.
        4 wait: Implicit<Uint64>,
        /// Epoch of the conversation at the hub.
        5 epoch: Implicit<Uint64>,
    }
}

open_enum! {
    /// Reason why a hub refuses a request or a frame.
    pub struct Code = "Code" {
        /// The default value, which gives no reason.
        UNSPECIFIED = 0 "CODE_UNSPECIFIED",
        /// Not a request that is allowed here.
        REQUEST = 1 "CODE_REQUEST",
        /// The peer is not registered.
        REGISTERED = 2 "CODE_REGISTERED",
        /// The person record does not have the device any more.
        REVOKED = 3 "CODE_REVOKED",
        /// No such invitation, or one that is used up or expired.
        TOKEN = 4 "CODE_TOKEN",
        /// Certificate or person record is not valid, or not the peer's.
        CERTIFICATE = 5 "CODE_CERTIFICATE",
        /// The hub has a later person record, or another one of its epoch.
        PERSON = 6 "CODE_PERSON",
        /// Not a vouched frame of the peer.
        FRAME = 7 "CODE_FRAME",
        /// The sequence is below the window.
        OLD = 8 "CODE_OLD",
        /// Targets do not have the form that they must have.
        TARGETS = 9 "CODE_TARGETS",
        /// A mailbox among the targets does not exist.
        MAILBOX = 10 "CODE_MAILBOX",
        /// A mailbox among the targets is full; a later attempt may succeed.
        FULL = 11 "CODE_FULL",
        /// Too many frames in a time.
        RATE = 12 "CODE_RATE",
        /// The hub cannot write to its storage at the moment.
        STORAGE = 13 "CODE_STORAGE",
        /// There is no such person, or no prekey.
        NONE = 14 "CODE_NONE",
        /// The sequence was stored with another frame before.
        USED = 15 "CODE_USED",
        /// The hub has no space left for frames; a later attempt may succeed.
        SPACE = 16 "CODE_SPACE",
        /// There is no such conversation, or the peer is not a member of it.
        CONVERSATION = 17 "CODE_CONVERSATION",
        /// The conversation is in another epoch.
        EPOCH = 18 "CODE_EPOCH",
        /// The hub has other members of the conversation.
        MEMBERS = 19 "CODE_MEMBERS",
    }
}

message! {
    /// A frame of the mailbox.
    pub struct Deliver, DeliverView {
        /// Position of the frame in the mailbox; the node acknowledges it.
        1 position: Implicit<Uint64>,
        /// The stored frame, as its sender sent it.
        2 frame: Required<Bytes<64, UNBOUNDED>>,
    }
}

message! {
    /// Nothing else is in the mailbox.
    pub struct CaughtUp, CaughtUpView {
        /// Position of the last frame.
        1 position: Implicit<Uint64>,
    }
}

message! {
    /// Frames were deleted before they were acknowledged.
    pub struct Gap, GapView {
        /// Number of them, 0 if it is not known.
        1 count: Implicit<Uint64>,
        /// Reason why the frames were deleted.
        2 reason: Implicit<Open<GapReason>>,
        /// Position which the node acknowledges to acknowledge the gap.
        3 position: Implicit<Uint64>,
    }
}

open_enum! {
    /// Reason why a hub deleted frames that were not acknowledged.
    pub struct GapReason = "Reason" {
        /// The default value, which gives no reason.
        UNSPECIFIED = 0 "REASON_UNSPECIFIED",
        /// The frames were older than the hub's retention time.
        EXPIRED = 1 "REASON_EXPIRED",
        /// The database of the hub is one of earlier.
        RESTORED = 2 "REASON_RESTORED",
    }
}

message! {
    /// A person and their devices.
    pub struct Person, PersonView {
        /// Person record, 1 to 8,192 bytes.
        1 person: Required<Bytes<1, 8_192>>,
        /// Certificates of at most 16 devices; none of a person whose devices are all revoked.
        2 certificates: Repeated<Bytes<237, 237>, 0, 16>,
    }
}

message! {
    /// A prekey of a device.
    pub struct Prekey, PrekeyView {
        /// The prekey, as the device published it.
        1 prekey: Required<Bytes<1, 8_192>>,
    }
}
