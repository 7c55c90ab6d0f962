//! Half-open connections by the thousand, and more connections than there is room for.

use std::time::Duration;

use endseal_transport::{CloseCode, Closed, ConnectError, Policy};

use crate::pair::{Pair, eventually, limits};
use crate::proxy::{Proxy, Weather};
use crate::raw::RawClient;

/// Asks, and never goes on: what the server answers is not heard.
async fn half_open(pair: &Pair, count: usize) -> (Proxy, RawClient, Vec<quinn::Connecting>) {
    let proxy = Proxy::new(pair.address(), Weather::default(), 1).await;
    proxy.deafen();
    let crowd = RawClient::new(1);
    let mut asking = Vec::new();
    for i in 0..count {
        asking.push(crowd.dial(proxy.address()));
        if i % 50 == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    (proxy, crowd, asking)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_that_proves_no_address_does_not_keep_others_out() {
    let mut patient = limits();
    patient.handshake_timeout = Duration::from_secs(30);
    let pair = Pair::new(Policy::Hybrid, patient);
    let (_proxy, _crowd, asking) = half_open(&pair, 3000).await;
    assert!(eventually(|| pair.server.statistics().retries > 2000).await);
    let crowded = pair.server.statistics();
    assert!(crowded.half_open <= 64 + 1, "{crowded:?}");
    // Whoever can be reached at the address he names gets in meanwhile.
    let (asked, taken) = pair.connect(pair.address()).await;
    asked.confirmed().await.unwrap();
    assert_eq!(taken.peer(), pair.client.peer_id());
    assert_eq!(pair.server.statistics().connections, 1);
    drop(asking);
}

#[tokio::test(flavor = "multi_thread")]
async fn handshakes_are_bounded_and_time_out() {
    let mut narrow = limits();
    (narrow.half_open, narrow.retry_above) = (100, 1_000_000);
    narrow.handshake_timeout = Duration::from_secs(2);
    let pair = Pair::new(Policy::Hybrid, narrow);
    let (_proxy, _crowd, asking) = half_open(&pair, 1500).await;
    assert!(eventually(|| pair.server.statistics().handshakes_ignored > 0).await);
    assert!(pair.server.statistics().half_open <= 101, "{:?}", pair.server.statistics());
    drop(asking);
    // Everything is given back, and there is room again.
    assert!(eventually(|| pair.server.statistics().half_open == 0).await);
    let (asked, _taken) = pair.connect(pair.address()).await;
    asked.confirmed().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_nobody_takes_are_told_to_come_later() {
    let mut narrow = limits();
    (narrow.backlog, narrow.connections) = (2, 3);
    let pair = Pair::new(Policy::Hybrid, narrow);
    let mut got = Vec::new();
    // A server that stands still for three probe timeouts after it has closed sends the reason and
    // forgets the connection in one breath, and answers a packet of the client that waited with a
    // reset; when both arrive together, quinn-proto 0.11.19 reports the reset
    // (`Connection::handle_packet` sets its error anew). Not every one can be told so.
    let (mut told, mut forgotten) = (0, 0);
    for _ in 0..6 {
        match pair.client.connect(pair.server.peer_id(), pair.address()).await {
            // Its own limit is three, too.
            Err(ConnectError::Busy) => told += 1,
            Err(error) => {
                assert_eq!(error, ConnectError::Protocol("reset by peer".into()));
                forgotten += 1;
            }
            Ok(asked) => match asked.confirmed().await {
                Ok(()) => got.push(asked),
                Err(Closed::ByPeer(CloseCode::Busy)) => told += 1,
                Err(closed) => {
                    assert_eq!(closed, Closed::Reset);
                    forgotten += 1;
                }
            },
        }
    }
    assert!(told >= 1 && told + forgotten >= 3, "{told} told, {forgotten} forgotten");
    assert!(pair.server.statistics().connections <= 3);
    // Room for one more when one is gone.
    drop(got);
    while pair.server.statistics().connections > 0 {
        let _gone = pair.server.accept().await.unwrap().closed().await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (asked, _taken) = pair.connect(pair.address()).await;
    asked.confirmed().await.unwrap();
}
