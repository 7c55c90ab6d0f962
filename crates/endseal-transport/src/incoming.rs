//! Connections from outside: bounded before anything is known of them.

use std::sync::Arc;
use std::time::Instant;

use quinn::{Incoming, ZeroRttAccepted};
use tokio::sync::{mpsc, watch};
use tokio::time;

use crate::close::CloseCode;
use crate::connection::{Connection, open_control};
use crate::endpoint::{Dialer, peer_of};
use crate::handshake::{EarlyData, HandshakeInfo};
use crate::statistics::{Counters, Present};

/// Takes handshakes until the endpoint is closed.
pub(crate) async fn run(
    quinn: quinn::Endpoint,
    dialer: Arc<Dialer>,
    taken: mpsc::Sender<Connection>,
) {
    while let Some(incoming) = quinn.accept().await {
        let (counters, limits) = (&dialer.counters, &dialer.limits);
        let Some(present) = Present::enter(counters, |c| &c.half_open, limits.half_open) else {
            // An answer would be work, too, and would go to whoever was named as the sender.
            Counters::add(&counters.handshakes_ignored, 1);
            incoming.ignore();
            continue;
        };
        let half_open = counters.snapshot().half_open;
        let crowded = half_open > limits.retry_above as u64;
        if crowded && !incoming.remote_address_validated() && incoming.may_retry() {
            Counters::add(&counters.retries, 1);
            // It fails only where a retry is not possible, which was asked.
            let _possible = incoming.retry();
            continue;
        }
        tokio::spawn(take(incoming, dialer.clone(), taken.clone(), present));
    }
}

/// Completes one handshake and hands the connection over.
async fn take(
    incoming: Incoming,
    dialer: Arc<Dialer>,
    taken: mpsc::Sender<Connection>,
    present: Present,
) {
    let finished = time::timeout(dialer.limits.handshake_timeout, handshake(incoming, &dialer));
    let connection = finished.await.ok().flatten();
    drop(present);
    let Some(connection) = connection else {
        Counters::add(&dialer.counters.handshakes_failed, 1);
        return;
    };
    match taken.try_reserve() {
        Ok(place) => {
            // First: whoever has the connection may look at the totals.
            Counters::add(&dialer.counters.accepted, 1);
            place.send(connection);
        }
        Err(mpsc::error::TrySendError::Full(())) => {
            Counters::add(&dialer.counters.busy, 1);
            connection.abort(CloseCode::Busy);
        }
        Err(mpsc::error::TrySendError::Closed(())) => connection.abort(CloseCode::Done),
    }
}

async fn handshake(incoming: Incoming, dialer: &Dialer) -> Option<Connection> {
    let started = Instant::now();
    let server = dialer.server(incoming.remote_address());
    let mut connecting = incoming.accept_with(server).ok()?;
    let (completes, mut complete) = watch::channel(true);
    let quinn = if dialer.limits.early > 0 {
        // Until the whole first message is there it is not known whether a session is resumed.
        connecting.handshake_data().await.ok()?;
        let (quinn, done) = connecting.into_0rtt().ok()?;
        if peer_of(&quinn).is_some() {
            // The peer has proved that it has the session's secret, and can be heard early.
            completes.send_replace(false);
            let quinn = quinn.clone();
            tokio::spawn(async move {
                if is_completed(&quinn, done).await {
                    completes.send_replace(true);
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
    let accepted = dialer.accept.accepts(&peer);
    let present = dialer.enter();
    let (true, Some(present)) = (accepted, present) else {
        // Codes of the application do not travel before the handshake is complete.
        complete.wait_for(|complete| *complete).await.ok()?;
        let (code, counter) = if accepted {
            (CloseCode::Busy, &dialer.counters.busy)
        } else {
            (CloseCode::Refused, &dialer.counters.peers_refused)
        };
        Counters::add(counter, 1);
        quinn.close(code.to_varint(), b"");
        return None;
    };
    let early = if *complete.borrow() { EarlyData::NotUsed } else { EarlyData::Accepted };
    let handshake = HandshakeInfo::of(&quinn, dialer.policy, started, early);
    let control = open_control(&quinn, dialer.limits.frames()).await.ok()?;
    Some(Connection::start(dialer.parts(quinn, peer, handshake, control, complete, present)))
}

/// Waits for the end of a handshake. Returns true if the client has completed it.
///
/// The value of `done` has no meaning on a server: quinn gives false there, also for a complete
/// handshake. TLS exports key material of a complete handshake only, and no key is used here.
async fn is_completed(quinn: &quinn::Connection, done: ZeroRttAccepted) -> bool {
    done.await;
    quinn.export_keying_material(&mut [0], b"EXPORTER-endseal-complete", b"").is_ok()
}
