//! How long hyper waits for the head of a request.

use alloc::sync::Arc;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use hyper::rt::{Sleep, Timer};

use crate::client::Alarm;
use crate::workers::{Moves, Seat};

/// The timer of one connection, which waits for one head at a time.
///
/// hyper makes a new one for each head. These share an alarm, of which the last one that was asked for counts.
#[derive(Clone, Default)]
pub(crate) struct HeadTimer(Arc<Mutex<Shared>>);

#[derive(Default)]
struct Shared {
    alarm: Alarm,
    /// It rings in the runtime in which it was set, and that one may end before.
    moves: Moves,
}

/// The wait for one head.
struct Head {
    shared: Arc<Mutex<Shared>>,
    deadline: Instant,
}

impl HeadTimer {
    /// Of a connection with this seat, if it has one.
    pub(crate) fn new(seat: Option<Seat>) -> Self {
        Self(Arc::new(Mutex::new(Shared { alarm: Alarm::default(), moves: Moves::new(seat) })))
    }
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Head { shared: Arc::clone(&self.0), deadline })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

impl Future for Head {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // An alarm is whole whatever happened to who had the lock.
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.moves.notice() {
            shared.alarm = Alarm::default();
        }
        shared.alarm.poll(cx, self.deadline.into())
    }
}

impl Sleep for Head {}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;
    use crate::workers::tests::seat;

    #[test]
    fn it_rings_where_its_connection_went_when_the_old_runtime_has_ended() {
        let runtime = || Builder::new_current_thread().enable_time().build().unwrap();
        let (before, after) = (runtime(), runtime());
        let (seat, goes) = seat();
        let timer = HeadTimer::new(Some(seat));
        let mut head = timer.sleep(Duration::from_millis(50));
        let waited = before.block_on(async {
            tokio::time::timeout(Duration::from_millis(1), head.as_mut()).await
        });
        assert!(waited.is_err());
        drop(before);
        goes();
        after.block_on(head);
    }

    #[tokio::test(start_paused = true)]
    async fn each_wait_has_its_own_end() {
        let timer = HeadTimer::default();
        let seconds = Duration::from_secs;
        for (waited, limit) in [(10, 30), (29, 30), (3, 5), (0, 1)] {
            let start = timer.now();
            let head = timer.sleep(seconds(limit));
            // It is begun, and the head comes in time.
            assert!(tokio::time::timeout(seconds(waited), head).await.is_err());
            assert!((waited..=waited + 1).contains(&(timer.now() - start).as_secs()));
            let start = timer.now();
            timer.sleep(seconds(limit)).await;
            assert!((limit..=limit + 1).contains(&(timer.now() - start).as_secs()), "{limit}");
        }
    }
}
