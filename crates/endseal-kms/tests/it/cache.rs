//! The cache of content keys, with a clock that the test controls.

use core::time::Duration;
use std::sync::Arc;

use endseal_kms::Cached;
use endseal_kms::cache::CacheLimits;
use tokio::time::{Instant, advance, sleep};

use super::scripted::{Mood, Scripted};
use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn limits() -> CacheLimits {
    CacheLimits {
        ttl: 60 * SECOND,
        timeout: 5 * SECOND,
        failures: 3,
        pause: SECOND,
        ..Default::default()
    }
}

fn cached(limits: CacheLimits) -> (Arc<Scripted>, Arc<Cached>) {
    let scripted = Scripted::new();
    let cached = Cached::new(Arc::clone(&scripted) as Arc<dyn KeyProvider>, limits);
    (scripted, Arc::new(cached))
}

/// Wraps a key that the cache has not seen.
async fn wrapped(scripted: &Scripted, n: u8) -> Wrapped {
    let wrapped = scripted.wrap(b"context", &key(n)).await.ok().unwrap();
    scripted.asked();
    wrapped
}

async fn open(cached: &Cached, wrapped: &Wrapped) -> Result<ContentKey, ProviderError> {
    cached.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await
}

#[tokio::test]
async fn a_cached_provider_does_what_the_provider_does() {
    let (_, cached) = cached(limits());
    let wrapped = opens_what_it_wrapped(&*cached).await;
    refuses_changes(&*cached, &wrapped, 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_key_is_asked_for_once_until_its_time_is_over() {
    let (scripted, cached) = cached(limits());
    let wrapped = wrapped(&scripted, 1).await;
    for _ in 0..3 {
        for _ in 0..10 {
            assert!(open(&cached, &wrapped).await.ok().unwrap() == key(1));
            advance(5 * SECOND).await;
        }
        assert_eq!(scripted.asked(), 1);
        // Using an entry does not extend its lifetime.
        advance(10 * SECOND).await;
    }
    let counters = cached.counters();
    assert_eq!((counters.asked(), counters.hits(), counters.failures()), (3, 27, 0));
}

#[tokio::test(start_paused = true)]
async fn keys_leave_memory_when_no_one_asks() {
    let (scripted, cached) = cached(limits());
    for n in 0..5 {
        open(&cached, &wrapped(&scripted, n).await).await.ok().unwrap();
    }
    assert_eq!(cached.entries(), 5);
    sleep(59 * SECOND).await;
    assert_eq!(cached.entries(), 5);
    sleep(17 * SECOND).await;
    assert_eq!(cached.entries(), 0);
    // The same again, after the sweeper had nothing left to do.
    open(&cached, &wrapped(&scripted, 9).await).await.ok().unwrap();
    sleep(76 * SECOND).await;
    assert_eq!(cached.entries(), 0);
}

#[tokio::test]
async fn memory_is_bounded() {
    let (scripted, cached) = cached(CacheLimits { entries: 4, ..limits() });
    let mut all = Vec::new();
    for n in 0..10 {
        all.push(wrapped(&scripted, n).await);
    }
    for (n, wrapped) in (0..).zip(&all) {
        assert!(open(&cached, wrapped).await.ok().unwrap() == key(n));
    }
    assert_eq!((cached.entries(), cached.counters().evicted(), scripted.asked()), (4, 6, 10));
    for (n, wrapped) in (0..).zip(&all).skip(6) {
        assert!(open(&cached, wrapped).await.ok().unwrap() == key(n));
    }
    assert_eq!(scripted.asked(), 0);
    cached.clear();
    open(&cached, &all[9]).await.ok().unwrap();
    assert_eq!((cached.entries(), scripted.asked()), (1, 1));
}

#[tokio::test]
async fn what_was_written_is_read_without_a_question() {
    let (scripted, cached) = cached(limits());
    let wrapped = cached.wrap(b"context", &key(5)).await.ok().unwrap();
    assert!(open(&cached, &wrapped).await.ok().unwrap() == key(5));
    assert_eq!(scripted.asked(), 1);
    // Another context is another entry, so the provider is asked.
    let outcome = cached.unwrap(&wrapped.key_id, b"other", &wrapped.bytes).await;
    assert_eq!((outcome.err(), scripted.asked()), (Some(ProviderError::AuthenticationFailed), 1));
}

#[tokio::test]
async fn a_boundary_moved_between_the_parts_is_another_question() {
    let (scripted, cached) = cached(limits());
    let wrapped = cached.wrap(b"context", &key(5)).await.ok().unwrap();
    scripted.asked();
    let moved = [b"t", &wrapped.bytes[..]].concat();
    let outcome = cached.unwrap(&wrapped.key_id, b"contex", &moved).await;
    assert_eq!((outcome.err(), scripted.asked()), (Some(ProviderError::AuthenticationFailed), 1));
}

#[tokio::test(start_paused = true)]
async fn many_who_want_one_key_ask_once() {
    let (scripted, cached) = cached(limits());
    let wrapped = Arc::new(wrapped(&scripted, 1).await);
    scripted.set(Mood::Slow(SECOND));
    let all: Vec<_> = (0..50)
        .map(|_| {
            let (cached, wrapped) = (Arc::clone(&cached), Arc::clone(&wrapped));
            tokio::spawn(async move { open(&cached, &wrapped).await.ok().unwrap() == key(1) })
        })
        .collect();
    for one in all {
        assert!(one.await.unwrap());
    }
    assert_eq!((scripted.asked(), cached.counters().joined()), (1, 49));
}

#[tokio::test(start_paused = true)]
async fn who_asked_first_may_go_away() {
    let (scripted, cached) = cached(limits());
    let wrapped = Arc::new(wrapped(&scripted, 1).await);
    scripted.set(Mood::Slow(3 * SECOND));
    let first = tokio::time::timeout(SECOND, open(&cached, &wrapped)).await;
    assert!(first.is_err());
    let start = Instant::now();
    assert!(open(&cached, &wrapped).await.ok().unwrap() == key(1));
    assert_eq!((scripted.asked(), start.elapsed() < 3 * SECOND), (1, true));
}

#[tokio::test]
async fn failures_of_authentication_are_not_remembered_and_no_outage() {
    let (scripted, cached) = cached(limits());
    let mut wrapped = wrapped(&scripted, 1).await;
    wrapped.bytes[20] ^= 1;
    for _ in 0..10 {
        assert_eq!(open(&cached, &wrapped).await.err(), Some(ProviderError::AuthenticationFailed));
    }
    assert_eq!((scripted.asked(), cached.entries(), cached.is_paused()), (10, 0, false));
    wrapped.bytes[20] ^= 1;
    assert!(open(&cached, &wrapped).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_silent_provider_is_a_timeout() {
    let (scripted, cached) = cached(limits());
    let wrapped = wrapped(&scripted, 1).await;
    scripted.set(Mood::Silent);
    let start = Instant::now();
    let outcome = open(&cached, &wrapped).await;
    assert!(matches!(outcome.err(), Some(ProviderError::Unavailable { .. })));
    assert!((5 * SECOND..6 * SECOND).contains(&start.elapsed()));
    let outcome = cached.wrap(b"context", &key(1)).await;
    assert!(matches!(outcome.err(), Some(ProviderError::Unavailable { .. })));
    assert!(start.elapsed() < 11 * SECOND);
    scripted.set(Mood::Well);
    assert!(open(&cached, &wrapped).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_down_is_left_alone_and_cached_keys_serve() {
    let (scripted, cached) = cached(limits());
    let (known, new) = (wrapped(&scripted, 1).await, wrapped(&scripted, 2).await);
    open(&cached, &known).await.ok().unwrap();
    scripted.asked();
    scripted.set(Mood::Down);
    for n in 0..20 {
        assert!(open(&cached, &known).await.ok().unwrap() == key(1));
        let outcome = open(&cached, &new).await.err();
        let Some(ProviderError::Unavailable { retry_after }) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(n < 3 || (retry_after > Duration::ZERO && retry_after <= SECOND));
    }
    // Three requests, then none, also for writing.
    assert_eq!((scripted.asked(), cached.is_paused()), (3, true));
    assert!(cached.wrap(b"context", &key(3)).await.is_err());
    assert_eq!((scripted.asked(), cached.counters().refused()), (0, 18));
    // One request after the pause, and a pause of twice the length after its failure.
    advance(SECOND).await;
    for _ in 0..5 {
        assert!(open(&cached, &new).await.is_err());
    }
    assert_eq!(scripted.asked(), 1);
    advance(SECOND).await;
    assert!(open(&cached, &new).await.is_err());
    assert_eq!(scripted.asked(), 0);
    scripted.set(Mood::Well);
    advance(SECOND).await;
    assert!(open(&cached, &new).await.ok().unwrap() == key(2));
    assert!(!cached.is_paused());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_trial_does_not_keep_the_provider_away() {
    let (scripted, cached) = cached(limits());
    let new = wrapped(&scripted, 2).await;
    scripted.set(Mood::Down);
    for _ in 0..3 {
        assert!(open(&cached, &new).await.is_err());
    }
    scripted.set(Mood::Silent);
    advance(SECOND).await;
    let dropped = tokio::time::timeout(SECOND, cached.wrap(b"context", &key(3))).await;
    assert!(dropped.is_err());
    scripted.set(Mood::Well);
    assert!(cached.wrap(b"context", &key(3)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_provider_says_when() {
    let (scripted, cached) = cached(CacheLimits { failures: 1, ..limits() });
    let new = wrapped(&scripted, 2).await;
    scripted.set(Mood::Overloaded(7 * SECOND));
    let said = Some(ProviderError::Unavailable { retry_after: 7 * SECOND });
    assert_eq!(open(&cached, &new).await.err(), said);
    scripted.set(Mood::Well);
    assert_eq!(open(&cached, &new).await.err(), said);
    advance(7 * SECOND).await;
    assert!(open(&cached, &new).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn questions_on_their_way_are_bounded() {
    let (scripted, cached) = cached(CacheLimits { questions: 2, ..limits() });
    let mut all = Vec::new();
    for n in 0..3 {
        all.push(wrapped(&scripted, n).await);
    }
    scripted.set(Mood::Slow(2 * SECOND));
    for wrapped in &all[..2] {
        assert!(tokio::time::timeout(SECOND / 2, open(&cached, wrapped)).await.is_err());
    }
    let outcome = open(&cached, &all[2]).await.err();
    assert!(matches!(outcome, Some(ProviderError::Unavailable { .. })));
    assert_eq!(scripted.asked(), 2);
    sleep(2 * SECOND).await;
    assert!(open(&cached, &all[2]).await.is_ok());
}
