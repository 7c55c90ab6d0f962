//! Task that keeps a connection to the hub, and makes a new one when it is lost.

use core::time::Duration;

use endseal_crypto::random::OsRandom;
use endseal_keyring::PersonRecord;
use endseal_transport::{Backoff, CloseCode, Closed};
use tokio::time::{Instant, sleep, timeout};

use super::dialer::{DialError, Dialed};
use super::hub_state::HubState;
use super::{CLOSE_TIMEOUT, ServiceOptions};
use crate::api::{Error, ErrorKind};
use crate::error_line::line;
use crate::messages::{HubClient, NodeFiles, SharedEngine, Stay, SyncError, membership};

/// Age at which a connection counts as working. The next failure is then counted as the first one.
const WORKED: Duration = Duration::from_secs(10);
/// Age at which a connection is replaced, so that there is a new key exchange.
const RENEWED: Duration = Duration::from_secs(12 * 3600);

/// Keeps the connection to the hub. Never returns.
pub(super) async fn stay_connected(
    engine: &SharedEngine<'_>,
    own: (&PersonRecord, &NodeFiles<'_>),
    options: &ServiceOptions,
    dial: impl AsyncFn(&str) -> Result<Dialed, DialError>,
    state: &HubState<'_>,
) {
    let (backoff, mut failures) = (Backoff::default(), 0_u32);
    loop {
        let dialed = match addresses(engine) {
            Ok(addresses) => dial(&addresses).await.map_err(|DialError { cause, is_transient }| {
                (Error::new(ErrorKind::Hub { is_transient }, &cause), false)
            }),
            Err(error) => Err((error.into(), true)),
        };
        let ended = match dialed {
            Ok(Dialed { endpoint, connection, addresses }) => {
                state.connected(endpoint);
                let begin = Instant::now();
                let hub = HubClient::new(&connection, options.timeout).at(&addresses);
                let ended = stay(&hub, engine, own, options, state).await;
                // A hub that is restarted has said so.
                let was_told = connection.close_reason() == Some(Closed::ByPeer(CloseCode::Done));
                if begin.elapsed() > WORKED || was_told {
                    failures = 0;
                }
                if let Some(endpoint) = state.endpoint() {
                    let _ = timeout(CLOSE_TIMEOUT, endpoint.close(CloseCode::Done)).await;
                }
                ended.map_err(|error| (error, true))
            }
            Err(error) => Err(error),
        };
        let Err((error, is_of_hub)) = ended else { continue };
        state.failed(&error, is_of_hub);
        failures = failures.saturating_add(1);
        // Without randomness the longest wait is used.
        let wait = backoff.wait(failures, &mut OsRandom).unwrap_or(backoff.max);
        tokio::select! {
            () = sleep(wait) => {}
            // A user who requests a sync may have repaired the network just now.
            () = state.syncs.added() => failures = 0,
        }
    }
}

/// Returns the present addresses of the hub, which may move.
fn addresses(engine: &SharedEngine<'_>) -> Result<String, SyncError> {
    let known = engine.with(membership)?.ok_or(SyncError::NotJoined)?;
    Ok(known.addresses)
}

/// Stays connected until the connection is lost or reaches [`RENEWED`].
async fn stay(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    own: (&PersonRecord, &NodeFiles<'_>),
    options: &ServiceOptions,
    state: &HubState<'_>,
) -> Result<(), Error> {
    let begin = Instant::now();
    let (person, files) = own;
    let stay = Stay { hub, engine, person, files, said: &state.said, retry: options.retry };
    while begin.elapsed() < RENEWED {
        state.syncs.begin();
        let again = state.syncs.asked();
        stay.run(again, state).await.map_err(Error::from)?;
    }
    Ok(())
}

impl From<SyncError> for Error {
    fn from(error: SyncError) -> Self {
        let is_transient = error.is_transient();
        match error {
            SyncError::Engine(error) => error.into(),
            error => Self::new(ErrorKind::Hub { is_transient }, &line(&error)),
        }
    }
}
