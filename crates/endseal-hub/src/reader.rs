//! The thread that reads mailboxes beside the writer.

use std::thread;

use tokio::sync::{mpsc, oneshot};

use crate::error::ServeError;
use crate::store::{Delivery, DeviceRow, HubReader, StorageError};

/// Requests that wait.
const WAITING: usize = 1_024;

/// Frames of a mailbox that are asked for.
pub(crate) struct Fetch {
    pub(crate) device: DeviceRow,
    pub(crate) after: u64,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) answer: oneshot::Sender<Result<Vec<Delivery>, StorageError>>,
}

/// Starts the reader. It ends when all senders of requests are gone.
pub(crate) fn start(mut reader: Box<dyn HubReader>) -> Result<mpsc::Sender<Fetch>, ServeError> {
    let (sender, mut receiver) = mpsc::channel::<Fetch>(WAITING);
    let thread = thread::Builder::new().name("hub-reader".to_owned());
    let read = move || {
        while let Some(fetch) = receiver.blocking_recv() {
            let Fetch { device, after, frames, bytes, answer } = fetch;
            // The connection may be gone.
            drop(answer.send(reader.deliveries(device, after, frames, bytes)));
        }
    };
    thread.spawn(read).map_err(ServeError::Thread)?;
    Ok(sender)
}
