//! The service's end of the socket.

#[cfg(test)]
mod tests;

use core::future::Future;
use core::time::Duration;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use endseal_crypto::secret::Zeroizing;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::frame::{self, ControlFrameError};
use super::idle::{Accepted, FIRST_FRAME, Idle, PATIENCE};
use super::lines::ControlLines;

/// Maximum number of calls that are served at the same time.
const CONNECTIONS: usize = 16;

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
        let busy = frame::to_bytes(busy, &[]).unwrap_or_default();
        let handle = move |accepted: Accepted| {
            let handle = handle.clone();
            async move {
                if let Some(call) = receive(accepted).await {
                    handle(call).await;
                }
            }
        };
        self.accept(&busy, handle).await;
    }

    /// Like [`Self::serve`], with lines in place of calls. A connection that has sent no byte since
    /// it was made, or since its last line, may receive `busy`, which is a line with its end.
    pub async fn serve_lines<F: Future<Output = ()> + Send + 'static>(
        &self,
        busy: &[u8],
        handle: impl Fn(ControlLines) -> F + Clone + Send + 'static,
    ) {
        self.accept(busy, move |accepted| handle(ControlLines::of(accepted))).await;
    }

    async fn accept<F: Future<Output = ()> + Send + 'static>(
        &self,
        busy: &[u8],
        handle: impl Fn(Accepted) -> F,
    ) {
        let free = Arc::new(Semaphore::new(CONNECTIONS));
        let idle = Arc::new(Idle::default());
        let busy: Arc<[u8]> = busy.into();
        let own = fs::metadata("/proc/self").map(|it| it.uid()).ok();
        loop {
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
            let silent = idle.add();
            let (idle, busy) = (Arc::clone(&idle), Arc::clone(&busy));
            let handled = handle(Accepted { stream, silent, idle, busy });
            tokio::spawn(async move {
                handled.await;
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

/// Reads the call of a connection. A connection that is ended before its JSON has arrived gets
/// `busy`: no part of its call was executed.
async fn receive(Accepted { mut stream, silent, idle, busy }: Accepted) -> Option<ControlCall> {
    let Some(json) = idle.first(silent, FIRST_FRAME, frame::receive(&mut stream)).await else {
        // The caller may have disconnected. The socket buffer has room for these few bytes.
        let _ = stream.try_write(&busy);
        return None;
    };
    let json = json?;
    let secret = timeout(PATIENCE, frame::receive(&mut stream)).await.ok()??;
    Some(ControlCall { stream, json, secret })
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
