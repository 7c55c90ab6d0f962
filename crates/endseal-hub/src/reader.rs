//! The threads that read while the writer works: one reads mailboxes, the other one what takes
//! longer.

use std::thread;

use endseal_crypto::peer_id::PeerId;
use tokio::sync::{mpsc, oneshot};

use crate::command::Command;
use crate::directory::Directory;
use crate::error::ServeError;
use crate::store::{Delivery, DeviceRow, HubReader, StorageError, StoreState};

/// Maximum number of requests that wait for the reader.
const WAITING: usize = 1_024;

/// Devices that are looked up at a time.
const DEVICES: usize = 1_000;

/// The readers of a hub.
#[derive(Clone)]
pub(crate) struct Readers {
    /// For what a connection waits for.
    pub(crate) mailboxes: mpsc::Sender<Read>,
    /// For what reads whole tables.
    pub(crate) surveys: mpsc::Sender<Read>,
}

/// A request to a reader.
pub(crate) enum Read {
    Frames(Fetch),
    /// Read the registration of a peer into the directory.
    Device(PeerId, oneshot::Sender<Result<(), StorageError>>),
    /// Read the registrations of all connected peers into the directory.
    Refresh,
    /// Read what waits of each person, and send it to the writer.
    Totals(mpsc::WeakSender<Command>),
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
pub(crate) fn start(
    mut reader: Box<dyn HubReader>,
    directory: Directory,
) -> Result<mpsc::Sender<Read>, ServeError> {
    let (sender, mut receiver) = mpsc::channel(WAITING);
    let thread = thread::Builder::new().name("hub-reader".to_owned());
    let read = move || {
        while let Some(work) = receiver.blocking_recv() {
            // The connection may have ended; its answer is discarded then.
            match work {
                Read::Frames(Fetch { device, after, frames, bytes, answer }) => {
                    drop(answer.send(reader.deliveries(device, after, frames, bytes)));
                }
                Read::Device(peer, answer) => {
                    drop(answer.send(look_up(&mut *reader, &directory, &[peer])));
                }
                Read::Refresh => {
                    for peers in directory.peers().chunks(DEVICES) {
                        if let Err(cause) = look_up(&mut *reader, &directory, peers) {
                            tracing::warn!(target: "hub", %cause, "devices cannot be read");
                            break;
                        }
                    }
                }
                Read::Totals(writer) => match reader.totals() {
                    Ok(totals) => {
                        if let Some(writer) = writer.upgrade() {
                            drop(writer.blocking_send(Command::Totals(totals)));
                        }
                    }
                    Err(cause) => {
                        tracing::warn!(target: "hub", %cause, "what waits cannot be counted");
                    }
                },
                Read::State(answer) => drop(answer.send(reader.state())),
            }
        }
    };
    thread.spawn(read).map_err(ServeError::Thread)?;
    Ok(sender)
}

fn look_up(
    reader: &mut dyn HubReader,
    directory: &Directory,
    peers: &[PeerId],
) -> Result<(), StorageError> {
    reader.devices(peers)?.iter().for_each(|state| directory.set(state));
    Ok(())
}
