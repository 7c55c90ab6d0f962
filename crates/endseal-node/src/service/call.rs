//! A request to the task that owns the store, and its reply.

use tokio::sync::oneshot;

use crate::local::{LocalError, LocalReply, LocalRequest, Secret};

/// A reply and its concatenated plaintexts.
pub(super) type Answer = Result<(LocalReply, Secret), LocalError>;
/// Channel that returns the reply to the connection.
pub(super) type Answering = oneshot::Sender<Answer>;

/// A request with its secret and the channel for the reply.
pub(super) struct Call {
    pub(super) request: LocalRequest,
    pub(super) secret: Secret,
    pub(super) reply: Answering,
}
