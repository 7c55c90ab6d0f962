//! Handle by which the sockets send commands to the engine.

use alloc::sync::Arc;

use endseal_crypto::secret::Zeroizing;
use endseal_service::browser_page::{Origin, Sessions};
use tokio::sync::{mpsc, oneshot};

use crate::control::{Command, CommandError, Reply, Request, SecretText};

/// Command with the channel for its reply.
pub(super) struct Call {
    pub(super) request: Request,
    pub(super) reply: oneshot::Sender<Result<Reply, CommandError>>,
}

/// Sends commands to the engine's thread.
#[derive(Clone)]
pub(super) struct Handle {
    calls: mpsc::Sender<Call>,
    sessions: Arc<Sessions>,
    /// Address of the approval page, if there is one.
    page: Option<Origin>,
}

impl Handle {
    pub(super) fn new(
        calls: mpsc::Sender<Call>,
        sessions: Arc<Sessions>,
        page: Option<Origin>,
    ) -> Self {
        Self { calls, sessions, page }
    }

    /// Executes a command that has no secret.
    pub(super) async fn call(&self, command: Command) -> Result<Reply, CommandError> {
        self.request(Request { command, secret: Zeroizing::new(Vec::new()) }).await
    }

    /// Executes a command and waits for its reply.
    pub(super) async fn request(&self, request: Request) -> Result<Reply, CommandError> {
        match request.command {
            Command::SignIn => return self.sign_in(),
            Command::SignOut => return self.sign_out(),
            _ => {}
        }
        let (reply, replied) = oneshot::channel();
        if self.calls.send(Call { request, reply }).await.is_err() {
            return Err(CommandError::NotRunning);
        }
        replied.await.unwrap_or(Err(CommandError::NotRunning))
    }

    fn page(&self) -> Result<&Origin, CommandError> {
        let cause = "the signer has no page: run it with --page";
        self.page.as_ref().ok_or_else(|| CommandError::Invalid(cause.to_owned()))
    }

    fn sign_out(&self) -> Result<Reply, CommandError> {
        self.page()?;
        Ok(Reply::SignedOut(self.sessions.end_all()))
    }

    fn sign_in(&self) -> Result<Reply, CommandError> {
        let page = self.page()?;
        let path = self.sessions.link().map_err(|error| CommandError::Store(error.to_string()))?;
        Ok(Reply::Link(SecretText::new(format!("{page}{}", *path.0))))
    }
}
