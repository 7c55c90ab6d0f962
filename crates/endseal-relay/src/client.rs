//! A connection to one relay, kept alive by a task.
//!
//! [`Relay::start`] spawns the task. It connects, subscribes, and does so again after each loss of
//! the connection, with a back-off. [`Notification`]s arrive in a channel of the caller, which can
//! serve several relays. If it is full, the task reads no more until there is space: the relay
//! waits, and memory is bounded.
//!
//! Events arrive unverified, and more than once: the caller MUST verify them and SHOULD remember
//! their ids. No call here waits for a relay.

mod backoff;
mod information;
mod notification;
mod outbox;
mod session;
mod settings;
mod shared;
mod task;

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub use notification::{Disconnect, Notification};
pub use settings::{Limits, Settings, Timing};

use self::shared::Shared;
use crate::auth::SignedEvent;
use crate::message::Filter;

/// Most challenges of a relay on one connection that reach the caller.
pub const MAX_CHALLENGES: u32 = 8;

/// A message of this length or more is suspected if the connection ends shortly after it.
pub const LARGE: usize = 16 * 1024;

/// Handle of a task that keeps a connection to a relay. Dropped, it ends the task at once.
pub struct Relay {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Relay {
    /// Spawns the task on the current runtime. Each notification carries `number`, by which the
    /// caller tells relays apart.
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    #[must_use]
    pub fn start(
        settings: Settings,
        number: usize,
        notifications: mpsc::Sender<(usize, Notification)>,
    ) -> Self {
        let shared = Arc::new(Shared::new(&settings.limits));
        let task = tokio::spawn(task::run(settings, number, Arc::clone(&shared), notifications));
        Self { shared, task }
    }

    /// Replaces the subscription; `None` ends it. The earlier one stays until the relay has
    /// confirmed the new one. The filter's `since` counts for the first request alone: later ones
    /// ask for events since the last frame, less [`Timing::overlap`].
    ///
    /// Returns the number that [`Notification::Subscribed`] has for it, after each connection.
    pub fn subscribe(&self, filter: Option<Filter>) -> u64 {
        self.shared.subscribe(filter)
    }

    /// Queues an event. Returns the ids of events that were dropped to make space, the oldest
    /// first; the event itself is among them if it exceeds the limits alone.
    ///
    /// Its fate arrives as [`Notification::Result`], from relays that report one, or as
    /// [`Notification::Unsent`].
    #[must_use]
    pub fn publish(&self, event: &SignedEvent) -> Vec<[u8; 32]> {
        self.shared.publish(event)
    }

    /// Answers a challenge, with an event for each key. It is ignored if the connection has
    /// another challenge by now.
    pub fn authenticate(&self, challenge: &str, events: Vec<SignedEvent>) {
        self.shared.authenticate(challenge, events);
    }

    /// `max_message_length` of the relay's information document (NIP-11), once it is known.
    #[must_use]
    pub fn max_message_length(&self) -> Option<u64> {
        self.shared.max_message_length()
    }

    /// Sends the queued events, for `grace` at most, and ends the connection.
    pub async fn stop(mut self, grace: Duration) {
        self.shared.stop();
        if timeout(grace, &mut self.task).await.is_err() {
            tracing::debug!("a relay was stopped before all events were sent");
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").finish_non_exhaustive()
    }
}
