//! A timer that is set anew again and again, at no cost.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use tokio::time::{Instant, Sleep, sleep_until};

/// Rings at a time that becomes later and later, as it does where something is waited for after
/// each thing that came.
///
/// A timer of tokio's is set under a lock, and wakes its thread by a system call if it is to ring
/// before all others. So one that rings too early stays as it is, and is set back when it has rung.
#[derive(Default)]
pub(crate) struct LazyTimer(Option<Pin<Box<Sleep>>>);

impl LazyTimer {
    /// Ready when `deadline` has come.
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
