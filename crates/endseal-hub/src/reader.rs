//! The thread that reads mailboxes while the writer works.

use std::thread;

use tokio::sync::{mpsc, oneshot};

use crate::error::ServeError;
use crate::store::{Delivery, DeviceRow, HubReader, StorageError, StoreState};

/// Maximum number of requests that wait for the reader.
const WAITING: usize = 1_024;

/// A request to the reader.
pub(crate) enum Read {
    Frames(Fetch),
    State(oneshot::Sender<Result<StoreState, StorageError>>),
}

/// A request for frames of a mailbox.
pub(crate) struct Fetch {
    pub(crate) device: DeviceRow,
    pub(crate) after: u64,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) answer: oneshot::Sender<Result<Vec<Delivery>, StorageError>>,
}

/// Starts the reader. It ends when all senders of requests have been dropped.
pub(crate) fn start(mut reader: Box<dyn HubReader>) -> Result<mpsc::Sender<Read>, ServeError> {
    let (sender, mut receiver) = mpsc::channel(WAITING);
    let thread = thread::Builder::new().name("hub-reader".to_owned());
    let read = move || {
        while let Some(work) = receiver.blocking_recv() {
            // The connection may have ended; its answer is discarded then.
            match work {
                Read::Frames(Fetch { device, after, frames, bytes, answer }) => {
                    drop(answer.send(reader.deliveries(device, after, frames, bytes)));
                }
                Read::State(answer) => drop(answer.send(reader.state())),
            }
        }
    };
    thread.spawn(read).map_err(ServeError::Thread)?;
    Ok(sender)
}
