//! Connections that wait without sending anything, and make room for others.

use core::convert::Infallible;
use core::future::Future;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::UnixStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

/// Minimum time that a connection may be silent when others wait for a permit.
pub(super) const GRACE: Duration = Duration::from_millis(100);
/// Maximum time until a connection has sent its JSON, or the first byte of its first line.
pub(super) const FIRST_BYTE: Duration = Duration::from_secs(1);
/// Maximum time for receiving the secret or the rest of a line, and for sending the reply.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// A connection that was accepted, and has not sent anything yet.
pub(super) struct Accepted {
    pub(super) stream: UnixStream,
    pub(super) silent: Silent,
    pub(super) idle: Arc<Idle>,
    /// Bytes for a connection that has to make room.
    pub(super) busy: Arc<[u8]>,
}

/// The connections that wait without having sent anything, in the order in which they started to
/// wait.
#[derive(Default)]
pub(super) struct Idle {
    silent: Mutex<(u64, BTreeMap<u64, Connected>)>,
    /// Notified when a connection is added.
    added: Notify,
}

/// A connection that has not sent anything.
struct Connected {
    since: Instant,
    /// Dropping this makes the connection end.
    _end: oneshot::Sender<Infallible>,
}

/// A connection among the [`Idle`] ones: its number, and a receiver that completes when it must
/// end.
pub(super) struct Silent(u64, oneshot::Receiver<Infallible>);

impl Idle {
    fn with<T>(&self, work: impl FnOnce(&mut (u64, BTreeMap<u64, Connected>)) -> T) -> T {
        // A poisoned lock is safe to use: no change leaves the map half updated.
        work(&mut self.silent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a connection.
    pub(super) fn add(&self) -> Silent {
        let (end, asked_to_end) = oneshot::channel();
        let connected = Connected { since: Instant::now(), _end: end };
        let number = self.with(|(last, silent)| {
            *last += 1;
            silent.insert(*last, connected);
            *last
        });
        self.added.notify_one();
        Silent(number, asked_to_end)
    }

    /// Waits for a permit. Connections that send nothing cannot block other calls for long, but
    /// each has at least [`GRACE`] to send its call.
    pub(super) async fn permit(&self, free: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        loop {
            let first = self.with(|(_, silent)| silent.first_key_value().map(|it| it.1.since));
            let permit = Arc::clone(free).acquire_owned();
            let Some(since) = first else {
                tokio::select! {
                    biased;
                    permit = permit => return permit.ok(),
                    () = self.added.notified() => continue,
                }
            };
            match timeout_at(since + GRACE, permit).await {
                Ok(permit) => return permit.ok(),
                // The oldest connection ends, unless its call has just arrived.
                Err(_) => {
                    drop(self.with(|(_, silent)| silent.pop_first()));
                    let permit = Arc::clone(free).acquire_owned();
                    if let Ok(permit) = timeout(GRACE, permit).await {
                        return permit.ok();
                    }
                }
            }
        }
    }

    /// Waits for the result of `read`, which is `None` after the time `limit`. Returns `None` if
    /// the connection must end.
    pub(super) async fn first<T>(
        &self,
        Silent(number, asked_to_end): Silent,
        limit: Duration,
        read: impl Future<Output = Option<T>>,
    ) -> Option<Option<T>> {
        let read = tokio::select! {
            biased;
            read = timeout(limit, read) => Some(read.ok().flatten()),
            _ = asked_to_end => None,
        };
        self.with(|(_, silent)| silent.remove(&number));
        read
    }
}
