//! The commands that connections send to the writer.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use endseal_codec::hub::{Answer, Code, Refused};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::MembersDigest;
use endseal_delivery::hub::GroupId;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::Certificate;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

/// The work for one request. The writer executes several commands in one transaction.
pub(crate) enum Command {
    /// Store a frame.
    Put(Box<Put>),
    /// Delete the frames that a node has acknowledged, and return the end of its mailbox. `told` is
    /// the position of the last gap that was reported to the node.
    Acknowledge {
        peer: PeerId,
        position: u64,
        told: u64,
        answer: Option<oneshot::Sender<MailboxEnd>>,
    },
    /// Return what the hub knows about a device.
    Hello { peer: PeerId, answer: oneshot::Sender<Answer> },
    /// Register a device.
    Register { peer: PeerId, register: Box<Registration>, answer: oneshot::Sender<Answer> },
    /// Publish a certificate, a person record or prekeys for other nodes to find.
    Publish { peer: PeerId, publication: Box<Publication>, answer: oneshot::Sender<Answer> },
    /// Look up a person.
    Find { by: By, answer: oneshot::Sender<Answer> },
    /// Hand out a prekey of a device.
    Take { peer: PeerId, device: PeerId, answer: oneshot::Sender<Answer> },
    /// Give the person record of an identity whose key has signed for that.
    Recover { identity: [u8; 32], answer: oneshot::Sender<Answer> },
    /// Delete what is older than the retention.
    Expire,
    /// Adopt what other processes have changed.
    Reload,
    /// Adopt the bytes that wait in all mailboxes, by the identities of the senders.
    Totals(Vec<([u8; 32], u64)>),
    /// Write to the database without changing anything, and report once the write is durable.
    Probe(oneshot::Sender<()>),
}

/// A frame that a sender wants stored.
pub(crate) struct Put {
    pub(crate) sender: PeerId,
    pub(crate) sequence: u64,
    pub(crate) targets: Vec<PeerId>,
    /// The group for whose members the frame is. Without targets, all of them get it.
    pub(crate) group: Option<GroupFrame>,
    pub(crate) frame: Bytes,
    /// The cost that was taken from the sender's budget.
    pub(crate) cost: usize,
    pub(crate) received: Instant,
    pub(crate) answer: mpsc::UnboundedSender<PutAnswer>,
    /// The refusal that ended this exchange, if there was one. No later frame of the exchange is
    /// stored after it, as frames must not overtake each other.
    pub(crate) stopped: Arc<OnceLock<Code>>,
    /// The memory that is reserved for the frame until it is answered.
    pub(crate) _permit: OwnedSemaphorePermit,
}

/// The group of a frame, as its sender knows it.
pub(crate) struct GroupFrame {
    pub(crate) id: GroupId,
    /// The epoch in which the frame was made.
    pub(crate) epoch: u64,
    pub(crate) members: MembersDigest,
    pub(crate) commit: Option<GroupChange>,
}

/// The group after a commit.
pub(crate) struct GroupChange {
    /// The peer ids of its members, in ascending order.
    pub(crate) members: Vec<PeerId>,
    /// The frame for those that are new.
    pub(crate) welcome: Option<Bytes>,
}

/// The answer to a frame: its sequence number, and whether it is durable or why it was refused.
pub(crate) type PutAnswer = (u64, Result<(), Refused>);

/// The end of a mailbox, as the hub knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MailboxEnd {
    /// The position of the last frame that was added.
    pub(crate) last: u64,
    /// The number of frames that expired, and the position of the last of them.
    pub(crate) gap: (u64, u64),
}

/// A registration whose parts have been parsed and verified.
pub(crate) struct Registration {
    /// Digest of the invitation's token. `None` for a device of a known person.
    pub(crate) token: Option<[u8; 32]>,
    pub(crate) certificate: Certificate,
    pub(crate) person: PersonRecord,
}

/// A publication whose parts have been parsed and verified.
pub(crate) struct Publication {
    pub(crate) certificate: Option<Certificate>,
    pub(crate) person: Option<PersonRecord>,
    /// Prekeys that serve once. The hub does not look into them.
    pub(crate) prekeys: Vec<Vec<u8>>,
    /// A prekey that serves any number of times; empty if there is none.
    pub(crate) last_resort: Vec<u8>,
    /// True if the stored prekeys that serve once are deleted first.
    pub(crate) replace: bool,
}

/// Key by which a request looks for a person.
pub(crate) enum By {
    Identity([u8; 32]),
    Peer(PeerId),
}

/// Returns a refusal with a code and no further details.
pub(crate) fn refused(code: Code) -> Refused {
    Refused { code, ..Refused::default() }
}
