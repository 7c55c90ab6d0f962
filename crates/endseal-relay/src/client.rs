//! A connection to one relay, kept alive by a task.
//!
//! [`Relay::start`] spawns the task. The task connects and subscribes, and after each loss of the
//! connection does so again, with a back-off. [`Notification`]s arrive in a channel that the caller
//! provides, which can serve several relays. While the channel is full, the task reads nothing from
//! the relay. This bounds the memory.
//!
//! Events arrive unverified, and may arrive more than once: the caller MUST verify them and SHOULD
//! remember their ids. No call of this module waits for a relay.

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

/// Maximum number of challenges per connection that are passed to the caller.
pub const MAX_CHALLENGES: u32 = 8;

/// If a connection ends shortly after a message of at least this length, the message is suspected
/// to be the cause.
pub const LARGE: usize = 16 * 1024;

/// A handle to a task that keeps a connection to a relay. Dropping it ends the task at once.
pub struct Relay {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Relay {
    /// Spawns the task on the current runtime. Each notification carries `number`, so that the
    /// caller can tell relays apart.
    ///
    /// # Panics
    /// Panics outside a tokio runtime.
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

    /// Replaces the subscription; `None` ends it. The earlier subscription stays until the relay
    /// has confirmed the new one. The `since` of the filter applies only to the first request.
    /// Later requests ask for events since the last frame, minus [`Timing::overlap`].
    ///
    /// Returns the number that [`Notification::Subscribed`] carries for this subscription, after
    /// each connection.
    pub fn subscribe(&self, filter: Option<Filter>) -> u64 {
        self.shared.subscribe(filter)
    }

    /// Queues an event. Returns the ids of the events that were dropped to make space, oldest
    /// first. They include the event itself if it exceeds the limits on its own.
    ///
    /// If the connection ends before the relay reported on the event, the event is sent again on
    /// the next one, so a relay may get it twice. The result arrives as [`Notification::Result`],
    /// from relays that report one, or as [`Notification::Unsent`].
    #[must_use]
    pub fn publish(&self, event: &SignedEvent) -> Vec<[u8; 32]> {
        self.shared.publish(event)
    }

    /// Answers a challenge with one event for each key. The answer is ignored if the connection has
    /// a different challenge by now.
    pub fn authenticate(&self, challenge: &str, events: Vec<SignedEvent>) {
        self.shared.authenticate(challenge, events);
    }

    /// Returns `max_message_length` from the relay's information document (NIP-11), once it is
    /// known.
    #[must_use]
    pub fn max_message_length(&self) -> Option<u64> {
        self.shared.max_message_length()
    }

    /// Sends the queued events, for at most `grace`, and ends the connection.
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
