//! Tests of HTTPS. The certificates in `tls/` were created for these tests and are valid for a
//! hundred years.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::buffers::{LONG, pattern, read_into};
use super::server::OK;
use super::*;

const AUTHORITY: &[u8] = include_bytes!("tls/ca.pem");
const SERVER: &[u8] = include_bytes!("tls/server.pem");
const KEY: &[u8] = include_bytes!("tls/server.key");

/// Answers each request over one version of TLS. With `cut`, the connection closes without a TLS
/// close message.
async fn serve(version: &'static rustls::SupportedProtocolVersion, cut: bool) -> u16 {
    let chain = CertificateDer::pem_slice_iter(SERVER).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut buffer = Vec::new();
                while let Ok(1..) = stream.read_buf(&mut buffer).await {
                    if !buffer.ends_with(b"\r\n\r\n") {
                        continue;
                    }
                    let is_long = buffer.starts_with(b"GET /long ");
                    buffer.clear();
                    if is_long {
                        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LONG}\r\n\r\n");
                        let _gone = stream.write_all(head.as_bytes()).await;
                        let _gone = stream.write_all(&pattern(LONG)).await;
                        continue;
                    }
                    if cut {
                        let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\npart").await;
                        let _gone = stream.flush().await;
                        return;
                    }
                    let _gone = stream.write_all(OK).await;
                }
            });
        }
    });
    port
}

fn client(host: &str, port: u16, trust: Trust) -> Client {
    let target = Target::parse(&format!("https://{host}:{port}")).unwrap();
    Client::new(target, trust, limits())
}

fn own() -> Trust {
    Trust::public().with_authorities(AUTHORITY).unwrap()
}

#[tokio::test]
async fn both_versions_of_tls_are_spoken() {
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let client = client("localhost", serve(version, false).await, own());
        for _ in 0..3 {
            let response = get(&client, "/").await.unwrap();
            assert_eq!(read(response.into_body()).await, (b"hi".to_vec(), None));
        }
        let counters = client.counters();
        assert_eq!((counters.opened(), counters.reused(), counters.retried()), (1, 2, 0));
    }
}

#[tokio::test]
async fn long_bodies_are_read_into_memory_of_the_callers() {
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let client = client("localhost", serve(version, false).await, own());
        for _ in 0..3 {
            let mut body = get(&client, "/long").await.unwrap().into_body();
            let (read, error) = read_into(&mut body, 1 << 20, usize::MAX).await;
            assert!(read == pattern(LONG) && error.is_none());
        }
        assert_eq!((client.counters().opened(), client.counters().reused()), (1, 2));
    }
}

#[tokio::test]
async fn a_kept_connection_stays_with_its_runtime() {
    stays(&client("localhost", serve(&rustls::version::TLS13, false).await, own())).await;
}

#[tokio::test]
async fn a_server_that_is_not_trusted_gets_no_request() {
    let port = serve(&rustls::version::TLS13, false).await;
    for (host, trust) in [("localhost", Trust::public()), ("127.0.0.1", own())] {
        let client = client(host, port, trust);
        let error = get(&client, "/").await.unwrap_err();
        let ClientError::Tls(rustls::Error::InvalidCertificate(_)) = error else {
            panic!("{error:?}");
        };
        assert_eq!((client.counters().bytes_sent(), client.counters().unreachable()), (0, 1));
    }
}

#[tokio::test]
async fn an_end_without_goodbye_is_no_end() {
    // The body ends with the connection, so an attacker who cuts it could make a part look
    // complete.
    let client = client("localhost", serve(&rustls::version::TLS13, true).await, own());
    let response = get(&client, "/").await.unwrap();
    let (body, error) = read(response.into_body()).await;
    assert_eq!((&body[..], error), (&b"part"[..], Some(ResponseError::Broken)));
}

#[tokio::test]
async fn what_speaks_no_tls_is_told_apart() {
    let server = server::serve(|mut peer| async move {
        peer.say(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    })
    .await;
    let error = get(&client("localhost", server.port, own()), "/").await.unwrap_err();
    assert!(matches!(error, ClientError::Tls(_)), "{error:?}");
}

#[test]
fn a_file_without_authorities_is_refused() {
    assert!(Trust::public().with_authorities(b"").is_err());
    assert!(Trust::public().with_authorities(KEY).is_err());
    let broken = AUTHORITY.iter().map(|b| if *b == b'M' { b'!' } else { *b }).collect::<Vec<_>>();
    assert!(Trust::public().with_authorities(&broken).is_err());
    assert!(format!("{:?}", own()).starts_with("Trust("));
}
