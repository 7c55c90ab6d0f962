//! The service's end of the socket.

#[cfg(test)]
mod tests;

use core::convert::Infallible;
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
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::frame::{self, ControlFrameError};

/// Maximum number of calls that are served at the same time.
const CONNECTIONS: usize = 16;
/// Minimum time that a connection has to send its JSON when others wait for a permit.
const GRACE: Duration = Duration::from_millis(100);
/// Maximum time until a connection has sent its JSON.
const FIRST_FRAME: Duration = Duration::from_secs(1);
/// Maximum time for receiving the secret, and for sending the reply.
const PATIENCE: Duration = Duration::from_secs(10);

/// A socket with mode 0600 that serves only its owner.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlSocket {
    /// Creates the socket, replacing one that a killed process left behind. The caller MUST hold a
    /// lock that only one process can hold at a time; otherwise this call may remove the socket of
    /// another process. The directory MUST have mode 0700: it keeps other users out until the mode
    /// of the socket is set.
    ///
    /// # Errors
    /// Returns the error of the file system if the old socket cannot be removed or the new one
    /// cannot be created.
    ///
    /// # Panics
    /// Panics outside a tokio runtime with I/O enabled.
    pub fn bind(path: &Path) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// Runs `handle` for each call, at most 16 at the same time, in tasks of the runtime, until the
    /// returned future is dropped. Further connections wait until another one ends. If none does,
    /// the connection that has waited longest without sending its call receives `busy` instead of a
    /// reply and is closed.
    pub async fn serve<F: Future<Output = ()> + Send + 'static>(
        &self,
        busy: &(impl Serialize + Sync),
        handle: impl Fn(ControlCall) -> F + Clone + Send + 'static,
    ) {
        let free = Arc::new(Semaphore::new(CONNECTIONS));
        let idle = Arc::new(Idle::default());
        let busy: Arc<[u8]> =
            frame::to_bytes(busy, &[]).map(|it| it[..].into()).unwrap_or_default();
        let own = fs::metadata("/proc/self").map(|it| it.uid()).ok();
        for number in 0_u64.. {
            let Ok((stream, _)) = self.listener.accept().await else {
                sleep(Duration::from_millis(20)).await;
                continue;
            };
            let peer = stream.peer_cred().map(|it| it.uid()).ok();
            // The modes of the socket and its directory already keep other users out. This check
            // still does so if someone changed them.
            if own.is_some_and(|own| peer != Some(own)) {
                continue;
            }
            let Some(permit) = idle.permit(&free).await else { return };
            let asked_to_end = idle.add(number);
            let (handle, idle, busy) = (handle.clone(), Arc::clone(&idle), Arc::clone(&busy));
            tokio::spawn(async move {
                if let Some(call) = idle.call(number, stream, asked_to_end, &busy).await {
                    handle(call).await;
                }
                drop(permit);
            });
        }
    }
}

impl Drop for ControlSocket {
    /// Removes the socket. If that fails, the next process replaces it.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The connections that have not sent the JSON of their call yet, in the order in which they
/// arrived.
#[derive(Default)]
struct Idle(Mutex<BTreeMap<u64, Connected>>);

/// A connection that has not sent its JSON yet.
struct Connected {
    since: Instant,
    /// Dropping this makes the connection end.
    _end: oneshot::Sender<Infallible>,
}

impl Idle {
    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<u64, Connected>) -> T) -> T {
        // A poisoned lock is safe to use: no change leaves the map half updated.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a connection. The returned receiver completes when the connection must end.
    fn add(&self, number: u64) -> oneshot::Receiver<Infallible> {
        let (end, asked_to_end) = oneshot::channel();
        let connected = Connected { since: Instant::now(), _end: end };
        self.with(|idle| idle.insert(number, connected));
        asked_to_end
    }

    /// Waits for a permit. Connections that send nothing cannot block other calls for long, but
    /// each has at least [`GRACE`] to send its call.
    async fn permit(&self, free: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        loop {
            let first = self.with(|idle| idle.first_key_value().map(|(_, first)| first.since));
            let permit = Arc::clone(free).acquire_owned();
            let Some(since) = first else { return permit.await.ok() };
            match timeout_at(since + GRACE, permit).await {
                Ok(permit) => return permit.ok(),
                // The oldest connection ends, unless its call has just arrived.
                Err(_) => {
                    drop(self.with(BTreeMap::pop_first));
                    let permit = Arc::clone(free).acquire_owned();
                    if let Ok(permit) = timeout(GRACE, permit).await {
                        return permit.ok();
                    }
                }
            }
        }
    }

    /// Reads the call of a connection. A connection that is ended before its JSON has arrived gets
    /// `busy`: no part of its call was executed.
    async fn call(
        &self,
        number: u64,
        mut stream: UnixStream,
        asked_to_end: oneshot::Receiver<Infallible>,
        busy: &[u8],
    ) -> Option<ControlCall> {
        let json = tokio::select! {
            biased;
            json = timeout(FIRST_FRAME, frame::receive(&mut stream)) => Some(json.ok().flatten()),
            _ = asked_to_end => None,
        };
        self.with(|idle| idle.remove(&number));
        let Some(json) = json else {
            // The caller may have disconnected. The socket buffer has room for these few bytes.
            let _ = stream.try_write(busy);
            return None;
        };
        let json = json?;
        let secret = timeout(PATIENCE, frame::receive(&mut stream)).await.ok()??;
        Some(ControlCall { stream, json, secret })
    }
}

/// A call that was received, and its connection.
#[allow(missing_debug_implementations, reason = "it holds what may be secret")]
pub struct ControlCall {
    stream: UnixStream,
    json: Zeroizing<Vec<u8>>,
    /// The secret that was sent with the JSON, such as a passphrase. Empty if there is none.
    pub secret: Zeroizing<Vec<u8>>,
}

impl ControlCall {
    /// Parses the JSON of the call as a `T`.
    ///
    /// # Errors
    /// [`ControlFrameError::Json`] if the JSON is not a `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, ControlFrameError> {
        Ok(serde_json::from_slice(&self.json)?)
    }

    /// Sends a reply. The caller has 10 seconds to read it.
    ///
    /// # Errors
    /// [`ControlFrameError`] if the reply is too long, or is not sent in time. The connection
    /// cannot be used afterwards.
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
    /// [`ControlFrameError`] if the reply is too long or cannot be sent. The connection cannot be
    /// used afterwards.
    pub async fn reply_at_leisure(
        &mut self,
        json: &impl Serialize,
        secret: &[u8],
    ) -> Result<(), ControlFrameError> {
        Ok(self.stream.write_all(&frame::to_bytes(json, secret)?).await?)
    }

    /// Waits until the caller disconnects, or sends anything after its call. The future may be
    /// dropped while it waits.
    pub async fn closed(&mut self) {
        let _ = self.stream.read(&mut [0]).await;
    }

    /// Waits for the result of `work` while the caller is connected. If the caller disconnects,
    /// this drops `work` and returns `None`.
    pub async fn until_closed<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.closed() => None,
        }
    }
}
