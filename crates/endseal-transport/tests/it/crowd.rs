//! Thousands of half-open connections, and more connections than the limits allow.

use std::time::Duration;

use endseal_transport::{Accept, CloseCode, Closed, ConnectError, Endpoint, Limits, Policy};

use crate::pair::{HERE, Pair, eventually, key, limits, unless_overtaken};
use crate::proxy::{Proxy, Weather};
use crate::raw::RawClient;

/// Handshakes that stop half way, with the objects that keep them open.
struct Crowd {
    proxy: Proxy,
    _client: RawClient,
    _asking: Vec<quinn::Connecting>,
}

/// Starts `count` handshakes from `source` that never complete. If `proves` is set, the clients
/// receive Retry packets and prove their address; otherwise they receive nothing.
async fn half_open(pair: &Pair, source: &str, count: usize, proves: bool) -> Crowd {
    let proxy = Proxy::from(source, pair.address(), Weather::default(), 1).await;
    if proves {
        proxy.pass_retries_only();
    } else {
        proxy.deafen();
    }
    let client = RawClient::new(1);
    let mut asking = Vec::new();
    for i in 0..count {
        asking.push(client.dial(proxy.address()));
        if i % 50 == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    Crowd { proxy, _client: client, _asking: asking }
}

/// Returns a client with the pinned key at another address of this machine.
fn pinned(limits: Limits) -> Endpoint {
    let elsewhere = "127.0.1.1:0".parse().unwrap();
    let one = key(1, Policy::Hybrid);
    Endpoint::bind_with(elsewhere, &one, Policy::Hybrid, Accept::none(), limits).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_that_proves_no_address_does_not_keep_others_out() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let crowd = half_open(&pair, HERE, 3000, false).await;
    assert!(eventually(|| pair.server.statistics().retries > 2000).await);
    let crowded = pair.server.statistics();
    // Unproved handshakes use half of a source's share at most, because anyone can forge its
    // address.
    assert!(crowded.half_open <= 32, "{crowded:?}");
    // A client that receives packets at its address is admitted meanwhile, even from the same
    // network.
    let (asked, taken) = pair.connect(pair.address()).await;
    asked.confirmed().await.unwrap();
    assert_eq!(taken.peer(), pair.client.peer_id());
    assert_eq!(pair.server.statistics().connections, 1);
    drop(crowd);
}

/// Clients send ClientHello and CONNECTION_CLOSE: each handshake fails at once, and the next one
/// starts.
#[tokio::test(flavor = "multi_thread")]
async fn handshakes_that_were_closed_count_on() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let proxy = Proxy::from(HERE, pair.address(), Weather::default(), 1).await;
    proxy.deafen();
    let client = RawClient::new(9);
    for _ in 0..200 {
        let asking = client.dial(proxy.address());
        tokio::time::sleep(Duration::from_millis(2)).await;
        drop(asking);
    }
    assert!(eventually(|| pair.server.statistics().retries > 100).await);
    let now = pair.server.statistics();
    assert!(now.handshakes_failed <= 32, "{now:?}");
    let (asked, _taken) = pair.connect(pair.address()).await;
    asked.confirmed().await.unwrap();
}

