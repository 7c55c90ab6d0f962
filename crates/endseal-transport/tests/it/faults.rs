//! Either side may disappear at any moment.

use std::net::SocketAddr;
use std::time::Duration;

use endseal_transport::{
    Accept, Backoff, CloseCode, Closed, ConnectError, Endpoint, PersistentConnection, Policy,
    ReceiveError, SendError,
};

use crate::pair::{HERE, Pair, frame, key, limits};
use crate::proxy::{Proxy, Weather};

/// A side disappears without a close message: the runtime that drives it is dropped during a
/// transfer.
#[test]
fn the_other_side_learns_of_a_death_and_nothing_looks_complete() {
    for sender_dies in [true, false] {
        // With one thread, nothing is polled after the first task is dropped. With more threads,
        // the end of the stream could still be sent.
        let mortal = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let survivor = tokio::runtime::Runtime::new().unwrap();
        let mut hasty = limits();
        hasty.idle_timeout = Duration::from_millis(800);
        let (one, two) = (key(1, Policy::Hybrid), key(2, Policy::Hybrid));
        let here: SocketAddr = HERE.parse().unwrap();
        let (of_client, of_server) =
            if sender_dies { (&mortal, &survivor) } else { (&survivor, &mortal) };
        let server = of_server
            .block_on(async {
                let accept = Accept::pinned([one.peer_id()]);
                Endpoint::bind_with(here, &two, Policy::Hybrid, accept, hasty.clone())
            })
            .unwrap();
        let address = server.local_address().unwrap();
        let receiving = of_server.spawn(async move {
            let taken = server.accept().await.unwrap();
            let mut messages = taken.accept_messages().await.unwrap();
            let mut count = 0_u32;
            loop {
                match messages.receive().await {
                    Ok(Some(_)) => count += 1,
                    Ok(None) => return (count, None),
                    Err(error) => return (count, Some(error)),
                }
            }
        });
        let sending = of_client.spawn(async move {
            let client =
                Endpoint::bind_with(here, &one, Policy::Hybrid, Accept::none(), hasty).unwrap();
            let asked = client.connect(two.peer_id(), address).await.unwrap();
            let mut messages = asked.open_messages().await.unwrap();
            let one = frame(1, 60_000);
            loop {
                if let Err(error) = messages.send(&one).await {
                    return error;
                }
            }
        });
        std::thread::sleep(Duration::from_millis(400));
        mortal.shutdown_timeout(Duration::from_millis(100));
        if sender_dies {
            let (count, error) = survivor.block_on(receiving).unwrap();
            assert!(count > 0);
            assert_eq!(error, Some(ReceiveError::Closed(Closed::TimedOut)));
        } else {
            let error = survivor.block_on(sending).unwrap();
            assert_eq!(error, SendError::Closed(Closed::TimedOut));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_comes_back_when_the_peer_does() {
    let mut hasty = limits();
    hasty.handshake_timeout = Duration::from_millis(500);
    let pair = Pair::new(Policy::Hybrid, hasty.clone());
    let (peer, address) = (pair.server.peer_id(), pair.address());
    let mut backoff = Backoff::default();
    (backoff.first, backoff.max) = (Duration::from_millis(20), Duration::from_millis(100));
    let link = PersistentConnection::new(pair.client.clone(), peer, address, backoff);
    let first = link.connection().await.unwrap();
    let again = link.connection().await.unwrap();
    again.send_control(&frame(1, 10)).await.unwrap();
    let taken = pair.server.accept().await.unwrap();
    assert_eq!(taken.receive_control().await.unwrap(), Some(frame(1, 10)));
    assert_eq!(pair.client.statistics().connected, 1, "the same connection");

    // The server disappears, and returns at another address after a while.
    pair.server.close(CloseCode::Done).await;
    // A reset may hide the close reason (`unless_overtaken`); it is not checked here.
    let closed = first.closed().await;
    assert!(matches!(closed, Closed::ByPeer(CloseCode::Done) | Closed::Reset), "{closed:?}");
    drop(taken);
    let accept = Accept::pinned([pair.client.peer_id()]);
    let two = key(2, Policy::Hybrid);
    let reborn = Endpoint::bind_with(HERE.parse().unwrap(), &two, Policy::Hybrid, accept, hasty);
    let reborn = reborn.unwrap();
    let proxy = Proxy::new(reborn.local_address().unwrap(), Weather::default(), 1).await;
    link.set_address(proxy.address());
    let (back, taken) = tokio::join!(link.connection(), reborn.accept());
    back.unwrap().send_control(&frame(2, 10)).await.unwrap();
    assert_eq!(taken.unwrap().receive_control().await.unwrap(), Some(frame(2, 10)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_does_not_insist_where_it_is_not_wanted() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let outsider = key(9, Policy::Hybrid);
    let here = HERE.parse().unwrap();
    let outsider =
        Endpoint::bind_with(here, &outsider, Policy::Hybrid, Accept::none(), limits()).unwrap();
    let (peer, address) = (pair.server.peer_id(), pair.address());
    // On a busy machine a refusal may be there before the client looks; it does not count then.
    let mut backoff = Backoff::default();
    (backoff.first, backoff.max) = (Duration::from_millis(10), Duration::from_millis(20));
    let link = PersistentConnection::new(outsider, peer, address, backoff);
    assert_eq!(link.connection().await.err(), Some(ConnectError::Refused));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_is_trying_learns_of_another_address() {
    let mut hasty = limits();
    hasty.handshake_timeout = Duration::from_millis(200);
    let pair = Pair::new(Policy::Hybrid, hasty);
    let deaf = std::net::UdpSocket::bind(HERE).unwrap();
    let mut backoff = Backoff::default();
    (backoff.first, backoff.max) = (Duration::from_millis(10), Duration::from_millis(20));
    let nowhere = deaf.local_addr().unwrap();
    let link =
        PersistentConnection::new(pair.client.clone(), pair.server.peer_id(), nowhere, backoff);
    let tell = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        link.set_address(pair.address());
    };
    let (connection, ()) = tokio::join!(link.connection(), tell);
    assert_eq!(connection.unwrap().path().remote, pair.address());
    assert!(pair.client.statistics().connected == 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_gives_up_after_its_attempts() {
    let mut hasty = limits();
    hasty.handshake_timeout = Duration::from_millis(50);
    let pair = Pair::new(Policy::Hybrid, hasty);
    let deaf = std::net::UdpSocket::bind(HERE).unwrap();
    let mut backoff = Backoff::default();
    (backoff.first, backoff.attempts) = (Duration::from_millis(1), Some(3));
    let address = deaf.local_addr().unwrap();
    let link =
        PersistentConnection::new(pair.client.clone(), pair.server.peer_id(), address, backoff);
    assert_eq!(link.connection().await.err(), Some(ConnectError::TimedOut));
}
