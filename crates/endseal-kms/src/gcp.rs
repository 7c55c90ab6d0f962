//! Google Cloud KMS, never run against Google: the wrapping key never leaves the service. The tests
//! have a server of our own that follows Google's documentation.
//!
//! ```text
//! POST /v1/<key>:encrypt
//!     {"plaintext": base64(content key), "additionalAuthenticatedData": base64(context),
//!      "plaintextCrc32c": "…", "additionalAuthenticatedDataCrc32c": "…"}
//! POST /v1/<key>:decrypt
//!     {"ciphertext": base64(ciphertext), "additionalAuthenticatedData": base64(context),
//!      "ciphertextCrc32c": "…", "additionalAuthenticatedDataCrc32c": "…"}
//! ```
//!
//! The wrapped key is `gcp:v<version>:` and the service's ciphertext. The version is that of the
//! key which encrypted, so that a rotation at the service makes older wrapped keys old, and they
//! can be wrapped anew before a version is destroyed. The service does not authenticate this copy
//! of the version: storage that changes it can delay a new wrapping, and open nothing. The key must
//! be a symmetric one, of the purpose `ENCRYPT_DECRYPT`.
//!
//! CRC-32C checksums of all inputs and outputs are sent and verified, as the service asks of its
//! clients: a bit that changed between TLS and the key would make an object unreadable.
//!
//! Content keys, tokens and private keys in our memory are wiped. The buffers of HTTP and TLS are
//! not.

use alloc::sync::Arc;
use core::time::Duration;

use bytes::Bytes;
use endseal_crypto::secret::Zeroizing;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Request, StatusCode, Uri};

use crate::{
    Answer, ContentKey, HttpClient, KeyId, KeyProvider, ProviderError, ProviderKind, Wrapped,
};

mod answer;
mod fields;
mod service_account;
mod token;
mod wrapped;

pub use service_account::{InvalidServiceAccount, ServiceAccount};
pub use token::TokenSource;

use answer::Answered;
use token::Tokens;

/// URL of the service.
pub const SERVICE_URL: &str = "https://cloudkms.googleapis.com";
/// URL of the metadata server, which instances, Cloud Run and GKE have.
pub const METADATA_URL: &str = "http://metadata.google.internal";

/// Longest answer that is read. One of the service's own has some hundred bytes, a token at most a
/// few thousand.
const MAX_ANSWER: usize = 16 * 1024;
/// Time until the next attempt if the service does not answer.
const DOWN_FOR: Duration = Duration::from_secs(1);

/// Wraps and opens at Google Cloud KMS.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct GcpKmsProvider {
    client: Arc<dyn HttpClient>,
    id: KeyId,
    key: String,
    encrypt: Uri,
    decrypt: Uri,
    tokens: Tokens,
}

impl GcpKmsProvider {
    /// Creates a provider that asks through `client` and sends nothing yet. `id` stands in the
    /// headers of objects. `key` is the service's resource name of the key, without a version:
    /// `projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>`.
    ///
    /// # Errors
    /// [`InvalidGcpKey`] if `key` has another form.
    pub fn new(
        client: Arc<dyn HttpClient>,
        tokens: TokenSource,
        id: KeyId,
        key: String,
    ) -> Result<Self, InvalidGcpKey> {
        if !is_key_name(&key) {
            return Err(InvalidGcpKey);
        }
        let uri =
            |verb: &str| format!("/v1/{key}:{verb}").parse::<Uri>().map_err(|_| InvalidGcpKey);
        let (encrypt, decrypt) = (uri("encrypt")?, uri("decrypt")?);
        Ok(Self { client, id, key, encrypt, decrypt, tokens: Tokens::new(tokens) })
    }

    async fn post(&self, uri: &Uri, body: Zeroizing<Vec<u8>>) -> Result<Answered, ProviderError> {
        let body = Bytes::from_owner(body);
        let token = self.tokens.current().await?;
        let answered = self.post_with(uri, body.clone(), token.clone()).await?;
        if answered.status != StatusCode::UNAUTHORIZED {
            return Ok(answered);
        }
        // The token expired early, or was revoked.
        match self.tokens.renewed(&token).await? {
            Some(token) => self.post_with(uri, body, token).await,
            None => Ok(answered),
        }
    }

