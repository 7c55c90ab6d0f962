//! A request to the task that owns the store, and its reply.

use tokio::sync::oneshot;

use crate::api::{Error, Reply, Request};

/// Result of a request.
pub(super) type Answer = Result<Reply, Error>;
/// Channel that returns the result to the connection.
pub(super) type Answering = oneshot::Sender<Answer>;

/// A request with the channel for its result.
pub(super) struct Call {
    pub(super) request: Request,
    pub(super) reply: Answering,
}
