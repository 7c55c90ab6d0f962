//! Connections between requests: how many there are, and which are kept.

use alloc::collections::VecDeque;
use alloc::sync::{Arc, Weak};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout};

use super::connection::{Connection, here};
use super::error::ClientError;
use super::limits::Limits;

pub(super) struct Pool {
    limits: Limits,
    /// One for each connection that is in use. A request takes a kept connection before it opens
    /// one, so that there are never more connections than permits, kept ones included.
    permits: Arc<Semaphore>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// In the order in which they became idle.
    connections: VecDeque<(Box<Connection>, Instant)>,
    swept: bool,
}

impl Pool {
    pub(super) fn new(limits: Limits) -> Arc<Self> {
        let connections = limits.connections.clamp(1, Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(connections));
        Arc::new(Self { limits, permits, kept: Mutex::default() })
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The right to one connection.
    pub(super) async fn permit(&self) -> Result<OwnedSemaphorePermit, ClientError> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let permit = timeout(self.limits.queue, Arc::clone(&self.permits).acquire_owned()).await;
        // The semaphore is never closed.
        permit.ok().and_then(Result::ok).ok_or(ClientError::Busy)
    }

    /// The connection of this runtime that was used last and is still good. The caller MUST have a
    /// permit.
    ///
    /// Another runtime's connection is not taken: each piece that is read would have its thread
    /// wake this one. One is closed if there are too many otherwise.
    pub(super) fn take(&self) -> Option<Box<Connection>> {
        let here = here();
        loop {
            let (mut connection, since) = {
                let kept = &mut self.lock().connections;
                let own = kept.iter().rposition(|(connection, _)| connection.home() == here);
                let Some(own) = own else {
                    if self.used() + kept.len() > self.limits.connections.max(1) {
                        kept.pop_front();
                    }
                    return None;
                };
                kept.remove(own)?
            };
            if since.elapsed() < self.limits.kept_for && connection.is_idle() {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection that is idle, if there is room.
    pub(super) fn put(self: &Arc<Self>, connection: Box<Connection>) {
        let mut kept = self.lock();
        if kept.connections.len() >= self.limits.kept {
            return;
        }
        kept.connections.push_back((connection, Instant::now()));
        if !kept.swept
            && let Ok(runtime) = Handle::try_current()
        {
            kept.swept = true;
            runtime.spawn(sweep(Arc::downgrade(self), self.limits.kept_for));
        }
    }

    pub(super) fn kept(&self) -> usize {
        self.lock().connections.len()
    }

    /// Connections in use.
    pub(super) fn used(&self) -> usize {
        let all = self.limits.connections.clamp(1, Semaphore::MAX_PERMITS);
        all.saturating_sub(self.permits.available_permits())
    }

    /// Closes what was kept for too long. False when nothing is left.
    fn drop_old(&self) -> bool {
        let mut kept = self.lock();
        let old = |(_, since): &(Box<Connection>, Instant)| since.elapsed() >= self.limits.kept_for;
        while kept.connections.front().is_some_and(old) {
            kept.connections.pop_front();
        }
        kept.swept = !kept.connections.is_empty();
        kept.swept
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Nothing that can panic happens between two consistent states.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs while there are kept connections, so that they are closed in time when requests stay away.
async fn sweep(pool: Weak<Pool>, kept_for: Duration) {
    loop {
        sleep((kept_for / 2).max(Duration::from_millis(10))).await;
        if !pool.upgrade().is_some_and(|pool| pool.drop_old()) {
            return;
        }
    }
}
