//! Key with which a side authenticates itself in a handshake.

use core::fmt;
use std::sync::Arc;

use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::{ed25519, hash, label, mldsa65};
use rustls::pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

use crate::policy::Policy;

/// Signing key of a side, ready for handshakes, with its peer id. Clones share the secret.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct TransportKey {
    secret: Arc<Secret>,
    spki: Arc<[u8]>,
    id: PeerId,
    /// Key of stateless resets.
    reset: Arc<Zeroizing<[u8; hash::LEN]>>,
}

enum Secret {
    MlDsa65(mldsa65::SystemSigningKey),
    Ed25519(Box<ed25519::SigningKey>),
}

impl TransportKey {
    /// Derives the ML-DSA-65 key of an identity. Takes about 0.1 ms.
    #[must_use]
    #[allow(clippy::missing_panics_doc, clippy::expect_used)]
    pub fn new(identity: &Identity) -> Self {
        let key = identity.transport_key();
        let spki = key.public_key().to_spki();
        let reset = reset_key(key.seed().expose_secret());
        let key = mldsa65::SystemSigningKey::from_seed(key.seed());
        Self::of(Secret::MlDsa65(key.expect("only exhausted memory fails here")), &spki, reset)
    }

    /// Derives the Ed25519 key of an identity, which fits [`Policy::Classical`] only.
    #[must_use]
    pub fn classical(identity: &Identity) -> Self {
        let seed = ed25519::Seed::from_bytes(identity.signing().seed().expose_secret());
        let reset = reset_key(seed.expose_secret());
        let key = ed25519::SigningKey::from_seed(seed);
        let spki = [&ED25519_SPKI_PREFIX[..], key.public_key().as_bytes()].concat();
        Self::of(Secret::Ed25519(Box::new(key)), &spki, reset)
    }

    fn of(secret: Secret, spki: &[u8], reset: Zeroizing<[u8; hash::LEN]>) -> Self {
        let id = PeerId::of_spki(spki);
        Self { secret: Arc::new(secret), spki: spki.into(), id, reset: Arc::new(reset) }
    }

    /// Returns the key of stateless resets.
    pub(crate) fn reset_key(&self) -> Zeroizing<[u8; hash::LEN]> {
        Zeroizing::clone(&self.reset)
    }

    /// Returns the peer id of the key, which other sides pin.
    #[must_use]
    pub fn peer_id(&self) -> PeerId {
        self.id
    }

    /// Returns the DER-encoded `SubjectPublicKeyInfo` that this side sends in place of a
    /// certificate.
    #[must_use]
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// Returns true if the key has the signature scheme of `policy`.
    pub(crate) fn fits(&self, policy: Policy) -> bool {
        self.secret.scheme() == policy.scheme()
    }

    /// Returns the key in rustls's form, with the raw public key in place of a certificate (RFC
    /// 7250).
    pub(crate) fn certified(&self) -> Arc<CertifiedKey> {
        let spki = CertificateDer::from(self.spki.to_vec());
        Arc::new(CertifiedKey::new(vec![spki], Arc::new(RustlsKey(self.clone()))))
    }
}

fn reset_key(seed: &[u8]) -> Zeroizing<[u8; hash::LEN]> {
    let mut key = Zeroizing::new([0; hash::LEN]);
    hash::derive_into(label::TRANSPORT_RESET, &[seed], &mut *key);
    key
}

/// Bytes before an Ed25519 key in its `SubjectPublicKeyInfo` (RFC 8410).
const ED25519_SPKI_PREFIX: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

impl Secret {
    fn scheme(&self) -> SignatureScheme {
        match self {
            Self::MlDsa65(_) => SignatureScheme::ML_DSA_65,
            Self::Ed25519(_) => SignatureScheme::ED25519,
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match self {
            // TLS 1.3 puts its own context string before the signed data, so this one is empty.
            Self::MlDsa65(key) => match key.sign(message, &[]) {
                Ok(signature) => Ok(signature.as_bytes().to_vec()),
                Err(error) => Err(Error::General(error.to_string())),
            },
            Self::Ed25519(key) => Ok(key.sign(message).as_bytes().to_vec()),
        }
    }
}

/// Checks the signature of a handshake. The id of the key has been accepted before.
pub(crate) fn verify(
    policy: Policy,
    spki: &[u8],
    message: &[u8],
    scheme: SignatureScheme,
    signature: &[u8],
) -> bool {
    if scheme != policy.scheme() {
        return false;
    }
    match policy {
        Policy::Hybrid | Policy::MlKem768Only => {
            let (Ok(key), Ok(signature)) =
                (mldsa65::PublicKey::from_spki(spki), signature.try_into())
            else {
                return false;
            };
            key.verify(message, &[], &mldsa65::Signature::from_bytes(signature)).is_ok()
        }
        Policy::Classical => {
            let key = spki.strip_prefix(&ED25519_SPKI_PREFIX).and_then(|key| key.try_into().ok());
            let (Some(key), Ok(signature)) = (key, signature.try_into()) else { return false };
            let signature = ed25519::Signature::from_bytes(signature);
            ed25519::PublicKey::from_signed(key, message, &signature).is_ok()
        }
    }
}

/// Adapter that signs handshakes for rustls.
struct RustlsKey(TransportKey);

impl SigningKey for RustlsKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let own = self.0.secret.scheme();
        offered.contains(&own).then(|| Box::new(RustlsSigner(self.0.clone())) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(SubjectPublicKeyInfoDer::from(&self.0.spki[..]))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        match *self.0.secret {
            // A code of TLS 1.2, which has none for ML-DSA and is never used here.
            Secret::MlDsa65(_) => SignatureAlgorithm::Unknown(9),
            Secret::Ed25519(_) => SignatureAlgorithm::ED25519,
        }
    }
}

impl fmt::Debug for RustlsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.id.fmt(f)
    }
}

struct RustlsSigner(TransportKey);

impl Signer for RustlsSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        self.0.secret.sign(message)
    }

    fn scheme(&self) -> SignatureScheme {
        self.0.secret.scheme()
    }
}

impl fmt::Debug for RustlsSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.id.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use endseal_crypto::mlkem768;

    use super::*;

    #[test]
    fn signatures_of_another_key_scheme_or_message_are_refused() {
        let identity = |n: u8| {
            let kem = mlkem768::Seed::from_bytes(&[n; 64]);
            Identity::from_seeds(ed25519::Seed::from_bytes(&[n; 32]), kem)
        };
        for policy in [Policy::Hybrid, Policy::MlKem768Only, Policy::Classical] {
            let new: fn(&Identity) -> TransportKey = match policy {
                Policy::Classical => TransportKey::classical,
                Policy::Hybrid | Policy::MlKem768Only => TransportKey::new,
            };
            let (own, other) = (new(&identity(1)), new(&identity(2)));
            let signature = own.secret.sign(b"message").unwrap();
            let scheme = policy.scheme();
            let accepted = |key: &TransportKey, message: &[u8], scheme, signature: &[u8]| {
                verify(policy, key.spki(), message, scheme, signature)
            };
            assert!(accepted(&own, b"message", scheme, &signature), "{policy:?}");
            assert!(!accepted(&other, b"message", scheme, &signature), "{policy:?}");
            assert!(!accepted(&own, b"massage", scheme, &signature), "{policy:?}");
            assert!(!accepted(&own, b"message", scheme, &signature[1..]), "{policy:?}");
            let another = SignatureScheme::RSA_PSS_SHA256;
            assert!(!accepted(&own, b"message", another, &signature), "{policy:?}");
        }
    }
}
