//! From a body to a file.

use core::future::poll_fn;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::content::{Content, Step};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::data::Draft;
use crate::fault::disk;
use crate::store::Store;
use crate::upload::Upload;

/// Bytes that are written at once. Twice as many are held: while some are written, others come.
const BATCH: usize = 1 << 20;

/// Runs a job that blocks, on a thread for such jobs.
///
/// # Errors
/// Those of `job`.
pub(crate) async fn blocking<T: Send + 'static>(
    store: &Arc<Store>,
    job: impl FnOnce(&Store) -> Result<T, S3Error> + Send + 'static,
) -> Result<T, S3Error> {
    let store = Arc::clone(store);
    spawn_blocking(move || job(&store)).await.map_err(|_| S3Error::internal())?
}

/// Writes content into a file and forces it to the disk. The file is removed if its draft is
/// dropped, so a client that disconnects leaves nothing behind.
///
/// # Errors
/// If the content is not what its request says.
pub(crate) async fn receive(
    store: &Arc<Store>,
    mut content: Content<Upload>,
) -> Result<Draft, S3Error> {
    let draft = blocking(store, Store::draft).await?;
    let mut writing = Writing::Idle(draft);
    let (mut batch, mut len) = (Vec::new(), 0);
    while let Step::Piece(piece) = poll_fn(|cx| content.poll_step(cx)).await? {
        len += piece.len();
        batch.push(piece);
        if len >= BATCH {
            writing = writing.write(core::mem::take(&mut batch)).await?;
            len = 0;
        }
    }
    let draft = writing.write(batch).await?.idle().await?;
    finish(draft).await
}

async fn finish(mut draft: Draft) -> Result<Draft, S3Error> {
    let job = spawn_blocking(move || draft.finish().map(|()| draft));
    done(job).await
}

async fn done(job: JoinHandle<io::Result<Draft>>) -> Result<Draft, S3Error> {
    job.await.map_err(|_| S3Error::internal())?.map_err(|error| disk(&error))
}

enum Writing {
    Idle(Draft),
    Busy(JoinHandle<io::Result<Draft>>),
}

impl Writing {
    /// Waits for the pieces that are being written, and returns the file.
    async fn idle(self) -> Result<Draft, S3Error> {
        match self {
            Self::Idle(draft) => Ok(draft),
            Self::Busy(job) => done(job).await,
        }
    }

    /// Waits for the pieces that are being written, then starts to write the next ones.
    async fn write(self, pieces: Vec<Bytes>) -> Result<Self, S3Error> {
        let mut draft = self.idle().await?;
        Ok(Self::Busy(spawn_blocking(move || draft.write(&pieces).map(|()| draft))))
    }
}
