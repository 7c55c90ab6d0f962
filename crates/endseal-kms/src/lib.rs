#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | provider | wraps with | kept in |
//! |---|---|---|
//! | [`RingProvider`] | AES-256-GCM | a file, plain or under a passphrase (docs/spec/s3-key-ring.md) |
//! | [`RsaProvider`] | RSA-OAEP with SHA-256 | files of PKCS#8 and `SubjectPublicKeyInfo` |
//! | [`VaultProvider`] | the transit engine of HashiCorp Vault or OpenBao | the server |
//! | [`AwsKmsProvider`] | AWS Key Management Service | the service |
//! | [`GcpKmsProvider`] | Google Cloud KMS | the service |
//! | [`Several`] | the first of several | theirs |
//! | [`Cached`] | another provider, asked as rarely as possible | memory, for a bounded time |
//!
//! The *context* names the format that a wrapped key belongs to (docs/spec/s3-object.md,
//! "Header"). Every provider authenticates it, and unwraps a content key under the same context
//! only.
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "there is nothing here without std"
)]

extern crate alloc;

use core::future::Future;
use core::pin::Pin;
use core::time::Duration;

use endseal_crypto::random::{OsRandom, Random};

pub mod aws;
pub mod cache;
pub mod gcp;
mod http_client;
pub mod key_file;
pub mod ring;
pub mod rsa;
mod several;
pub mod vault;

pub use aws::AwsKmsProvider;
pub use cache::Cached;
pub use endseal_s3_format::{ContentKey, InvalidKeyId, KeyId};
pub use gcp::GcpKmsProvider;
pub use http_client::{HttpClient, HttpFailure, Pending};
pub use ring::{Ring, RingProvider};
pub use rsa::RsaProvider;
pub use several::Several;
pub use vault::VaultProvider;

/// Future answer of a provider.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, ProviderError>> + Send + 'a>>;

/// Greatest length of a wrapped key in bytes, which the header of an object can hold.
pub const MAX_WRAPPED: usize = 512;

/// Time until the next attempt if the provider does not state one.
const UNAVAILABLE_FOR: Duration = Duration::from_secs(1);

/// Wraps content keys and opens them.
///
/// Providers are shared by all requests. Dropping an answer cancels its request.
pub trait KeyProvider: Send + Sync {
    /// Kind of the provider, for metrics and messages.
    fn kind(&self) -> ProviderKind;

    /// The id under which [`Self::wrap`] wraps now.
    fn wrapping_key_id(&self) -> KeyId;

    /// Returns true if [`Self::unwrap`] could open keys that are wrapped under that id.
    fn knows(&self, key_id: &KeyId) -> bool;

    /// Returns true if a key that was wrapped under `key_id` is as new as `sample`, which
    /// [`Self::wrap`] made just now: of the same key, and the same version of that key where keys
    /// have versions.
    fn is_as_new(&self, key_id: &str, wrapped: &[u8], sample: &Wrapped) -> bool {
        let _ = wrapped;
        key_id == sample.key_id.as_str()
    }

    /// Wraps a content key, bound to `context`.
    fn wrap<'a>(&'a self, context: &'a [u8], key: &'a ContentKey) -> Answer<'a, Wrapped>;

    /// The same with a source of randomness that is at hand: for a provider that needs some itself.
    fn wrap_with<'a>(
        &'a self,
        context: &'a [u8],
        key: &'a ContentKey,
        random: &'a mut (dyn Random + Send),
    ) -> Answer<'a, Wrapped> {
        let _ = random;
        self.wrap(context, key)
    }

    /// Unwraps a key that was wrapped under `key_id` with the same context. `wrapped` comes from
    /// the storage of the object and may be hostile.
    fn unwrap<'a>(
        &'a self,
        key_id: &'a KeyId,
        context: &'a [u8],
        wrapped: &'a [u8],
    ) -> Answer<'a, ContentKey>;
}

/// A wrapped content key and the id of the key that wrapped it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "two fields of the object's header")]
pub struct Wrapped {
    /// Id of the key that wrapped the bytes.
    pub key_id: KeyId,
    /// The wrapped key, 1 to [`MAX_WRAPPED`] bytes.
    pub bytes: Vec<u8>,
}

/// Kinds of key providers that the configuration can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderKind {
    /// A local AES-256-GCM key ring.
    Ring,
    /// An RSA key pair, with RSA-OAEP.
    Rsa,
    /// The transit engine of HashiCorp Vault or OpenBao.
    Vault,
    /// AWS Key Management Service.
    AwsKms,
    /// Google Cloud KMS.
    GcpKms,
}

impl ProviderKind {
    /// The name in configuration files and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Rsa => "rsa",
            Self::Vault => "vault",
            Self::AwsKms => "aws-kms",
            Self::GcpKms => "gcp-kms",
        }
    }
}

/// Reason why a provider gave no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The wrapped key was changed, or belongs to another context or key. One error for all of
    /// them.
    #[error("the wrapped key is not authentic")]
    AuthenticationFailed,
    /// No key of that id is here: it was removed, or the object was sealed elsewhere.
    #[error("the provider does not have the wrapping key")]
    UnknownKey,
    /// The provider cannot be connected to or is overloaded. Nothing is known about the key.
    #[error("the key provider is not available, try in {retry_after:?}")]
    Unavailable {
        /// Time to wait before the next attempt.
        retry_after: Duration,
    },
    /// The provider does not permit the request: the token lacks a right, or the key can only wrap.
    #[error("the key provider refused")]
    Refused,
}

/// Checks that a provider works: it unwraps the key that it wrapped, and refuses it under another
/// context. For the start of a server, and for its readiness.
///
/// # Errors
/// The provider's error; [`ProviderError::Refused`] if it does not bind the context, as an old
/// server that ignores unknown parameters.
pub async fn check(provider: &dyn KeyProvider) -> Result<(), ProviderError> {
    let key = ContentKey::try_init_with(|out| OsRandom.fill(out))
        .map_err(|_| ProviderError::Unavailable { retry_after: UNAVAILABLE_FOR })?;
    let wrapped = provider.wrap(b"check", &key).await?;
    let opened = provider.unwrap(&wrapped.key_id, b"check", &wrapped.bytes).await?;
    if opened != key {
        return Err(ProviderError::AuthenticationFailed);
    }
    match provider.unwrap(&wrapped.key_id, b"another", &wrapped.bytes).await {
        Err(ProviderError::AuthenticationFailed) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(ProviderError::Refused),
    }
}
