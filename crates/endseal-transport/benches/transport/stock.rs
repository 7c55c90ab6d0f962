//! Alternatives for comparison: plain quinn and TCP, with rustls's own TLS code and the same keys.

use std::sync::Arc;

use endseal_crypto::identity::Identity;
use endseal_transport::Policy;
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use crate::key;

/// TLS configurations of both sides. Identity 1 is the client, identity 2 the server.
pub(crate) fn tls(policy: Policy) -> (Arc<rustls::ClientConfig>, Arc<rustls::ServerConfig>) {
    let verifier = || Arc::new(Verifier(policy, provider(policy)));
    let mut client = rustls::ClientConfig::builder_with_provider(provider(policy))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(verifier())
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(certified(
            1, policy,
        ))));
    client.resumption = rustls::client::Resumption::disabled();
    let mut server = rustls::ServerConfig::builder_with_provider(provider(policy))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_client_cert_verifier(verifier())
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified(2, policy))));
    server.send_tls13_tickets = 0;
    client.alpn_protocols = vec![b"bench".to_vec()];
    server.alpn_protocols = vec![b"bench".to_vec()];
    (Arc::new(client), Arc::new(server))
}

fn provider(policy: Policy) -> Arc<rustls::crypto::CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    provider.kx_groups = vec![if policy.is_post_quantum() {
        aws_lc_rs::kx_group::X25519MLKEM768
    } else {
        aws_lc_rs::kx_group::X25519
    }];
    Arc::new(provider)
}

fn certified(n: u8, policy: Policy) -> Arc<CertifiedKey> {
    let identity: Identity = crate::identity(n);
    let (head, seed): (&[u8], _) = if policy.is_post_quantum() {
        let head = &[
            0x30, 0x34, 2, 1, 0, 0x30, 0x0b, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 0x12, 4,
            0x22, 0x80, 0x20,
        ];
        (head, *identity.transport_key().seed().expose_secret())
    } else {
        let head = &[0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        (head, *identity.signing().seed().expose_secret())
    };
    let pkcs8 = PrivateKeyDer::Pkcs8([head, &seed].concat().into());
    let signing = aws_lc_rs::sign::any_supported_type(&pkcs8).unwrap();
    let spki = CertificateDer::from(key(n, policy).spki().to_vec());
    Arc::new(CertifiedKey::new(vec![spki], signing))
}

/// Compares the key, and lets rustls verify the signature.
#[derive(Debug)]
struct Verifier(Policy, Arc<rustls::crypto::CryptoProvider>);

impl Verifier {
    fn pinned(&self, spki: &[u8]) -> Result<(), Error> {
        let known = [1, 2].iter().any(|n| key(*n, self.0).spki() == spki);
        let refused = || rustls::CertificateError::ApplicationVerificationFailure.into();
        known.then_some(()).ok_or_else(refused)
    }

    fn signature(
        &self,
        message: &[u8],
        spki: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let spki = SubjectPublicKeyInfoDer::from(spki.as_ref());
        let algorithms = &self.1.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature_with_raw_key(message, &spki, signed, algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::from(self.0.signature().number)]
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        spki: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.pinned(spki).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        spki: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature(message, spki, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        spki: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.pinned(spki).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        spki: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature(message, spki, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