/// A flood of handshakes that prove their address and stop before the second flight.
#[tokio::test(flavor = "multi_thread")]
async fn one_proved_address_does_not_lock_out_another_network() {
    let mut narrow = limits();
    (narrow.half_open, narrow.retry_above, narrow.half_open_per_source) = (100, 10, 40);
    let pair = Pair::new(Policy::Hybrid, narrow.clone());
    let crowd = half_open(&pair, HERE, 600, true).await;
    assert!(eventually(|| pair.server.statistics().handshakes_ignored > 100).await);
    let crowded = pair.server.statistics();
    assert!(crowded.half_open <= 40, "{crowded:?}");
    let pinned = pinned(narrow);
    let asked = pinned.connect(pair.server.peer_id(), pair.address());
    let (asked, taken) = tokio::join!(asked, pair.server.accept());
    asked.unwrap().confirmed().await.unwrap();
    assert_eq!(taken.unwrap().peer(), pinned.peer_id());
    assert_eq!(pair.server.statistics().handshakes_evicted, 0);
    drop(crowd);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_proved_addresses_give_way_to_the_newest() {
    let mut narrow = limits();
    (narrow.half_open, narrow.retry_above, narrow.half_open_per_source) = (20, 4, 5);
    let pair = Pair::new(Policy::Hybrid, narrow.clone());
    let mut crowds = Vec::new();
    for network in 2..8 {
        crowds.push(half_open(&pair, &format!("127.0.{network}.1:0"), 20, true).await);
    }
    assert!(eventually(|| pair.server.statistics().handshakes_evicted > 0).await);
    assert!(pair.server.statistics().half_open <= 20);
    let pinned = pinned(narrow);
    let asked = pinned.connect(pair.server.peer_id(), pair.address());
    let (asked, _taken) = tokio::join!(asked, pair.server.accept());
    asked.unwrap().confirmed().await.unwrap();
    drop(crowds);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_flight_that_does_not_come_frees_its_place() {
    let mut narrow = limits();
    (narrow.half_open_per_source, narrow.retry_above) = (20, 4);
    narrow.second_flight_timeout = Duration::from_secs(1);
    let pair = Pair::new(Policy::Hybrid, narrow);
    let crowd = half_open(&pair, HERE, 100, true).await;
    assert!(eventually(|| pair.server.statistics().handshakes_ignored > 0).await);
    crowd.proxy.cut();
    // All slots are freed, and the same network can connect again.
    assert!(eventually(|| pair.server.statistics().half_open == 0).await);
    let (asked, _taken) = pair.connect(pair.address()).await;
    asked.confirmed().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_holds_no_more_connections_than_its_share() {
    let mut narrow = limits();
    narrow.connections_per_peer = 2;
    let pair = Pair::new(Policy::Hybrid, narrow);
    let (one, one_taken) = pair.connect(pair.address()).await;
    let (_two, _two_taken) = pair.connect(pair.address()).await;
    let told = unless_overtaken(async || {
        let third = pair.client.connect(pair.server.peer_id(), pair.address()).await;
        match third {
            Err(ConnectError::Busy) => Some(()),
            Err(_) => None,
            Ok(third) => match third.confirmed().await {
                Err(Closed::ByPeer(CloseCode::Busy)) => Some(()),
                Err(_) => None,
                Ok(()) => panic!("a third connection"),
            },
        }
    });
    told.await;
    assert_eq!(pair.server.statistics().connections, 2);
    // After one of them has ended, another is admitted.
    one.close(CloseCode::Done).await;
    one_taken.closed().await;
    drop(one_taken);
    let (asked, _taken) = pair.connect(pair.address()).await;
    asked.confirmed().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_no_one_takes_are_told_to_come_later() {
    let mut narrow = limits();
    (narrow.backlog, narrow.connections) = (2, 3);
    let pair = Pair::new(Policy::Hybrid, narrow);
    let mut got = Vec::new();
    // A server that is stalled for three probe timeouts after a close sends the close message,
    // forgets the connection at the same moment, and answers a packet of the client that was
    // waiting with a reset. When both arrive together, quinn-proto 0.11.19 reports the reset
    // (`Connection::handle_packet` overwrites its error). Therefore not every client sees the
    // reason.
    let (mut told, mut forgotten) = (0, 0);
    for _ in 0..6 {
        match pair.client.connect(pair.server.peer_id(), pair.address()).await {
            // The client's own limit is three, too.
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
    assert!(told >= 1 && told + forgotten >= 3, "{told} with a reason, {forgotten} without");
    assert!(pair.server.statistics().connections <= 3);
    // After one connection has ended, another is admitted.
    drop(got);
    while pair.server.statistics().connections > 0 {
        let _gone = pair.server.accept().await.unwrap().closed().await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (asked, _taken) = pair.connect(pair.address()).await;
    asked.confirmed().await.unwrap();
}
