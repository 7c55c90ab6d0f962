//! Tests of accepted and refused peers.

use std::sync::Arc;
use std::time::Duration;

use endseal_transport::{
    Accept, BindError, CloseCode, Closed, ConnectError, Endpoint, Limits, PeerId, Policy,
    ReceiveError,
};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use crate::pair::{
    HERE, Pair, connected, eventually, frame, key, limits, unless_overtaken, was_reset,
};
use crate::raw::RawClient;

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_know_each_other() {
    for policy in [Policy::Hybrid, Policy::MlKem768Only, Policy::Classical] {
        let pair = Pair::new(policy, limits());
        let (asked, taken) = pair.connect(pair.address()).await;
        assert_eq!(asked.peer(), pair.server.peer_id());
        assert_eq!(taken.peer(), pair.client.peer_id());
        assert_eq!(asked.confirmed().await, Ok(()));
        assert_eq!(asked.handshake().group, policy.group());
        assert_eq!(taken.handshake().signature, policy.signature());
        assert_eq!(pair.client.statistics().connected, 1);
        assert_eq!(pair.server.statistics().accepted, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_key_than_the_pinned_one_is_refused_by_the_client() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let other = key(9, Policy::Hybrid).peer_id();
    let asked = pair.client.connect(other, pair.address()).await;
    assert_eq!(asked.err(), Some(ConnectError::WrongPeer));
    assert_eq!(pair.client.statistics().peers_refused, 1);
    assert!(eventually(|| pair.server.statistics().handshakes_failed == 1).await);
    assert_eq!(pair.server.statistics().accepted, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_not_pinned_is_refused_by_the_server() {
    let is_refused = unless_overtaken(async || {
        let pair = Pair::new(Policy::Hybrid, limits());
        let here = HERE.parse().unwrap();
        let outsider = key(9, Policy::Hybrid);
        let outsider = Endpoint::bind(here, &outsider, Policy::Hybrid, Accept::none()).unwrap();
        // The server decides after the client's last flight, so either call may return the refusal.
        let told = match outsider.connect(pair.server.peer_id(), pair.address()).await {
            Err(error) if was_reset(&error) => None,
            Err(error) => Some(error == ConnectError::Refused),
            Ok(asked) => match asked.confirmed().await {
                Err(Closed::Reset) => None,
                confirmed => {
                    assert_eq!(confirmed, Err(Closed::Refused));
                    let received = asked.receive_control().await;
                    Some(received == Err(ReceiveError::Closed(Closed::Refused)))
                }
            },
        };
        assert!(eventually(|| pair.server.statistics().handshakes_failed == 1).await);
        assert_eq!(pair.server.statistics().accepted, 0);
        told
    });
    assert!(is_refused.await);
    let alert = unless_overtaken(async || {
        let pair = Pair::new(Policy::Hybrid, limits());
        let closed = match RawClient::new(9).dial(pair.address()).await {
            Ok(asked) => asked.closed().await,
            Err(error) => error,
        };
        match closed {
            quinn::ConnectionError::ConnectionClosed(close) => Some(u64::from(close.error_code)),
            quinn::ConnectionError::Reset => None,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(alert.await, 0x100 + 49, "access_denied (RFC 8446, 6.2) as QUIC carries it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_decides_as_a_set_does() {
    let (one, two) = (key(1, Policy::Hybrid), key(2, Policy::Hybrid));
    let wanted: PeerId = one.peer_id();
    let here = HERE.parse().unwrap();
    let accept = Accept::when(move |peer| *peer == wanted);
    let server = Endpoint::bind(here, &two, Policy::Hybrid, accept).unwrap();
    let client = Endpoint::bind(here, &one, Policy::Hybrid, Accept::none()).unwrap();
    let pair = Pair { client, server };
    let (asked, _taken) = pair.connect(pair.address()).await;
    assert_eq!(asked.confirmed().await, Ok(()));
}

/// Neither side can be downgraded below its policy, no matter which of the two is weaker.
#[tokio::test(flavor = "multi_thread")]
async fn policies_do_not_meet_in_the_middle() {
    let all = [Policy::Hybrid, Policy::MlKem768Only, Policy::Classical];
    for ours in all {
        for theirs in all.into_iter().filter(|theirs| *theirs != ours) {
            let here = HERE.parse().unwrap();
            let anyone = || Accept::when(|_| true);
            let server = Endpoint::bind(here, &key(2, theirs), theirs, anyone()).unwrap();
            let client = Endpoint::bind(here, &key(1, ours), ours, anyone()).unwrap();
            let address = server.local_address().unwrap();
            let asked = client.connect(server.peer_id(), address).await;
            assert_eq!(asked.err(), Some(ConnectError::Policy), "{ours:?} {theirs:?}");
            assert!(eventually(|| server.statistics().handshakes_failed == 1).await);
            assert_eq!(server.statistics().accepted, 0);
        }
    }
}

#[tokio::test]
async fn a_key_must_fit_its_policy() {
    let here = HERE.parse().unwrap();
    for (key_of, policy) in
        [(Policy::Hybrid, Policy::Classical), (Policy::Classical, Policy::Hybrid)]
    {
        let made = Endpoint::bind(here, &key(1, key_of), policy, Accept::none());
        assert!(matches!(made.err(), Some(BindError::Key)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_self_signed_certificate_is_refused() {
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate()], certificate_key())
        .unwrap();
    tls.alpn_protocols = vec![b"endseal/1".to_vec()];
    let tls = QuicServerConfig::try_from(tls).unwrap();
    let config = quinn::ServerConfig::with_crypto(Arc::new(tls));
    let server = quinn::Endpoint::server(config, HERE.parse().unwrap()).unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(async move {
        while let Some(incoming) = server.accept().await {
            tokio::spawn(async move { drop(incoming.await) });
        }
    });
    let pair = Pair::new(Policy::Hybrid, limits());
    let asked = pair.client.connect(pair.server.peer_id(), address).await;
    assert_eq!(asked.err(), Some(ConnectError::Policy));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_a_certificate_or_without_a_key_is_refused() {
    let pair = Pair::new(Policy::Hybrid, limits());
    for with_certificate in [true, false] {
        let tls = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone));
        let mut tls = if with_certificate {
            tls.with_client_auth_cert(vec![certificate()], certificate_key()).unwrap()
        } else {
            tls.with_no_client_auth()
        };
        tls.alpn_protocols = vec![b"endseal/1".to_vec()];
        let config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
        let client = quinn::Endpoint::client(HERE.parse().unwrap()).unwrap();
        let asked = client.connect_with(config, pair.address(), "localhost").unwrap().await;
        let error = match asked {
            Err(error) => error,
            Ok(asked) => asked.closed().await,
        };
        assert!(matches!(error, quinn::ConnectionError::ConnectionClosed(_)), "{error:?}");
    }
    assert!(eventually(|| pair.server.statistics().handshakes_failed == 2).await);
    assert_eq!(pair.server.statistics().accepted, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_application_protocol_is_refused() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone))
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    let client = quinn::Endpoint::client(HERE.parse().unwrap()).unwrap();
    let asked = client.connect_with(config, pair.address(), "localhost").unwrap().await;
    assert!(asked.is_err());
    assert_eq!(pair.server.statistics().accepted, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_one_at_home_is_a_timeout() {
    let mut limits = Limits::default();
    limits.handshake_timeout = Duration::from_millis(300);
    let pair = Pair::new(Policy::Hybrid, limits);
    let deaf = std::net::UdpSocket::bind(HERE).unwrap();
    let asked = pair.client.connect(pair.server.peer_id(), deaf.local_addr().unwrap()).await;
    assert_eq!(asked.err(), Some(ConnectError::TimedOut));
    assert_eq!(pair.client.statistics().handshakes_failed, 1);
    let nowhere = "127.0.0.1:0".parse().unwrap();
    let asked = pair.client.connect(pair.server.peer_id(), nowhere).await;
    assert_eq!(asked.err(), Some(ConnectError::Address));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_of_the_application_reaches_the_peer() {
    let told = unless_overtaken(async || {
        let (_pair, asked, taken) = connected(limits()).await;
        asked.send_control(&frame(1, 10)).await.unwrap();
        asked.close(CloseCode::Other(77)).await;
        // Data sent before the close is received before it.
        let heard = taken.receive_control().await.unwrap();
        assert_eq!(heard, Some(frame(1, 10)));
        assert_eq!(asked.close_reason(), Some(Closed::Here));
        Some(taken.closed().await).filter(|closed| *closed != Closed::Reset)
    });
    assert_eq!(told.await, Closed::ByPeer(CloseCode::Other(77)));
}

/// A peer with our post-quantum key exchange and all others: the refusal must come from the side
/// under test.
fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.kx_groups.insert(0, rustls::crypto::aws_lc_rs::kx_group::X25519MLKEM768);
    Arc::new(provider)
}

/// An Ed25519 key and a self-signed certificate (openssl req -x509), valid for a century.
fn certificate() -> CertificateDer<'static> {
    CertificateDer::from(include_bytes!("self_signed.der").to_vec())
}

fn certificate_key() -> PrivateKeyDer<'static> {
    PrivateKeyDer::try_from(include_bytes!("self_signed.key.der").to_vec()).unwrap()
}

#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ML_DSA_65, SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        false
    }
}
