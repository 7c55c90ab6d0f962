//! Pool of connections: limits their number and keeps idle ones.

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
    /// One permit for each connection in use. A request prefers a kept connection to a new one, so
    /// the number of connections, including kept ones, never exceeds the number of permits.
    permits: Arc<Semaphore>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Kept connections in the order in which they became idle.
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

    /// Waits for the permission to use one connection.
    pub(super) async fn permit(&self) -> Result<OwnedSemaphorePermit, ClientError> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let permit = timeout(self.limits.queue, Arc::clone(&self.permits).acquire_owned()).await;
        // The semaphore is never closed.
        permit.ok().and_then(Result::ok).ok_or(ClientError::Busy)
    }

    /// Takes the most recently used connection of this runtime that can still be used. The caller
    /// MUST have a permit.
    ///
    /// A connection of another runtime is not taken, because each read would have to wake this
    /// thread from another one. If there would be too many connections otherwise, the oldest is
    /// closed.
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

    /// Keeps an idle connection unless the pool is full.
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

    /// Returns the number of connections in use.
    pub(super) fn used(&self) -> usize {
        let all = self.limits.connections.clamp(1, Semaphore::MAX_PERMITS);
        all.saturating_sub(self.permits.available_permits())
    }

    /// Closes the connections that were kept for too long. Returns false when none is left.
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
        // No code that holds the lock can leave an inconsistent state, so a poisoned lock is safe
        // to use.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Task that closes kept connections in time. It ends when there are none.
async fn sweep(pool: Weak<Pool>, kept_for: Duration) {
    loop {
        sleep((kept_for / 2).max(Duration::from_millis(10))).await;
        if !pool.upgrade().is_some_and(|pool| pool.drop_old()) {
            return;
        }
    }
}
