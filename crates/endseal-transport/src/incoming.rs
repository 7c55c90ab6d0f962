//! Connections from outside: bounded before anything is known of them.

use std::sync::Arc;
use std::time::Instant;

use quinn::{Incoming, ZeroRttAccepted};
use tokio::sync::{mpsc, watch};
use tokio::time;

use crate::close::CloseCode;
use crate::connection::{Connection, open_control};
use crate::half_open::{Admission, HalfOpenSlot};
use crate::handshake::{EarlyData, HandshakeInfo, is_complete, peer_of};
use crate::shared::Shared;
use crate::statistics::Counters;

/// Takes handshakes until the endpoint is closed.
pub(crate) async fn run(
    quinn: quinn::Endpoint,
    shared: Arc<Shared>,
    taken: mpsc::Sender<Connection>,
) {
    while let Some(incoming) = quinn.accept().await {
        let counters = &shared.counters;
        let proved = incoming.remote_address_validated();
        match shared.half_open.admit(incoming.remote_address(), proved) {
            Admission::Admitted(slot, evicted) => {
                Counters::add(&counters.handshakes_evicted, u64::from(evicted));
                let number = slot.number();
                let task = tokio::spawn(take(incoming, shared.clone(), taken.clone(), slot));
                shared.half_open.attach(number, task.abort_handle());
            }
            Admission::Retry => {
                Counters::add(&counters.retries, 1);
                // It fails only for an address that is proved.
                let _possible = incoming.retry();
            }
            Admission::Ignored => {
                // An answer would be work, too, and would go to the address that was named.
                Counters::add(&counters.handshakes_ignored, 1);
                incoming.ignore();
            }
        }
    }
}

/// Completes one handshake and hands the connection over.
async fn take(
    incoming: Incoming,
    shared: Arc<Shared>,
    taken: mpsc::Sender<Connection>,
    slot: HalfOpenSlot,
) {
    let finished = time::timeout(shared.limits.second_flight_timeout, handshake(incoming, &shared));
    let connection = finished.await.ok().flatten();
    // Nothing below waits, so that a completed handshake cannot be aborted any more.
    let Some(connection) = connection else {
        Counters::add(&shared.counters.handshakes_failed, 1);
        return;
    };
    slot.free();
    match taken.try_reserve() {
        Ok(place) => {
            // First: whoever has the connection may look at the totals.
            Counters::add(&shared.counters.accepted, 1);
            place.send(connection);
        }
        Err(mpsc::error::TrySendError::Full(())) => {
            Counters::add(&shared.counters.busy, 1);
            connection.abort(CloseCode::Busy);
        }
        Err(mpsc::error::TrySendError::Closed(())) => connection.abort(CloseCode::Done),
    }
}

async fn handshake(incoming: Incoming, shared: &Shared) -> Option<Connection> {
    let started = Instant::now();
    let server = shared.server(incoming.remote_address());
    let mut connecting = incoming.accept_with(server).ok()?;
    let (completes, mut complete) = watch::channel(true);
    let quinn = if shared.limits.early > 0 {
        // Until the whole first message is there it is not known whether a session is resumed.
        connecting.handshake_data().await.ok()?;
        let (quinn, done) = connecting.into_0rtt().ok()?;
        if peer_of(&quinn).is_some() {
            // The peer has proved that it has the session's secret, and can be heard early.
            completes.send_replace(false);
            let (quinn, counters) = (quinn.clone(), Arc::clone(&shared.counters));
            let end = started + shared.limits.second_flight_timeout;
            tokio::spawn(async move {
                tokio::select! {
                    is_complete = is_completed(&quinn, done) => {
                        if is_complete {
                            completes.send_replace(true);
                        }
                    }
                    // It was given up. The last handle closes the connection.
                    () = completes.closed() => {}
                    // It has a share of its peer, and whoever repeats a flight of the peer could
                    // have it for longer.
                    () = time::sleep_until(end.into()) => {
                        Counters::add(&counters.handshakes_failed, 1);
                        quinn.close(CloseCode::Done.to_varint(), b"");
                    }
                }
            });
        } else if !is_completed(&quinn, done).await {
            return None;
        }
        quinn
    } else {
        connecting.await.ok()?
    };
    let peer = peer_of(&quinn)?;
    // TLS has asked the same, but not for a resumed session: somebody may be accepted no more.
    let accepted = shared.accept.accepts(&peer);
    let permit = if accepted { shared.admissions.incoming(peer) } else { None };
    let Some(permit) = permit else {
        // Codes of the application do not travel before the handshake is complete.
        complete.wait_for(|complete| *complete).await.ok()?;
        let (code, counter) = if accepted {
            (CloseCode::Busy, &shared.counters.busy)
        } else {
            (CloseCode::Refused, &shared.counters.peers_refused)
        };
        Counters::add(counter, 1);
        quinn.close(code.to_varint(), b"");
        return None;
    };
    let early = if *complete.borrow() { EarlyData::NotUsed } else { EarlyData::Accepted };
    let handshake = HandshakeInfo::of(&quinn, shared.policy, started, early);
    let control = open_control(&quinn, shared.limits.frames()).await.ok()?;
    Some(Connection::start(shared.parts(quinn, peer, handshake, control, complete, permit)))
}

/// Waits for the end of a handshake. Returns true if the client has completed it.
///
/// The value of `done` has no meaning on a server: quinn gives false there, also for a complete
/// handshake.
async fn is_completed(quinn: &quinn::Connection, done: ZeroRttAccepted) -> bool {
    done.await;
    is_complete(quinn)
}
