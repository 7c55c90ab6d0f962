//! Persistent connections that are replaced because of their age.

use std::time::Duration;

use endseal_transport::{Backoff, PersistentConnection, Policy};
use tokio::time::{sleep, timeout};

use crate::pair::{HERE, Pair, eventually, frame, limits};
use crate::proxy::{Proxy, Weather};

#[tokio::test(flavor = "multi_thread")]
async fn an_old_connection_is_replaced_and_its_streams_go_on() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let proxy = Proxy::new(pair.address(), Weather::default(), 1).await;
    let (peer, address) = (pair.server.peer_id(), proxy.address());
    let link = PersistentConnection::new(pair.client.clone(), peer, address, Backoff::default())
        .renew_after(Duration::ZERO);
    let (first, first_taken) = tokio::join!(link.connection(), pair.server.accept());
    let (first, first_taken) = (first.unwrap(), first_taken.unwrap());
    let mut messages = first.open_messages().await.unwrap();
    drop(first);
    // Only the second connection goes there directly.
    link.set_address(pair.address());
    let renewed = async {
        loop {
            let connection = link.connection().await.unwrap();
            if connection.path().remote == pair.address() {
                break connection;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    let (second, second_taken) = tokio::join!(renewed, pair.server.accept());
    second.send_control(&frame(2, 10)).await.unwrap();
    assert_eq!(second_taken.unwrap().receive_control().await.unwrap(), Some(frame(2, 10)));
    // A stream of the first connection is still open; the connection ends with it.
    messages.send(&frame(1, 10)).await.unwrap();
    let mut received = first_taken.accept_messages().await.unwrap();
    assert_eq!(received.receive().await.unwrap(), Some(frame(1, 10)));
    drop(messages);
    first_taken.closed().await;
}

/// The path drops new connections, and callers do not wait for the timeout of the attempt.
#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_fails_leaves_the_connection_in_use() {
    let mut hasty = limits();
    hasty.handshake_timeout = Duration::from_millis(1500);
    let pair = Pair::new(Policy::Hybrid, hasty);
    let mut backoff = Backoff::default();
    (backoff.first, backoff.max) = (Duration::from_secs(60), Duration::from_secs(60));
    let (peer, address) = (pair.server.peer_id(), pair.address());
    let link = PersistentConnection::new(pair.client.clone(), peer, address, backoff)
        .renew_after(Duration::ZERO);
    let (first, taken) = tokio::join!(link.connection(), pair.server.accept());
    let (_, taken) = (first.unwrap(), taken.unwrap());
    let silent = std::net::UdpSocket::bind(HERE).unwrap();
    silent.set_nonblocking(true).unwrap();
    let hears = || silent.recv(&mut [0; 2048]).is_ok();
    link.set_address(silent.local_addr().unwrap());
    let in_use = async || {
        let connection = timeout(Duration::from_secs(1), link.connection()).await;
        let connection = connection.expect("it waits for the renewal").unwrap();
        assert_eq!(connection.close_reason(), None);
    };
    in_use().await;
    assert!(eventually(|| pair.client.statistics().handshakes_failed == 1).await);
    while hears() {}
    // The next attempt starts half a minute later or more.
    for _ in 0..3 {
        in_use().await;
        sleep(Duration::from_millis(100)).await;
        assert!(!hears());
    }
    assert_eq!(taken.close_reason(), None);
}
