//! The socket of a running signer, from the caller's side.

use core::fmt;
use core::time::Duration;
use std::path::Path;

use endseal_service::control::{ControlClient, ControlConnectError, ControlFrameError};

use super::{CommandError, Reply, Request};

/// Name of the socket in the signer's directory; its mode is 0600.
pub const SOCKET: &str = "signer.sock";

/// Longest wait for a reply: unlocking and copies take seconds.
const PATIENCE: Duration = Duration::from_secs(120);

/// Cause why a running signer gave no reply.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// No signer listens there.
    NotRunning,
    /// The message was not sent or the reply not read.
    Frame(ControlFrameError),
    /// The command failed.
    Command(CommandError),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning => f.write_str("no signer runs with this directory"),
            Self::Frame(error) => error.fmt(f),
            Self::Command(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CallError {}

/// Asks the signer that runs with `directory`.
///
/// # Errors
/// [`CallError`].
pub fn call(directory: &Path, request: &Request) -> Result<Reply, CallError> {
    let client = ControlClient::connect(&directory.join(SOCKET), Some(PATIENCE));
    let mut client = client.map_err(|error| match error {
        ControlConnectError::Io(error) => CallError::Frame(error.into()),
        _ => CallError::NotRunning,
    })?;
    client.send(&request.command, &request.secret).map_err(CallError::Frame)?;
    let (reply, _) = client.receive::<Result<Reply, CommandError>>().map_err(CallError::Frame)?;
    reply.map_err(CallError::Command)
}
