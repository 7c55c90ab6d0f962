//! The side of the process that listens.

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

/// Number of calls that are served at the same time.
const CONNECTIONS: usize = 16;
/// Time that a connection has for its JSON at least, if others wait for its place.
const GRACE: Duration = Duration::from_millis(100);
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
    /// Makes the socket, and replaces one that a killed process left behind. The caller MUST hold a
    /// lock that only one process can hold at a time; otherwise it removes the socket of another
    /// process. The directory MUST have mode 0700: it keeps others out until the mode of the socket
    /// is set.
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
    /// Connections beyond wait until one ends. If none does, the one that has sent no call for
    /// longest gets `busy` instead of a reply, and ends.
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
            // Mode and directory keep others out; this does if they were changed.
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
    /// Removes the socket. One that stays is replaced by the next process.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Connections that have not sent the JSON of their call yet, in the order of their arrival.
#[derive(Default)]
struct Idle(Mutex<BTreeMap<u64, Connected>>);

/// A connection that has sent nothing.
struct Connected {
    since: Instant,
    /// The connection ends when this is dropped.
    _end: oneshot::Sender<Infallible>,
}

impl Idle {
    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<u64, Connected>) -> T) -> T {
        // Each change is whole.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a connection. The returned receiver completes when the connection must end.
    fn add(&self, number: u64) -> oneshot::Receiver<Infallible> {
        let (end, asked_to_end) = oneshot::channel();
        let connected = Connected { since: Instant::now(), _end: end };
        self.with(|idle| idle.insert(number, connected));
        asked_to_end
    }

    /// Waits for a permit. Connections that say nothing keep no call out, and have their time.
    async fn permit(&self, free: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        loop {
            let first = self.with(|idle| idle.first_key_value().map(|(_, first)| first.since));
            let permit = Arc::clone(free).acquire_owned();
            let Some(since) = first else { return permit.await.ok() };
            match timeout_at(since + GRACE, permit).await {
                Ok(permit) => return permit.ok(),
                // The one that came first ends, unless its call has just arrived.
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
            // The caller may be gone, and these bytes are fewer than the socket takes at once.
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
    /// The secret that came beside the JSON, such as a passphrase; empty if there is none.
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

    /// Waits until the caller has disconnected, or sends more than a call. May be dropped while it
    /// waits.
    pub async fn closed(&mut self) {
        let _ = self.stream.read(&mut [0]).await;
    }

    /// Waits for the result of `work`, as long as the caller is connected. Returns `None` if the
    /// caller disconnected; `work` was dropped then.
    pub async fn until_closed<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.closed() => None,
        }
    }
}
