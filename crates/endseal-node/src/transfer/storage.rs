//! Writes a file in a thread, while other transfers wait for the network.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::name::FileName;
use crate::atomic::{AtomicFile, Existing, Readers};
use crate::error::FileError;

/// Limit on the pieces that were received and not written.
const BEHIND: usize = 16;
/// Limit on the bytes in the system's cache that are not on the disk. The system itself allows
/// gigabytes, and a slow disk would delay the last answer beyond the sender's stall timeout.
const UNSYNCED: usize = 64 << 20;

/// A file under construction, and the thread that writes it. If it is dropped before
/// [`commit`](Self::commit), nothing of it remains.
pub(super) struct Storage {
    path: PathBuf,
    pieces: mpsc::Sender<Bytes>,
    written: JoinHandle<Result<AtomicFile, FileError>>,
}

impl Storage {
    /// Creates a file that must not replace an existing one.
    pub(super) async fn create(folder: &Path, name: &FileName) -> Result<Self, FileError> {
        let path = folder.join(name.as_str());
        let (pieces, mut coming) = mpsc::channel::<Bytes>(BEHIND);
        let destination = path.clone();
        let started =
            blocking(move || AtomicFile::create(&destination, Existing::Keep, Readers::Umask));
        let mut file = started.await?;
        let destination = path.clone();
        let written = spawn_blocking(move || {
            let mut unsynced = 0;
            while let Some(piece) = coming.blocking_recv() {
                let written = file.write_all(&piece);
                written.map_err(|source| FileError::io("write", &destination, source))?;
                unsynced += piece.len();
                if unsynced >= UNSYNCED {
                    file.sync()?;
                    unsynced = 0;
                }
            }
            Ok(file)
        });
        Ok(Self { path, pieces, written })
    }

    /// Queues a piece. Waits while too many pieces are not written.
    pub(super) async fn write(&mut self, piece: Bytes) -> Result<(), FileError> {
        if self.pieces.send(piece).await.is_ok() {
            return Ok(());
        }
        // The thread ends early only after a failure.
        match join((&mut self.written).await) {
            Err(error) => Err(error),
            Ok(_) => Err(FileError::io("write", &self.path, std::io::ErrorKind::Other.into())),
        }
    }

    /// Writes everything to stable storage and names the file durably. Returns its path.
    pub(super) async fn commit(self) -> Result<PathBuf, FileError> {
        drop(self.pieces);
        let file = join(self.written.await)?;
        blocking(move || file.commit_durably()).await?;
        Ok(self.path)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, FileError> {
    join(spawn_blocking(work).await)
}

/// Returns the result of a thread, and continues its panic. Such a thread is never cancelled.
fn join<T>(ended: Result<T, tokio::task::JoinError>) -> T {
    ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}
