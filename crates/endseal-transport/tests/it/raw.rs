//! A peer with an accepted key that uses rustls's own TLS code and may violate the protocol.

use std::sync::Arc;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::ResolvesServerCert;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use crate::pair::{HERE, identity};

/// A client with the ML-DSA-65 key of `identity(n)`.
pub(crate) struct RawClient {
    endpoint: quinn::Endpoint,
    config: quinn::ClientConfig,
}

impl RawClient {
    pub(crate) fn new(n: u8) -> Self {
        Self::showing(n, n)
    }

    /// Makes a client that presents the key of `identity(shown)` and signs with that of
    /// `identity(owned)`.
    pub(crate) fn showing(shown: u8, owned: u8) -> Self {
        let config = Arc::new(QuicClientConfig::try_from(tls(certified(shown, owned))).unwrap());
        let endpoint = quinn::Endpoint::client(HERE.parse().unwrap()).unwrap();
        Self { endpoint, config: quinn::ClientConfig::new(config) }
    }

    /// Makes a client with another version of QUIC.
    pub(crate) fn with_version(mut self, version: u32) -> Self {
        self.config.version(version);
        self
    }

    pub(crate) fn dial(&self, address: std::net::SocketAddr) -> quinn::Connecting {
        self.endpoint.connect_with(self.config.clone(), address, "localhost").unwrap()
    }
}

/// Starts a server that answers with the keys of `resolver`, until the test ends.
pub(crate) fn serve(resolver: Arc<dyn ResolvesServerCert>) -> std::net::SocketAddr {
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_client_cert_verifier(Arc::new(Anyone))
        .with_cert_resolver(resolver);
    tls.alpn_protocols = vec![b"endseal/1".to_vec()];
    let config =
        quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    let endpoint = quinn::Endpoint::server(config, HERE.parse().unwrap()).unwrap();
    let address = endpoint.local_addr().unwrap();
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            tokio::spawn(async move {
                if let Ok(connection) = incoming.await {
                    connection.closed().await;
                }
            });
        }
    });
    address
}

/// Combines the public key of `identity(shown)` with the secret key of `identity(owned)`, from
/// PKCS#8.
pub(crate) fn certified(shown: u8, owned: u8) -> Arc<CertifiedKey> {
    // OneAsymmetricKey with the seed only (RFC 9881, 6).
    let mut pkcs8 = vec![0x30, 0x34, 2, 1, 0, 0x30, 0x0b, 6, 9];
    pkcs8.extend([0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 0x12, 4, 0x22, 0x80, 0x20]);
    pkcs8.extend(identity(owned).transport_key().seed().expose_secret());
    let pkcs8 = PrivateKeyDer::Pkcs8(pkcs8.into());
    let signing = aws_lc_rs::sign::any_supported_type(&pkcs8).unwrap();
    let spki = CertificateDer::from(identity(shown).transport_key().public_key().to_spki());
    Arc::new(CertifiedKey::new(vec![spki], signing))
}

fn provider() -> Arc<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    provider.kx_groups = vec![aws_lc_rs::kx_group::X25519MLKEM768];
    Arc::new(provider)
}

/// Returns the TLS configuration of a client as rustls makes it.
fn tls(certified: Arc<CertifiedKey>) -> rustls::ClientConfig {
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(StockVerifier))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(certified)));
    tls.alpn_protocols = vec![b"endseal/1".to_vec()];
    tls.enable_early_data = true;
    tls
}

/// Accepts every key, and lets rustls verify the signature.
#[derive(Debug)]
struct StockVerifier;

impl ServerCertVerifier for StockVerifier {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        panic!("TLS 1.2")
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        spki: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let spki = SubjectPublicKeyInfoDer::from(spki.as_ref());
        let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature_with_raw_key(message, &spki, signed, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ML_DSA_65]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// Accepts every client, and does not check its signature.
#[derive(Debug)]
struct Anyone;

impl ClientCertVerifier for Anyone {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        panic!("TLS 1.2")
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ML_DSA_65]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
