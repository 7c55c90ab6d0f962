//! The service's end of a connection that carries lines.

use core::future::{Future, pending};
use core::time::Duration;
use std::io;
use std::sync::Arc;

use endseal_crypto::secret::Zeroizing;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::idle::{Accepted, FIRST_BYTE, Idle, Silent, TIMEOUT};
use super::line::{ControlLineError, LineBuffer};

/// Maximum time between a reply and the first byte of the next line.
const BETWEEN: Duration = Duration::from_secs(60);
/// Bytes that are received while a request is executed. A caller that sends more waits.
const AHEAD: usize = 1 << 16;

/// A connection that carries lines in both directions.
#[allow(missing_debug_implementations, reason = "it holds what may be secret")]
pub struct ControlLines {
    stream: UnixStream,
    received: LineBuffer,
    /// Place of a connection that has not sent its first line.
    silent: Option<Silent>,
    idle: Arc<Idle>,
    busy: Arc<[u8]>,
}

impl ControlLines {
    pub(super) fn of(accepted: Accepted) -> Self {
        let Accepted { stream, silent, idle, busy } = accepted;
        Self { stream, received: LineBuffer::default(), silent: Some(silent), idle, busy }
    }

    /// Receives the next line, without its end. Returns `None` when the connection has ended, is
    /// too slow, has to make room for another one, or sends a line that is too long. It cannot be
    /// used afterwards.
    pub async fn next(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        if self.received.len() == 0 {
            let (silent, limit) = match self.silent.take() {
                Some(silent) => (silent, FIRST_BYTE),
                None => (self.idle.add(), BETWEEN),
            };
            let read = receive(&mut self.stream, &mut self.received);
            let Some(read) = self.idle.first(silent, limit, read).await else {
                // The caller may have disconnected. The buffer has room for these few bytes.
                let _ = self.stream.try_write(&self.busy);
                return None;
            };
            read?;
        }
        self.silent = None;
        let line = async {
            loop {
                if let Some(line) = self.received.next().ok()? {
                    return Some(line);
                }
                receive(&mut self.stream, &mut self.received).await?;
            }
        };
        timeout(TIMEOUT, line).await.ok().flatten()
    }

    /// Sends a line. The caller has 10 seconds to read it.
    ///
    /// # Errors
    /// [`ControlLineError`] if the line is not sent in time. The connection cannot be used
    /// afterwards.
    pub async fn send(&mut self, line: &[u8]) -> Result<(), ControlLineError> {
        let late = |_| io::Error::from(io::ErrorKind::TimedOut);
        timeout(TIMEOUT, self.send_at_leisure(line)).await.map_err(late)?
    }

    /// Sends a line, however long the caller takes to read it.
    ///
    /// # Errors
    /// [`ControlLineError`] if the line cannot be sent. The connection cannot be used afterwards.
    pub async fn send_at_leisure(&mut self, line: &[u8]) -> Result<(), ControlLineError> {
        Ok(self.stream.write_all(line).await?)
    }

    /// Waits until the caller disconnects. The future may be dropped while it waits.
    pub async fn closed(&mut self) {
        loop {
            if self.received.len() >= AHEAD {
                pending::<()>().await;
            }
            if receive(&mut self.stream, &mut self.received).await.is_none() {
                return;
            }
        }
    }

    /// Waits for the result of `work` while the caller is connected. If the caller disconnects,
    /// this drops `work` and returns `None`.
    pub async fn until_closed<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        // The runtime polls the socket in between, and learns if the caller has disconnected.
        yield_now().await;
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.closed() => None,
        }
    }
}

/// Receives some bytes. Returns `None` if the connection has ended.
async fn receive(stream: &mut UnixStream, to: &mut LineBuffer) -> Option<()> {
    let len = stream.read_buf(to.with_room(1)).await.ok()?;
    (len > 0).then_some(())
}
