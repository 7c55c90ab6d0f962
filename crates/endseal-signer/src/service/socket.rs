//! The socket for commands, from the signer's side.

#[cfg(test)]
mod tests;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::time::Duration;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use endseal_crypto::secret::Zeroizing;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::handle::Handle;
use crate::control::{self, CommandError, MAX_FRAME, Reply, SOCKET};

/// Commands at once.
const CONNECTIONS: usize = 16;
/// Longest time until a connection has sent its command.
const FIRST_FRAME: Duration = Duration::from_secs(1);
/// Longest time for its secret, and for the reply.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes the socket. One that is there was left behind: the store has one holder at a time.
pub(super) fn listen(directory: &Path) -> io::Result<UnixListener> {
    let path = directory.join(SOCKET);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // The directory has mode 0700: none but its owner reaches the socket before its mode is set.
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Removes the socket. One that stays is replaced by the next signer.
pub(super) fn remove(directory: &Path) {
    let _ = fs::remove_file(directory.join(SOCKET));
}

/// Connections that have not sent their request yet, in the order of their arrival.
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

/// Serves commands until it is dropped.
pub(super) async fn serve(listener: UnixListener, handle: Handle) {
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    let idle = Arc::new(Idle::default());
    let own = fs::metadata("/proc/self").map(|it| it.uid()).ok();
    for number in 0_u64.. {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(Duration::from_millis(20)).await;
            continue;
        };
        let peer = stream.peer_cred().map(|it| it.uid()).ok();
        // Mode and directory keep others out; this does if they were changed.
        if own.is_some_and(|own| peer != Some(own)) {
            continue;
        }
        if free.available_permits() == 0 {
            // Connections that say nothing keep no command out.
            idle.close_first();
        }
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
        let (handle, others) = (handle.clone(), Arc::clone(&idle));
        idle.with(|idle| {
            let task = tokio::spawn(async move {
                let request = timeout(FIRST_FRAME + PATIENCE, read(stream)).await.ok().flatten();
                others.with(|idle| idle.remove(&number));
                if let Some((stream, json, secret)) = request {
                    // The caller sees a connection that ends.
                    let _ = answer(stream, &json, secret, &handle).await;
                }
                drop(permit);
            });
            idle.insert(number, task.abort_handle());
        });
    }
}

type Secret = Zeroizing<Vec<u8>>;

/// Reads a request: its JSON and its secret.
async fn read(mut stream: UnixStream) -> Option<(UnixStream, Secret, Secret)> {
    let json = timeout(FIRST_FRAME, part(&mut stream)).await.ok()??;
    let secret = part(&mut stream).await?;
    Some((stream, json, secret))
}

async fn answer(
    mut stream: UnixStream,
    json: &[u8],
    secret: Secret,
    handle: &Handle,
) -> Option<()> {
    let reply: Result<Reply, CommandError> = match serde_json::from_slice(json) {
        Ok(command) => handle.request(control::Request { command, secret }).await,
        Err(error) => Err(CommandError::Invalid(error.to_string())),
    };
    let bytes = control::to_bytes(&reply, &[]).ok()?;
    timeout(PATIENCE, stream.write_all(&bytes)).await.ok()?.ok()
}

async fn part(stream: &mut UnixStream) -> Option<Zeroizing<Vec<u8>>> {
    let len = usize::try_from(stream.read_u32_le().await.ok()?).ok()?;
    if len > MAX_FRAME {
        return None;
    }
    let mut bytes = Zeroizing::new(vec![0; len]);
    stream.read_exact(&mut bytes).await.ok()?;
    Some(bytes)
}
