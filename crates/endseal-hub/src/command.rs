//! Work for the writer.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use endseal_codec::hub::{Answer, Code, Refused};
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::{Certificate, PrekeyBundle};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

/// Work of one request, which is done in a transaction with others.
pub(crate) enum Command {
    /// Store a frame.
    Put(Put),
    /// Delete what a node has, and say where its mailbox ends.
    /// `told` is the position of the last gap that the node was told of.
    Acknowledge {
        peer: PeerId,
        position: u64,
        told: u64,
        answer: Option<oneshot::Sender<MailboxEnd>>,
    },
    /// Say what there is of a node.
    Hello { peer: PeerId, answer: oneshot::Sender<Answer> },
    /// Register a device.
    Register { peer: PeerId, register: Box<Registration>, answer: oneshot::Sender<Answer> },
    /// Publish what others shall find.
    Publish { peer: PeerId, publication: Box<Publication>, answer: oneshot::Sender<Answer> },
    /// Look for a person.
    Find { by: By, answer: oneshot::Sender<Answer> },
    /// Give a prekey of a device.
    Take { peer: PeerId, device: PeerId, answer: oneshot::Sender<Answer> },
    /// Delete what is older than the retention.
    Expire,
    /// Write, although nothing changes, and say that it is durable.
    Probe(oneshot::Sender<()>),
}

/// A frame to be stored.
pub(crate) struct Put {
    pub(crate) sender: PeerId,
    pub(crate) sequence: u64,
    pub(crate) targets: Vec<PeerId>,
    /// One for each target, of this length each; or empty.
    pub(crate) slots: Bytes,
    pub(crate) frame: Bytes,
    pub(crate) received: Instant,
    pub(crate) answer: mpsc::UnboundedSender<PutAnswer>,
    /// Refusal after which nothing more is taken in this exchange: later frames must not pass it.
    pub(crate) stopped: Arc<OnceLock<Code>>,
    /// Memory that the frame takes until it is answered.
    pub(crate) _permit: OwnedSemaphorePermit,
}

/// Answer to a frame: that it is durable, or why not.
pub(crate) type PutAnswer = (u64, Result<(), Refused>);

/// End of a mailbox.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MailboxEnd {
    /// Position of the last frame that came.
    pub(crate) last: u64,
    /// Frames that expired, and the position of the last of them.
    pub(crate) gap: (u64, u64),
}

/// A registration that was verified.
pub(crate) struct Registration {
    pub(crate) token: [u8; 32],
    pub(crate) certificate: Certificate,
    pub(crate) person: PersonRecord,
}

/// A publication that was verified.
pub(crate) struct Publication {
    pub(crate) certificate: Option<Certificate>,
    pub(crate) person: Option<PersonRecord>,
    pub(crate) bundles: Vec<PrekeyBundle>,
    /// The one-time bundles that are there are deleted.
    pub(crate) replace: bool,
}

/// Name of a person.
pub(crate) enum By {
    Identity([u8; 32]),
    Peer(PeerId),
}

/// A refusal without more.
pub(crate) fn refused(code: Code) -> Refused {
    Refused { code, ..Refused::default() }
}
