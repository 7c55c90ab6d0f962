//! The side of the process that listens.

#[cfg(test)]
mod tests;

use core::future::Future;
use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

use endseal_crypto::secret::Zeroizing;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::frame::{self, ControlFrameError};

/// Calls at once.
const CONNECTIONS: usize = 16;
/// Longest time until a connection has sent its JSON.
const FIRST_FRAME: Duration = Duration::from_secs(1);
/// Longest time for its secret, and for the reply.
const PATIENCE: Duration = Duration::from_secs(10);

/// A socket with mode 0600 that serves its owner alone.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlSocket {
    /// Makes the socket, in the place of one that a killed process left behind. The caller MUST
    /// hold what one process has at a time, or it takes the socket of another one away. The
    /// directory MUST have mode 0700: it keeps others out until the mode of the socket is set.
    ///
    /// # Errors
    /// Those of the file system.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O.
    pub fn bind(path: &Path) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// Runs `handle` for each call, 16 at once, in tasks of the runtime; until it is dropped.
    pub async fn serve<F: Future<Output = ()> + Send + 'static>(
        &self,
        handle: impl Fn(ControlCall) -> F + Clone + Send + 'static,
    ) {
        let free = Arc::new(Semaphore::new(CONNECTIONS));
        let idle = Arc::new(Idle::default());
        let own = fs::metadata("/proc/self").map(|it| it.uid()).ok();
        for number in 0_u64.. {
            let Ok((stream, _)) = self.listener.accept().await else {
                sleep(Duration::from_millis(20)).await;
                continue;
            };
            let peer = stream.peer_cred().map(|it| it.uid()).ok();
            // Mode and directory keep others out; this does if they were changed.
            if own.is_some_and(|own| peer != Some(own)) {
                continue;
            }
            if free.available_permits() == 0 {
                // Connections that say nothing keep no call out.
                idle.close_first();
            }
            let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
            let (handle, others) = (handle.clone(), Arc::clone(&idle));
            idle.with(|idle| {
                let task = tokio::spawn(async move {
                    let call = timeout(FIRST_FRAME + PATIENCE, ControlCall::read(stream)).await;
                    others.with(|idle| idle.remove(&number));
                    if let Some(call) = call.ok().flatten() {
                        handle(call).await;
                    }
                    drop(permit);
                });
                idle.insert(number, task.abort_handle());
            });
        }
    }
}

impl Drop for ControlSocket {
    /// Removes the socket. One that stays is replaced by the next process.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Connections that have not sent their call yet, in the order of their arrival.
#[derive(Default)]
struct Idle(Mutex<BTreeMap<u64, AbortHandle>>);

impl Idle {
    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<u64, AbortHandle>) -> T) -> T {
        // Each change is whole.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Closes the one that came first.
    fn close_first(&self) {
        if let Some((_, first)) = self.with(|idle| idle.pop_first()) {
            first.abort();
        }
    }
}

/// A call that was received, and its connection.
#[allow(missing_debug_implementations, reason = "it holds what may be secret")]
pub struct ControlCall {
    stream: UnixStream,
    json: Zeroizing<Vec<u8>>,
    /// The secret.
    pub secret: Zeroizing<Vec<u8>>,
}

impl ControlCall {
    async fn read(mut stream: UnixStream) -> Option<Self> {
        let json = timeout(FIRST_FRAME, frame::receive(&mut stream)).await.ok()??;
        let secret = frame::receive(&mut stream).await?;
        Some(Self { stream, json, secret })
    }

    /// The call itself.
    ///
    /// # Errors
    /// [`ControlFrameError::Json`] if it is none of these.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ControlFrameError> {
        Ok(serde_json::from_slice(&self.json)?)
    }

    /// Sends a reply to a caller that reads it within 10 seconds.
    ///
    /// # Errors
    /// [`ControlFrameError`]; the connection is of no use then.
    pub async fn reply(
        &mut self,
        json: &impl Serialize,
        secret: &[u8],
    ) -> Result<(), ControlFrameError> {
        let late = |_| io::Error::from(io::ErrorKind::TimedOut);
        timeout(PATIENCE, self.reply_at_leisure(json, secret)).await.map_err(late)?
    }

    /// Sends a reply, however long the caller takes to read it.
    ///
    /// # Errors
    /// [`ControlFrameError`]; the connection is of no use then.
    pub async fn reply_at_leisure(
        &mut self,
        json: &impl Serialize,
        secret: &[u8],
    ) -> Result<(), ControlFrameError> {
        Ok(self.stream.write_all(&frame::to_bytes(json, secret)?).await?)
    }

    /// Waits until the caller is gone, or says more than a call.
    pub async fn closed(&mut self) {
        let _ = self.stream.read(&mut [0]).await;
    }
}
