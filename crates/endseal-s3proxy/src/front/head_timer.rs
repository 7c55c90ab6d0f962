//! How long hyper waits for the head of a request.

use alloc::sync::Arc;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use hyper::rt::{Sleep, Timer};

use crate::client::Alarm;

/// The timer of one connection, which waits for one head at a time.
///
/// hyper makes a new one for each head. These share an alarm, of which the last one that was asked for counts.
#[derive(Clone, Default)]
pub(crate) struct HeadTimer(Arc<Mutex<Alarm>>);

/// The wait for one head.
struct Head {
    alarm: Arc<Mutex<Alarm>>,
    deadline: Instant,
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Head { alarm: Arc::clone(&self.0), deadline })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

impl Future for Head {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // An alarm is whole whatever happened to who had the lock.
        let mut alarm = self.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        alarm.poll(cx, self.deadline.into())
    }
}

impl Sleep for Head {}

#[cfg(test)]
mod tests {
    use super::*;

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
