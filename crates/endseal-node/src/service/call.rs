//! A request on its way to the store, and its reply.

use tokio::sync::oneshot;

use crate::local::{LocalError, LocalReply, LocalRequest, Secret};

/// Reply with the plaintexts behind it.
pub(super) type Answer = Result<(LocalReply, Secret), LocalError>;
/// The way of a reply to its connection.
pub(super) type Answering = oneshot::Sender<Answer>;

/// A request with its secret.
pub(super) struct Call {
    pub(super) request: LocalRequest,
    pub(super) secret: Secret,
    pub(super) reply: Answering,
}
