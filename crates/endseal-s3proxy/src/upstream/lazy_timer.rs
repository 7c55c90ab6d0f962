//! Timer that can be reset very often at almost no cost.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use tokio::time::{Instant, Sleep, sleep_until};

/// Timer for a deadline that moves into the future again and again, as an idle timeout does.
///
/// Setting a tokio timer takes a lock, and may wake its thread by a system call. So a timer that is
/// set too early is left alone, and is set again when it has fired.
#[derive(Default)]
pub(crate) struct LazyTimer(Option<Pin<Box<Sleep>>>);

impl LazyTimer {
    /// Is ready when `deadline` has passed.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        loop {
            ready!(sleep.as_mut().poll(cx));
            if sleep.deadline() >= deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
    }
}
