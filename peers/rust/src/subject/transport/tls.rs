//! TLS 1.3 with raw public keys (RFC 7250) that both sides know beforehand, as endseal uses it,
//! with what rustls provides.

use std::sync::Arc;

use aws_lc_rs::signature::{Ed25519KeyPair, ML_DSA_65_SIGNING, PqdsaKeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, aws_lc_rs as provider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, ServerConfig,
    SignatureScheme,
};

use crate::transport::carrier::{Failure, Who};

/// Application protocol, which QUIC requires.
const ALPN: &[u8] = b"peer";

/// Key exchange group and signature scheme.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// X25519 for the key exchange and Ed25519 for signatures.
    Classical,
    /// X25519MLKEM768 for the key exchange and ML-DSA-65 for signatures.
    PostQuantum,
}

/// Keys of the two ends, and of a third party.
pub(super) struct Keys {
    provider: Arc<CryptoProvider>,
    client: Arc<CertifiedKey>,
    server: Arc<CertifiedKey>,
    outsider: Arc<CertifiedKey>,
}

impl Strength {
    /// Returns rustls' own provider with a single group, so that nothing is negotiated.
    fn provider(self) -> CryptoProvider {
        let group = match self {
            Self::Classical => provider::kx_group::X25519,
            Self::PostQuantum => provider::kx_group::X25519MLKEM768,
        };
        CryptoProvider { kx_groups: vec![group], ..provider::default_provider() }
    }

    fn key(self, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, Failure> {
        let pkcs8 = match self {
            Self::Classical => Ed25519KeyPair::generate()?.to_pkcs8()?.as_ref().to_vec(),
            Self::PostQuantum => {
                PqdsaKeyPair::generate(&ML_DSA_65_SIGNING)?.to_pkcs8v1()?.as_ref().to_vec()
            }
        };
        let pkcs8 = PrivatePkcs8KeyDer::from(pkcs8);
        let key = provider.key_provider.load_private_key(pkcs8.into())?;
        let spki = key.public_key().ok_or("the key has no public part")?;
        let spki = CertificateDer::from(spki.as_ref().to_vec());
        Ok(Arc::new(CertifiedKey::new(vec![spki], key)))
    }
}

impl Keys {
    pub(super) fn new(strength: Strength) -> Result<Self, Failure> {
        let provider = strength.provider();
        Ok(Self {
            client: strength.key(&provider)?,
            server: strength.key(&provider)?,
            outsider: strength.key(&provider)?,
            provider: Arc::new(provider),
        })
    }

    /// Creates the client's settings. Sessions are not resumed, so every handshake is complete.
    pub(super) fn client_config(&self, who: Who) -> Result<ClientConfig, Failure> {
        let own = if who == Who::Outsider { &self.outsider } else { &self.client };
        let meant = if who == Who::Misled { &self.outsider } else { &self.server };
        let mut config = ClientConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(self.pin(meant)?)
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
                own.clone(),
            )));
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.enable_sni = false;
        config.resumption = Resumption::disabled();
        Ok(config)
    }

    /// Creates the server's settings, without tickets, because sessions are not resumed.
    pub(super) fn server_config(&self) -> Result<ServerConfig, Failure> {
        let mut config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(self.pin(&self.client)?)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(
                self.server.clone(),
            )));
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    fn pin(&self, key: &CertifiedKey) -> Result<Arc<Pin>, Failure> {
        let spki = key.cert.first().ok_or("a key without its public part")?.to_vec();
        Ok(Arc::new(Pin { provider: self.provider.clone(), spki }))
    }
}

/// A verifier that accepts exactly one key.
#[derive(Debug)]
struct Pin {
    provider: Arc<CryptoProvider>,
    spki: Vec<u8>,
}

impl Pin {
    fn check_key(&self, spki: &CertificateDer<'_>) -> Result<(), rustls::Error> {
        if spki.as_ref() == self.spki.as_slice() {
            return Ok(());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn check_signature(
        &self,
        message: &[u8],
        spki: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let spki = SubjectPublicKeyInfoDer::from(spki.as_ref());
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &spki, signed, algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Returned for TLS 1.2, which is never offered.
fn no_tls12() -> rustls::Error {
    rustls::Error::General("TLS 1.2".into())
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        spki: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.check_key(spki).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _spki: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        spki: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check_signature(message, spki, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Pin {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        spki: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.check_key(spki).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _spki: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        spki: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.check_signature(message, spki, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