    async fn post_with(
        &self,
        uri: &Uri,
        body: Bytes,
        token: HeaderValue,
    ) -> Result<Answered, ProviderError> {
        let request = Request::post(uri.clone())
            .header(AUTHORIZATION, token)
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(|_| ProviderError::Refused)?;
        let response = self.client.send(request, MAX_ANSWER).await;
        response.map(Answered::new).map_err(|_| unavailable())
    }
}

impl KeyProvider for GcpKmsProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::GcpKms
    }

    fn wrapping_key_id(&self) -> KeyId {
        self.id.clone()
    }

    fn knows(&self, key_id: &KeyId) -> bool {
        self.id == *key_id
    }

    fn is_as_new(&self, key_id: &str, wrapped: &[u8], sample: &Wrapped) -> bool {
        let version = |bytes| wrapped::parse(bytes).map(|(version, _)| version);
        let own = version(wrapped);
        key_id == sample.key_id.as_str() && own.is_some() && own == version(&sample.bytes)
    }

    fn wrap<'a>(&'a self, context: &'a [u8], key: &'a ContentKey) -> Answer<'a, Wrapped> {
        Box::pin(async move {
            let body = answer::request("plaintext", key.expose_secret(), context);
            let bytes = self.post(&self.encrypt, body).await?.wrapped(&self.key)?;
            Ok(Wrapped { key_id: self.id.clone(), bytes })
        })
    }

    fn unwrap<'a>(
        &'a self,
        key_id: &'a KeyId,
        context: &'a [u8],
        wrapped: &'a [u8],
    ) -> Answer<'a, ContentKey> {
        Box::pin(async move {
            if self.id != *key_id {
                return Err(ProviderError::UnknownKey);
            }
            let (_, ciphertext) =
                wrapped::parse(wrapped).ok_or(ProviderError::AuthenticationFailed)?;
            let body = answer::request("ciphertext", ciphertext, context);
            self.post(&self.decrypt, body).await?.content_key()
        })
    }
}

/// The error for an answer that is missing, damaged or not understood.
fn unavailable() -> ProviderError {
    ProviderError::Unavailable { retry_after: DOWN_FOR }
}

/// Returns true for the resource name of a key. Nothing in it has to be escaped in a path.
fn is_key_name(name: &str) -> bool {
    let is_id = |text: &str, extra: &[u8]| {
        let is_own = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        (1..=63).contains(&text.len())
            && text.bytes().all(|byte| is_own(byte) || extra.contains(&byte))
            && text.bytes().any(|byte| byte != b'.')
    };
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        ["projects", project, "locations", location, "keyRings", ring, "cryptoKeys", key] => {
            // Projects of a domain are named `example.com:project`.
            is_id(project, b".:") && [location, ring, key].iter().all(|part| is_id(part, b""))
        }
        _ => false,
    }
}

/// Error: the text is not the resource name of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a Cloud KMS key is named projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>, \
     without a version"
)]
#[allow(clippy::exhaustive_structs, reason = "there is one reason")]
pub struct InvalidGcpKey;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_keys_lead_nowhere_else() {
        for good in [
            "projects/p/locations/global/keyRings/r/cryptoKeys/k",
            "projects/example.com:my-project/locations/europe-west1/keyRings/R_1/cryptoKeys/K-2",
        ] {
            assert!(is_key_name(good), "{good}");
        }
        for bad in [
            "",
            "k",
            "projects/p/locations/global/keyRings/r/cryptoKeys/",
            "/projects/p/locations/global/keyRings/r/cryptoKeys/k",
            "projects/p/locations/global/keyRings/r/cryptoKeys/k/",
            "projects/p/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1",
            "projects/../locations/global/keyRings/r/cryptoKeys/k",
            "projects/p/locations/../keyRings/r/cryptoKeys/k",
            "projects/p/locations/global/keyRings/r/cryptoKeys/k:decrypt",
            "projects/p/locations/global/keyRings/r/cryptoKeys/k?x",
            "projects/p/locations/global/keyRings/r/cryptoKeys/k%2f",
            "projects/p/locations/global/keyRings/r/cryptoKeys/\u{fc}",
        ] {
            assert!(!is_key_name(bad), "{bad}");
        }
    }
}
