//! The socket for commands, from the signer's side.

use alloc::sync::Arc;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use core::time::Duration;

use endseal_crypto::secret::Zeroizing;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::handle::Handle;
use crate::control::{self, CommandError, MAX_FRAME, Reply, SOCKET};

/// Commands at once.
const CONNECTIONS: usize = 16;
/// Longest time of a request on the socket.
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

/// Serves commands until it is dropped.
pub(super) async fn serve(listener: UnixListener, handle: Handle) {
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    let own = fs::metadata("/proc/self").map(|it| it.uid()).ok();
    loop {
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            sleep(Duration::from_millis(20)).await;
            continue;
        };
        let peer = stream.peer_cred().map(|it| it.uid()).ok();
        // Mode and directory keep others out; this does if they were changed.
        if own.is_some_and(|own| peer != Some(own)) {
            continue;
        }
        let handle = handle.clone();
        tokio::spawn(async move {
            // The caller sees a connection that ends.
            let _ = answer(stream, &handle).await;
            drop(permit);
        });
    }
}

async fn answer(mut stream: UnixStream, handle: &Handle) -> Option<()> {
    let reading = async {
        let json = part(&mut stream).await?;
        Some((json, part(&mut stream).await?))
    };
    let (json, secret) = timeout(PATIENCE, reading).await.ok()??;
    let reply: Result<Reply, CommandError> = match serde_json::from_slice(&json) {
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
