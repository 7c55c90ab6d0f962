//! Credentials that are renewed before they expire.

use core::hash::{BuildHasher as _, Hasher as _};
use core::time::Duration;
use std::hash::RandomState;
use std::sync::Arc;
use std::time::SystemTime;

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::Signer;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::chain::{CredentialChain, Issued};
use super::connector::Connector;
use crate::upstream::Trust;

/// Timeout of one attempt to get credentials from a chain.
const ATTEMPT: Duration = Duration::from_secs(15);

/// Time before the expiry at which credentials are renewed, or half of the remaining time if that
/// is less. Metadata services offer the next credentials 5 minutes before the expiry.
const LEAD: Duration = Duration::from_secs(600);

/// Time after which credentials without an expiry are requested again.
const WITHOUT_EXPIRY: Duration = Duration::from_secs(900);

/// Pauses after failed attempts: the first is doubled up to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// Minimum time between renewals.
const SHORTEST: Duration = Duration::from_millis(250);

/// Credentials of a chain with the task that renews them. The task ends when this is dropped.
pub(crate) struct Renewal {
    shared: Arc<Shared>,
    task: AbortHandle,
}

struct Shared {
    chain: CredentialChain,
    service: &'static str,
    region: String,
    state: watch::Sender<State>,
    /// Wakes the task when a request finds no valid credentials.
    wake: Notify,
}

#[derive(Clone, Default)]
struct State {
    signer: Option<Arc<Signer>>,
    expiry: Option<SystemTime>,
    /// The reason why the last attempt failed, if it did.
    failure: Option<Arc<str>>,
}

impl State {
    fn valid(&self) -> Option<&Arc<Signer>> {
        let is_valid = self.expiry.is_none_or(|expiry| SystemTime::now() < expiry);
        self.signer.as_ref().filter(|_| is_valid)
    }
}

impl Renewal {
    /// Starts the task that requests credentials. Must be called in a tokio runtime.
    pub(super) fn start(
        chain: CredentialChain,
        service: &'static str,
        region: String,
        trust: Trust,
    ) -> Self {
        let (state, wake) = (watch::Sender::new(State::default()), Notify::new());
        let shared = Arc::new(Shared { chain, service, region, state, wake });
        let task = tokio::spawn(run(Arc::clone(&shared), Connector::new(trust))).abort_handle();
        Self { shared, task }
    }

    /// Returns a signer with valid credentials. Waits for an attempt that is in progress.
    ///
    /// # Errors
    /// `ServiceUnavailable` if there are none and the last attempt failed.
    pub(super) async fn current(&self) -> Result<Arc<Signer>, S3Error> {
        let unavailable =
            |cause: &str| S3Error::unavailable().with_retry_after(1).because("credentials", cause);
        let mut states = self.shared.state.subscribe();
        loop {
            {
                let state = states.borrow_and_update();
                if let Some(signer) = state.valid() {
                    return Ok(Arc::clone(signer));
                }
                if let Some(cause) = &state.failure {
                    return Err(unavailable(cause));
                }
            }
            // If the clock was set or the machine slept, the task would renew them too late.
            self.shared.wake.notify_one();
            match timeout(ATTEMPT + FIRST_PAUSE, states.changed()).await {
                Ok(Ok(())) => {}
                _ => return Err(unavailable("the chain of credentials does not respond")),
            }
        }
    }

    /// Uses the credentials of `old` until the chain has returned its first ones, if it is the same
    /// chain.
    pub(super) fn take_over(&self, old: &Self) {
        let is_other_chain = self.shared.chain != old.shared.chain
            || self.shared.service != old.shared.service
            || self.shared.region != old.shared.region;
        if is_other_chain {
            return;
        }
        let old = old.shared.state.borrow().clone();
        self.shared.state.send_if_modified(|state| {
            let is_empty = state.signer.is_none();
            if is_empty {
                (state.signer, state.expiry) = (old.signer, old.expiry);
            }
            is_empty
        });
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Requests credentials before the current ones expire, and again after failures.
async fn run(shared: Arc<Shared>, connector: Connector) {
    let mut pause = FIRST_PAUSE;
    loop {
        let asked = timeout(ATTEMPT, shared.chain.ask(&shared.region, &connector)).await;
        let outcome = asked.unwrap_or_else(|_| Err("the chain did not respond in time".to_owned()));
        let wait = match outcome {
            Ok(Issued { signer, expiry }) => {
                let signer = Some(Arc::new(signer.for_service(shared.service)));
                shared.state.send_replace(State { signer, expiry, failure: None });
                pause = FIRST_PAUSE;
                until_renewal(expiry, SystemTime::now(), random())
            }
            Err(cause) => {
                tracing::warn!(target: "failure", kind = "credentials", cause, "no new credentials");
                shared.state.send_modify(|state| state.failure = Some(cause.into()));
                let wait = pause;
                pause = LAST_PAUSE.min(pause * 2);
                wait.mul_f64(random().midpoint(1.0))
            }
        };
        let deadline = Instant::now() + wait;
        loop {
            tokio::select! {
                () = sleep_until(deadline) => break,
                () = shared.wake.notified() => {
                    let state = shared.state.borrow();
                    if state.valid().is_none() && state.failure.is_none() {
                        break;
                    }
                }
            }
        }
    }
}

/// Returns the time until credentials are renewed. `random` is between 0 and 1.
fn until_renewal(expiry: Option<SystemTime>, now: SystemTime, random: f64) -> Duration {
    let spread = 0.75 + random / 4.0;
    let Some(expiry) = expiry else { return WITHOUT_EXPIRY.mul_f64(spread) };
    let left = expiry.duration_since(now).unwrap_or_default();
    let lead = LEAD.min(left / 2).mul_f64(spread);
    // Timers have an upper limit, and a renewal once a day does no harm.
    (left - lead).clamp(SHORTEST, Duration::from_secs(86_400))
}

/// Returns a random number between 0 and 1, so that proxies that start together do not renew at the
/// same time.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 32;
    f64::from(u32::try_from(bits).unwrap_or_default()) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_renewed_before_they_expire_and_not_all_at_once() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for (left, earliest, latest) in [
            (3_600_000, 3_000_000, 3_150_000),
            (600_000, 300_000, 375_000),
            (2_000, 1_000, 1_250),
            (100, 250, 250),
            (0, 250, 250),
        ] {
            let expiry = now + Duration::from_millis(left);
            let wait = |random| until_renewal(Some(expiry), now, random).as_millis();
            assert_eq!((wait(1.0), wait(0.0)), (earliest, latest), "{left}");
        }
        assert_eq!(until_renewal(None, now, 1.0), WITHOUT_EXPIRY);
        let random: Vec<u64> = (0..8).map(|_| random().to_bits()).collect();
        assert!(random.iter().any(|bits| *bits != random[0]));
    }
}
