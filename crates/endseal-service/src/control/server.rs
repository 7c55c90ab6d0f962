//! The service's end of the socket.

#[cfg(test)]
mod tests;

use core::future::Future;
use core::time::Duration;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::UnixListener;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::idle::{Accepted, Idle};
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
    /// cannot be created, and [`io::ErrorKind::AlreadyExists`] if there is no socket but a file.
    ///
    /// # Panics
    /// Panics outside a tokio runtime with I/O enabled.
    pub fn bind(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => fs::remove_file(path)?,
            Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// Runs `handle` for each connection, at most 16 at the same time, in tasks of the runtime,
    /// until the returned future is dropped. Further connections wait until another one ends. If
    /// none does, the connection that has been silent for the longest time, since it was made or
    /// since its last line, receives the line `busy` and is closed.
    pub async fn serve<F: Future<Output = ()> + Send + 'static>(
        &self,
        busy: &[u8],
        handle: impl Fn(ControlLines) -> F,
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
            let handled = handle(ControlLines::of(Accepted { stream, silent, idle, busy }));
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
