//! Impostors: they show the public key of a pinned peer, and do not have the secret one.

use std::sync::Arc;

use endseal_transport::{ConnectError, Policy};
use rustls::server::AlwaysResolvesServerRawPublicKeys;

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
