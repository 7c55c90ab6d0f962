//! Incoming connections, limited before anything is known about the client.

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

/// Accepts incoming handshakes until the endpoint is closed.
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
                // It fails only for an address that is proved already.
                let _possible = incoming.retry();
            }
            Admission::Ignored => {
                // An answer would cost work too, and would go to an address that may be forged.
                Counters::add(&counters.handshakes_ignored, 1);
                incoming.ignore();
            }
        }
    }
}

/// Completes one handshake and passes the connection to
/// [`Endpoint::accept`](crate::Endpoint::accept).
async fn take(
    incoming: Incoming,
    shared: Arc<Shared>,
    taken: mpsc::Sender<Connection>,
    slot: HalfOpenSlot,
) {
    let finished = time::timeout(shared.limits.second_flight_timeout, handshake(incoming, &shared));
    let connection = finished.await.ok().flatten();
    // There is no await below, so a completed handshake cannot be aborted any more.
    let Some(connection) = connection else {
        Counters::add(&shared.counters.handshakes_failed, 1);
        return;
    };
    slot.free();
    match taken.try_reserve() {
        Ok(place) => {
            // Counted first, because the receiver of the connection may read the totals at once.
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
        // Before the whole first message has arrived, it is not known if a session is resumed.
        connecting.handshake_data().await.ok()?;
        let (quinn, done) = connecting.into_0rtt().ok()?;
        if peer_of(&quinn).is_some() {
            // The peer has proved that it knows the session's secret, so its early data may be
            // read.
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
                    // The connection was dropped. The last handle closes it.
                    () = completes.closed() => {}
                    // The connection uses a share of its peer. An attacker who replays a flight of
                    // the peer must not hold that share for longer.
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
    // TLS has asked this too, but not for a resumed session, whose peer may have been removed
    // since.
    let accepted = shared.accept.accepts(&peer);
    let permit = if accepted { shared.admissions.incoming(peer) } else { None };
    let Some(permit) = permit else {
        // Application error codes are not sent before the handshake is complete.
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
/// The value of `done` has no meaning on a server: quinn gives false even for a complete handshake.
async fn is_completed(quinn: &quinn::Connection, done: ZeroRttAccepted) -> bool {
    done.await;
    is_complete(quinn)
}
