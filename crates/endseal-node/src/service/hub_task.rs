//! The connection to the hub, which is made again when it is lost.

use core::time::Duration;

use endseal_crypto::random::OsRandom;
use endseal_keyring::PersonRecord;
use endseal_transport::{Backoff, CloseCode};
use tokio::time::{Instant, sleep, timeout};

use super::dialer::{DialError, Dialed};
use super::hub_state::HubState;
use super::{FAREWELL, ServiceOptions, line};
use crate::local::LocalError;
use crate::messages::{HubClient, LetterKeys, SharedEngine, Stay, SyncError};

/// A connection that has lasted so long has worked: the next failure is the first again.
const WORKED: Duration = Duration::from_secs(10);
/// Age at which a connection is replaced, with a new key exchange.
const RENEWED: Duration = Duration::from_secs(12 * 3600);

/// Stays at the hub, for ever.
pub(super) async fn stay_connected(
    engine: &SharedEngine<'_>,
    own: (&PersonRecord, &LetterKeys<'_>),
    options: &ServiceOptions,
    dial: impl AsyncFn() -> Result<Dialed, DialError>,
    state: &HubState<'_>,
) {
    let (backoff, mut failures) = (Backoff::default(), 0_u32);
    loop {
        let ended = match dial().await {
            Ok(Dialed { endpoint, connection }) => {
                state.connected(endpoint);
                let begin = Instant::now();
                let hub = HubClient::new(&connection, options.patience);
                let ended = stay(&hub, engine, own, options, state).await;
                if begin.elapsed() > WORKED {
                    failures = 0;
                }
                if let Some(endpoint) = state.endpoint() {
                    let _ = timeout(FAREWELL, endpoint.close(CloseCode::Done)).await;
                }
                ended
            }
            Err(DialError { cause, is_transient }) => Err(LocalError::Hub { cause, is_transient }),
        };
        let Err(error) = ended else { continue };
        state.failed(&error);
        failures = failures.saturating_add(1);
        // Without chance the wait is the longest: late, but not wrong.
        let wait = backoff.wait(failures, &mut OsRandom).unwrap_or(backoff.max);
        tokio::select! {
            () = sleep(wait) => {}
            // A person who asks may have mended the network just now.
            () = state.syncs.added() => failures = 0,
        }
    }
}

/// Stays at the hub until the connection is lost or old.
async fn stay(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    own: (&PersonRecord, &LetterKeys<'_>),
    options: &ServiceOptions,
    state: &HubState<'_>,
) -> Result<(), LocalError> {
    let begin = Instant::now();
    let (person, keys) = own;
    let stay = Stay { hub, engine, person, keys, said: &state.said, retry: options.retry };
    while begin.elapsed() < RENEWED {
        state.syncs.begin();
        let again = state.syncs.asked();
        stay.run(again, state).await.map_err(LocalError::from)?;
    }
    Ok(())
}

impl From<SyncError> for LocalError {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Engine(error) => Self::Store(line(&error)),
            error => Self::Hub { cause: line(&error), is_transient: error.is_transient() },
        }
    }
}
