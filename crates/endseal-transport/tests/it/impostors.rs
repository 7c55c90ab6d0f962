//! Impostors: they present the public key of a pinned peer without having the secret key.

use std::sync::Arc;
use std::time::Duration;

use endseal_transport::{Backoff, CloseCode, ConnectError, PersistentConnection, Policy};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::time::{sleep, timeout};

use crate::pair::{Pair, eventually, limits};
use crate::raw::{self, RawClient};

/// Alert decrypt_error (RFC 8446, 6.2) as QUIC carries it.
const DECRYPT_ERROR: u64 = 0x100 + 51;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_signs_with_another_key_than_it_shows_is_refused() {
    let pair = Pair::new(Policy::Hybrid, limits());
    for (owned, expected) in [(2, None), (9, Some(ConnectError::WrongPeer))] {
        let key = raw::certified(2, owned);
        let address = raw::serve(Arc::new(AlwaysResolvesServerRawPublicKeys::new(key)));
        let asked = pair.client.connect(pair.server.peer_id(), address).await;
        assert_eq!(asked.err(), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_signs_with_another_key_than_it_shows_is_refused() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let impostor = RawClient::showing(1, 9);
    let refused = match impostor.dial(pair.address()).await {
        Ok(asked) => asked.closed().await,
        Err(error) => error,
    };
    let quinn::ConnectionError::ConnectionClosed(close) = refused else { panic!("{refused:?}") };
    assert_eq!(u64::from(close.error_code), DECRYPT_ERROR);
    assert!(eventually(|| pair.server.statistics().handshakes_failed == 1).await);
    assert_eq!(pair.server.statistics().accepted, 0);
}

/// Impostors at the peer's address: one that refuses with access_denied, one with another key, and
/// one that signs with another key.
#[tokio::test(flavor = "multi_thread")]
async fn an_impostor_does_not_end_a_persistent_connection() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let mut backoff = Backoff::default();
    (backoff.first, backoff.max) = (Duration::from_millis(10), Duration::from_millis(20));
    let with = |key| Arc::new(AlwaysResolvesServerRawPublicKeys::new(key));
    let impostors: [Arc<dyn ResolvesServerCert>; 3] =
        [Arc::new(NoKey), with(raw::certified(9, 9)), with(raw::certified(2, 9))];
    for impostor in impostors {
        let (peer, address) = (pair.server.peer_id(), raw::serve(impostor));
        let link = PersistentConnection::new(pair.client.clone(), peer, address, backoff);
        let connects = async { link.connection().await.unwrap() };
        let failed = || pair.client.statistics().handshakes_failed;
        let before = failed();
        let peer_comes_back = async {
            assert!(eventually(|| failed() >= before + 2).await);
            link.set_address(pair.address());
            pair.server.accept().await.unwrap()
        };
        tokio::join!(connects, peer_comes_back);
    }
}

/// Calls for the connection are dropped before the back-off time has passed: with an impostor, and
/// with a peer that closes what it has accepted.
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_between_attempts_outlives_the_call() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let mut backoff = Backoff::default();
    (backoff.first, backoff.max) = (Duration::from_secs(60), Duration::from_secs(60));
    let (peer, impostor) = (pair.server.peer_id(), raw::serve(Arc::new(NoKey)));
    let impatient = async |address| {
        let link = PersistentConnection::new(pair.client.clone(), peer, address, backoff);
        for _ in 0..5 {
            let _ = timeout(Duration::from_millis(100), link.connection()).await;
            sleep(Duration::from_millis(20)).await;
        }
    };
    impatient(impostor).await;
    assert_eq!(pair.client.statistics().handshakes_failed, 1);
    let closes = async {
        while let Some(accepted) = pair.server.accept().await {
            accepted.close(CloseCode::Done).await;
        }
    };
    let _ =
        timeout(Duration::from_secs(1), async { tokio::join!(impatient(pair.address()), closes) })
            .await;
    assert_eq!(pair.server.statistics().accepted, 1);
}

#[derive(Debug)]
struct NoKey;

impl ResolvesServerCert for NoKey {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        None
    }
}
