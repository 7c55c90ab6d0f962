//! Caller's side of the control socket of a running signer.

use core::time::Duration;
use std::path::Path;

use endseal_service::control::{ControlClient, ControlConnectError, ControlLineError, to_line};

use super::{CommandError, Reply, Request};

/// Name of the socket in the signer's directory; its mode is 0600.
pub const SOCKET: &str = "signer.sock";

/// Longest wait for a reply. Unlocking and copying the store can take seconds.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Reason why a running signer gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No signer listens on the socket of this directory.
    #[error("no signer runs with this directory")]
    NotRunning,
    /// The command could not be sent, or the reply could not be read.
    #[error("{0}")]
    Line(ControlLineError),
    /// The signer executed the command and it failed.
    #[error("{0}")]
    Command(CommandError),
}

/// Sends a command to the signer that runs with `directory` and waits at most two minutes for its
/// reply.
///
/// # Errors
/// [`CallError`] if no signer runs, if the connection fails, or if the command fails.
pub fn call(directory: &Path, request: &Request) -> Result<Reply, CallError> {
    let client = ControlClient::connect(&directory.join(SOCKET), Some(TIMEOUT));
    let mut client = client.map_err(|error| match error {
        ControlConnectError::Io(error) => CallError::Line(error.into()),
        _ => CallError::NotRunning,
    })?;
    client.send(&to_line(request).map_err(CallError::Line)?).map_err(CallError::Line)?;
    let line = client.receive().map_err(CallError::Line)?;
    let reply = serde_json::from_slice::<Result<Reply, CommandError>>(&line);
    reply.map_err(|error| CallError::Line(error.into()))?.map_err(CallError::Command)
}
