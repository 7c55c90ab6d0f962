//! Times of attempts, with a paused clock that advances only while a task waits.

use std::cell::Cell;
use std::time::Duration;

use endseal_crypto::random::{Random, RandomError};
use endseal_transport::{Backoff, Failures};
use tokio::time::Instant;

/// Random source that gives the smallest or the largest jitter.
struct Extreme(u8);

impl Random for Extreme {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), RandomError> {
        buffer.fill(self.0);
        Ok(())
    }
}

#[test]
fn waits_double_up_to_the_longest_and_chance_has_half() {
    let backoff = Backoff::default();
    let mut least = Extreme(0);
    let mut largest = Extreme(0xff);
    for (failures, whole) in
        [(1, 250), (2, 500), (3, 1000), (7, 16_000), (8, 30_000), (40, 30_000), (u32::MAX, 30_000)]
    {
        let whole = Duration::from_millis(whole);
        assert_eq!(backoff.wait(failures, &mut least).unwrap(), whole / 2);
        let wait = backoff.wait(failures, &mut largest).unwrap();
        assert!(wait <= whole && wait > whole.mul_f64(0.999), "{wait:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_apart_as_the_waits_say() {
    let start = Instant::now();
    let calls = Cell::new(Vec::new());
    let mut failures = Failures::default();
    let done = Backoff::default()
        .retry(
            &mut Extreme(0),
            &mut failures,
            |_: &&str| true,
            async || {
                let mut so_far = calls.take();
                so_far.push(start.elapsed().as_millis());
                let count = so_far.len();
                calls.set(so_far);
                if count == 10 { Ok(count) } else { Err("not yet") }
            },
        )
        .await;
    assert_eq!(done, Ok(10));
    assert_eq!(failures.count(), 9, "who sees it work resets them");
    let apart = [0, 125, 375, 875, 1875, 3875, 7875, 15_875, 30_875, 45_875];
    // Timers of tokio count whole milliseconds.
    for (at, expected) in calls.take().into_iter().zip(apart) {
        assert!((expected..expected + 12).contains(&at), "{at} {expected}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_fails_for_good_is_not_tried_again() {
    let start = Instant::now();
    let mut failures = Failures::default();
    let attempt = async || Err::<(), _>("refused");
    let done = Backoff::default().retry(&mut Extreme(0), &mut failures, |_| false, attempt).await;
    assert_eq!((done, failures.count()), (Err("refused"), 1));
    assert_eq!(start.elapsed(), Duration::ZERO);

    let mut backoff = Backoff::default();
    backoff.attempts = Some(4);
    let done = backoff.retry(&mut Extreme(0), &mut failures, |_| true, attempt).await;
    assert_eq!((done, failures.count()), (Err("refused"), 4));
}
