//! TLS in front of the relay. The certificates were made for these tests and are valid for a
//! hundred years.

use std::net::SocketAddr;
use std::sync::Arc;

use endseal_relay::client::{Disconnect, Notification};
use endseal_relay::{ConnectError, Trust};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::fixture::*;

const AUTHORITY: &[u8] = include_bytes!("tls/ca.pem");
const SERVER: &[u8] = include_bytes!("tls/server.pem");
const KEY: &[u8] = include_bytes!("tls/server.key");

/// Starts a proxy that terminates TLS and forwards to `target`. Returns its port.
async fn terminate(target: SocketAddr) -> u16 {
    let chain = CertificateDer::pem_slice_iter(SERVER).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut upstream = TcpStream::connect(target).await.unwrap();
                let _ended = copy_bidirectional(&mut stream, &mut upstream).await;
            });
        }
    });
    port
}

#[tokio::test]
async fn a_relay_with_tls_is_used_like_another() {
    let server = server().await;
    let port = terminate(server.address()).await;
    let mut settings = settings(&format!("wss://localhost:{port}"));
    settings.trust = Trust::public().with_authorities(AUTHORITY).unwrap();
    settings.information = true;
    let mut client = Client::start(settings);
    client.relay.subscribe(Some(filter(&["bob"])));
    client.connected().await;
    until(async || server.subscriptions() == 1).await;
    let large = "x".repeat(200_000);
    client.publish(&message_to("bob", &large));
    assert_eq!(client.contents(1).await, [large]);
    until(async || client.relay.max_message_length() == Some(512 * 1024)).await;
}

#[tokio::test]
async fn a_relay_that_is_not_trusted_is_not_used() {
    let server = server().await;
    let port = terminate(server.address()).await;
    let own = Trust::public().with_authorities(AUTHORITY).unwrap();
    for (host, trust) in [("localhost", Trust::public()), ("127.0.0.1", own)] {
        let mut settings = settings(&format!("wss://{host}:{port}"));
        settings.trust = trust;
        let mut client = Client::start(settings);
        let Notification::Disconnected { reason, .. } = client.next().await else { panic!() };
        assert!(
            matches!(
                reason,
                Disconnect::Connect(ConnectError::Tls(rustls::Error::InvalidCertificate(_)))
            ),
            "{host}: {reason}"
        );
    }
    assert_eq!(server.connections(), 0);
    assert!(Trust::public().with_authorities(KEY).is_err());
}
