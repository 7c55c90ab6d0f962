//! RSA-OAEP with SHA-256: keys that others manage, in files of PKCS#8 or `SubjectPublicKeyInfo`.
//!
//! A proxy with the public key alone seals, and opens nothing: [`ProviderError::Refused`].

use alloc::sync::Arc;
use core::fmt::Write as _;

use endseal_crypto::rsa_oaep::{InvalidRsaKey, PrivateKey, PublicKey};
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::{hash, label};
use tokio::task::spawn_blocking;

use super::{
    Answer, ContentKey, KeyId, KeyProvider, ProviderError, ProviderKind, UNAVAILABLE_FOR, Wrapped,
};

mod pem;

/// One RSA key, private or public.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct RsaKey {
    id: KeyId,
    kind: Kind,
}

enum Kind {
    Private(PrivateKey),
    Public(PublicKey),
}

impl RsaKey {
    /// Reads PEM or DER: `PRIVATE KEY` (PKCS#8, not encrypted) or `PUBLIC KEY`. The caller MUST
    /// wipe `bytes`.
    ///
    /// The id is `rsa-` and 16 digits in hexadecimal, the first 8 bytes of BLAKE3-derive(
    /// "endseal/s3-proxy@v1 rsa key id", `SubjectPublicKeyInfo`): the same for both halves of a
    /// key.
    ///
    /// # Errors
    /// [`ReadRsaKeyError`].
    pub fn read(bytes: &[u8]) -> Result<Self, ReadRsaKeyError> {
        let pem = pem::decode(bytes)?;
        let der = pem.as_ref().map_or(bytes, |pem| &pem.der[..]);
        let private = pem.as_ref().map(|pem| pem.private);
        let kind = match private {
            Some(true) => Kind::Private(PrivateKey::from_pkcs8(der)?),
            Some(false) => Kind::Public(PublicKey::from_spki(der)?),
            // DER does not say what it is, and nothing is the one and the other.
            None => match PrivateKey::from_pkcs8(der) {
                Ok(key) => Kind::Private(key),
                Err(_) => Kind::Public(PublicKey::from_spki(der)?),
            },
        };
        let mut own = Self { id: id(&[]), kind };
        own.id = id(own.public().spki());
        Ok(own)
    }

    /// The id, which is public.
    #[must_use]
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// Returns true if it opens keys that it wrapped.
    #[must_use]
    pub fn is_private(&self) -> bool {
        matches!(self.kind, Kind::Private(_))
    }

    fn public(&self) -> &PublicKey {
        match &self.kind {
            Kind::Private(key) => key.public(),
            Kind::Public(key) => key,
        }
    }

    fn unwrap(&self, context: &[u8], wrapped: &[u8]) -> Result<ContentKey, ProviderError> {
        let Kind::Private(key) = &self.kind else { return Err(ProviderError::Refused) };
        let opened =
            key.decrypt(context, wrapped).map_err(|_| ProviderError::AuthenticationFailed)?;
        let opened = <&[u8; ContentKey::LEN]>::try_from(&opened[..])
            .map_err(|_| ProviderError::AuthenticationFailed)?;
        Ok(ContentKey::from_bytes(opened))
    }
}

#[allow(clippy::expect_used)]
fn id(spki: &[u8]) -> KeyId {
    let mut digest = [0; 8];
    hash::derive_into(label::S3_RSA_KEY_ID, &[spki], &mut digest);
    let mut text = String::from("rsa-");
    // Writing to a string cannot fail.
    let _ = write!(text, "{:016x}", u64::from_be_bytes(digest));
    KeyId::new(&text).expect("20 characters of the alphabet")
}

/// Wraps under the first of several keys, opens under all private ones.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct RsaProvider {
    first: Arc<RsaKey>,
    others: Vec<Arc<RsaKey>>,
}

impl RsaProvider {
    /// `first` wraps; the others are older ones.
    #[must_use]
    pub fn new(first: RsaKey, others: Vec<RsaKey>) -> Self {
        Self { first: Arc::new(first), others: others.into_iter().map(Arc::new).collect() }
    }

    fn find(&self, key_id: &KeyId) -> Option<&Arc<RsaKey>> {
        core::iter::once(&self.first).chain(&self.others).find(|key| key.id == *key_id)
    }
}

impl KeyProvider for RsaProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Rsa
    }

    fn wrapping_key_id(&self) -> KeyId {
        self.first.id.clone()
    }

    fn knows(&self, key_id: &KeyId) -> bool {
        self.find(key_id).is_some()
    }

    fn wrap<'a>(&'a self, context: &'a [u8], key: &'a ContentKey) -> Answer<'a, Wrapped> {
        Box::pin(async move {
            // 32 bytes are shorter than the longest plaintext of the shortest key: only randomness
            // can fail.
            let bytes = self
                .first
                .public()
                .encrypt(context, key.expose_secret())
                .map_err(|_| ProviderError::Unavailable { retry_after: UNAVAILABLE_FOR })?;
            Ok(Wrapped { key_id: self.first.id.clone(), bytes })
        })
    }

    fn unwrap<'a>(
        &'a self,
        key_id: &'a KeyId,
        context: &'a [u8],
        wrapped: &'a [u8],
    ) -> Answer<'a, ContentKey> {
        Box::pin(async move {
            let key = Arc::clone(self.find(key_id).ok_or(ProviderError::UnknownKey)?);
            let (context, wrapped) = (context.to_vec(), wrapped.to_vec());
            // A millisecond or more, which would hold up the other requests of this thread.
            let opened = spawn_blocking(move || key.unwrap(&context, &wrapped)).await;
            opened.unwrap_or(Err(ProviderError::Unavailable { retry_after: UNAVAILABLE_FOR }))
        })
    }
}

/// Reason why bytes are not an RSA key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadRsaKeyError {
    /// A private key under a passphrase: convert it.
    #[error("the private key is encrypted; convert it with `openssl pkcs8 -topk8 -nocrypt`")]
    Encrypted,
    /// No RSA key of 2,048 to 4,096 bits.
    #[error("{0}")]
    Invalid(InvalidRsaKey),
    /// A private key in the old form, `RSA PRIVATE KEY`: convert it to PKCS#8.
    #[error("the private key is not PKCS#8; convert it with `openssl pkcs8 -topk8 -nocrypt`")]
    Pkcs1,
    /// PEM of something else, or damaged.
    #[error("not PEM of a private or public key")]
    Pem,
}

impl From<InvalidRsaKey> for ReadRsaKeyError {
    fn from(error: InvalidRsaKey) -> Self {
        Self::Invalid(error)
    }
}

/// Returns the DER (PKCS#8) of a private key in PEM.
///
/// # Errors
/// [`ReadRsaKeyError`] if the text is not such PEM.
pub(crate) fn private_key_der(pem: &[u8]) -> Result<Zeroizing<Vec<u8>>, ReadRsaKeyError> {
    match pem::decode(pem)? {
        Some(pem) if pem.private => Ok(pem.der),
        _ => Err(ReadRsaKeyError::Pem),
    }
}

/// Content of a PEM file.
struct Pem {
    der: Zeroizing<Vec<u8>>,
    private: bool,
}
