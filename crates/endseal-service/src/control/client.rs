//! The caller's end of the socket.

use core::fmt;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use endseal_crypto::secret::Zeroizing;

use super::line::{ControlLineError, LineBuffer};

/// The reason why the connection could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum ControlConnectError {
    /// No process listens at the path of the socket: the service is not running.
    NotRunning,
    /// The socket failed for another reason, for example a missing permission.
    Io(io::Error),
}

impl fmt::Display for ControlConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning => f.write_str("no process listens at the socket"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ControlConnectError {}

/// A connection to a process that listens at the socket.
#[allow(missing_debug_implementations, reason = "it holds what may be secret")]
pub struct ControlClient {
    stream: UnixStream,
    received: LineBuffer,
}

impl ControlClient {
    /// Connects to the socket of a service. `timeout` is the timeout of each reply; without it a
    /// call waits for ever.
    ///
    /// # Errors
    /// [`ControlConnectError`] if no process listens at the socket, or the connection fails.
    pub fn connect(socket: &Path, timeout: Option<Duration>) -> Result<Self, ControlConnectError> {
        let failed = |error: io::Error| match error.kind() {
            // The path is too long for a socket, so no process can listen there.
            io::ErrorKind::NotFound
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::InvalidInput => ControlConnectError::NotRunning,
            _ => ControlConnectError::Io(error),
        };
        let stream = UnixStream::connect(socket).map_err(failed)?;
        stream.set_read_timeout(timeout).map_err(failed)?;
        stream.set_write_timeout(timeout).map_err(failed)?;
        Ok(Self { stream, received: LineBuffer::default() })
    }

    /// Sends the bytes of a line. It succeeds even if the process has already ended the connection:
    /// [`Self::receive`] then returns the reply that the process sent, or an error if there is
    /// none.
    ///
    /// # Errors
    /// [`ControlLineError`] if the line cannot be sent.
    pub fn send(&mut self, line: &[u8]) -> Result<(), ControlLineError> {
        match self.stream.write_all(line) {
            Err(error) if !has_ended(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Receives a line, without its end.
    ///
    /// # Errors
    /// [`ControlLineError`] if no line arrives within the timeout, or it is too long.
    pub fn receive(&mut self) -> Result<Zeroizing<Vec<u8>>, ControlLineError> {
        let mut piece = Zeroizing::new([0; 1 << 16]);
        loop {
            if let Some(line) = self.received.next()? {
                return Ok(line);
            }
            match self.stream.read(&mut *piece)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                len => self.received.write_all(&piece[..len])?,
            }
        }
    }
}

fn has_ended(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
