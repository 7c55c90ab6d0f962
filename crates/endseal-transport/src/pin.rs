//! Rule for accepted peers: pinned ids, which are checked before any signature.

use core::fmt;
use std::collections::BTreeSet;
use std::sync::Arc;

use endseal_crypto::peer_id::PeerId;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use crate::key;
use crate::policy::Policy;

/// Rule that decides which peers may connect to an endpoint.
#[derive(Clone)]
pub struct Accept(Rule);

#[derive(Clone)]
enum Rule {
    Pinned(Arc<BTreeSet<PeerId>>),
    Callback(Arc<dyn Fn(&PeerId) -> bool + Send + Sync>),
}

impl Accept {
    /// Accepts no peer: the endpoint can only make outgoing connections.
    #[must_use]
    pub fn none() -> Self {
        Self::pinned([])
    }

    /// Accepts the given peers only.
    #[must_use]
    pub fn pinned(peers: impl IntoIterator<Item = PeerId>) -> Self {
        Self(Rule::Pinned(Arc::new(peers.into_iter().collect())))
    }

    /// Accepts the peers for which `accepts` returns true. It is called during the handshake and
    /// MUST NOT block.
    #[must_use]
    pub fn when(accepts: impl Fn(&PeerId) -> bool + Send + Sync + 'static) -> Self {
        Self(Rule::Callback(Arc::new(accepts)))
    }

    /// Returns true if `peer` is accepted.
    #[must_use]
    pub fn accepts(&self, peer: &PeerId) -> bool {
        match &self.0 {
            Rule::Pinned(peers) => peers.contains(peer),
            Rule::Callback(accepts) => accepts(peer),
        }
    }
}

impl fmt::Debug for Accept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Rule::Pinned(peers) => f.debug_tuple("Pinned").field(peers).finish(),
            Rule::Callback(_) => f.write_str("Callback"),
        }
    }
}

/// Verifies the id and signature of the other side of a handshake, for clients and servers.
#[derive(Debug)]
pub(crate) struct Verifier {
    accept: Accept,
    policy: Policy,
}

impl Verifier {
    pub(crate) fn new(accept: Accept, policy: Policy) -> Arc<Self> {
        Arc::new(Self { accept, policy })
    }

    fn check_id(&self, spki: &[u8], rest: &[CertificateDer<'_>]) -> Result<(), Error> {
        // A raw public key is sent alone; further entries have no meaning.
        let accepted = rest.is_empty() && self.accept.accepts(&PeerId::of_spki(spki));
        let refused = || CertificateError::ApplicationVerificationFailure.into();
        accepted.then_some(()).ok_or_else(refused)
    }

    fn check_signature(
        &self,
        message: &[u8],
        spki: &[u8],
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if key::verify(self.policy, spki, message, signed.scheme, signed.signature()) {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(CertificateError::BadSignature.into())
        }
    }
}

/// Error for TLS 1.2, which rustls has compiled in and this crate never offers.
const TLS12: Error = Error::PeerIncompatible(rustls::PeerIncompatible::Tls12NotOffered);

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check_id(end_entity, intermediates).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(TLS12)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![self.policy.scheme()]
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
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check_id(end_entity, intermediates).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(TLS12)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![self.policy.scheme()]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
