//! The transit engine of HashiCorp Vault and of OpenBao: the wrapping key never leaves the server.
//!
//! ```text
//! POST /v1/<mount>/encrypt/<key>
//!     {"plaintext": base64(content key), "associated_data": base64(context)}
//! POST /v1/<mount>/decrypt/<key>
//!     {"ciphertext": wrapped, "associated_data": base64(context)}
//! ```
//!
//! The wrapped key is the server's text, `vault:v<version>:<base64>`; it says under which version
//! of the key it was made, so that a rotation on the server needs nothing here. The key must be of
//! a type that takes associated data: `aes256-gcm96` (the default), `aes128-gcm96` or
//! `chacha20-poly1305`, and not `derived`. [`check`](crate::check) finds a server that ignores
//! them.
//!
//! Content keys and tokens in our memory are wiped. The buffers of HTTP and TLS are not.

use alloc::sync::Arc;
use core::time::Duration;

use bytes::Bytes;
use endseal_crypto::secret::Zeroizing;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Request, StatusCode, Uri};

use crate::{
    Answer, ContentKey, HttpClient, KeyId, KeyProvider, ProviderError, ProviderKind, Wrapped,
};

mod answer;
mod token;

pub use token::{InvalidToken, Token, TokenSource};

use answer::{Answered, MAX_ANSWER};

/// Settings of Vault: the key, the engine that has it, and the token that gives access.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[allow(clippy::exhaustive_structs, reason = "settings")]
pub struct VaultSettings {
    /// The id in the headers of objects. It names server, mount and key together: another key takes
    /// another id.
    pub id: KeyId,
    /// The path of the transit engine, usually `transit`.
    pub mount: String,
    /// The name of the key.
    pub key: String,
    /// The namespace, where the server has them.
    pub namespace: Option<String>,
    /// Source of the token that gives access.
    pub token: TokenSource,
}

/// Wraps and opens at a server.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct VaultProvider {
    client: Arc<dyn HttpClient>,
    id: KeyId,
    encrypt: Uri,
    decrypt: Uri,
    namespace: Option<HeaderValue>,
    token: token::Tokens,
}

impl VaultProvider {
    /// A provider that asks through `client`. Nothing is sent yet.
    ///
    /// # Errors
    /// [`InvalidVaultSettings`].
    pub fn new(
        client: Arc<dyn HttpClient>,
        settings: VaultSettings,
    ) -> Result<Self, InvalidVaultSettings> {
        let VaultSettings { id, mount, key, namespace, token } = settings;
        if !is_path(&mount) {
            return Err(InvalidVaultSettings::Mount);
        }
        if !is_path(&key) || key.contains('/') {
            return Err(InvalidVaultSettings::Key);
        }
        let uri = |verb: &str| {
            format!("/v1/{mount}/{verb}/{key}")
                .parse::<Uri>()
                .map_err(|_| InvalidVaultSettings::Mount)
        };
        let (encrypt, decrypt) = (uri("encrypt")?, uri("decrypt")?);
        let namespace = namespace
            .map(|own| HeaderValue::from_str(&own).map_err(|_| InvalidVaultSettings::Namespace))
            .transpose()?;
        Ok(Self { client, id, encrypt, decrypt, namespace, token: token::Tokens::new(token) })
    }

    async fn post(&self, uri: &Uri, body: Zeroizing<String>) -> Result<Answered, ProviderError> {
        let body = Bytes::from_owner(body.into_bytes_wiped());
        let token = self.token.current().await?;
        let answered = self.post_with(uri, body.clone(), token.clone()).await?;
        if answered.status != StatusCode::FORBIDDEN {
            return Ok(answered);
        }
        // Agents renew the file of a token before it ends.
        match self.token.renewed(&token).await? {
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
        let mut request = Request::post(uri.clone())
            .header(X_VAULT_TOKEN, token)
            .header(X_VAULT_REQUEST, "true")
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(|_| ProviderError::Refused)?;
        if let Some(namespace) = &self.namespace {
            request.headers_mut().insert(X_VAULT_NAMESPACE, namespace.clone());
        }
        let down = ProviderError::Unavailable { retry_after: DOWN_FOR };
        let response = self.client.send(request, MAX_ANSWER).await.map_err(|_| down)?;
        let status = response.status();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(|seconds: u64| Duration::from_secs(seconds.min(MAX_RETRY_AFTER)));
        Ok(Answered { status, retry_after, body: response.into_body() })
    }
}

impl KeyProvider for VaultProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Vault
    }

    fn wrapping_key_id(&self) -> KeyId {
        self.id.clone()
    }

    fn knows(&self, key_id: &KeyId) -> bool {
        self.id == *key_id
    }

    fn is_as_new(&self, key_id: &str, wrapped: &[u8], sample: &Wrapped) -> bool {
        let own = answer::as_ciphertext(wrapped).and_then(version);
        let newest = answer::as_ciphertext(&sample.bytes).and_then(version);
        key_id == sample.key_id.as_str() && own.is_some() && own == newest
    }

    fn wrap<'a>(&'a self, context: &'a [u8], key: &'a ContentKey) -> Answer<'a, Wrapped> {
        Box::pin(async move {
            let body = answer::encrypt_request(key, context);
            let answered = self.post(&self.encrypt, body).await?;
            let bytes = answered.ciphertext()?;
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
            // `wrapped` comes from the storage of the object: only its own alphabet goes to the
            // server.
            let ciphertext =
                answer::as_ciphertext(wrapped).ok_or(ProviderError::AuthenticationFailed)?;
            let body = answer::decrypt_request(ciphertext, context);
            self.post(&self.decrypt, body).await?.plaintext()
        })
    }
}

/// The version of the key: the second part of `vault:v<version>:<base64>`.
fn version(ciphertext: &str) -> Option<&str> {
    ciphertext.split(':').nth(1).filter(|version| !version.is_empty())
}

/// Returns true if a text can stand in a path without being encoded, and leads nowhere else.
fn is_path(text: &str) -> bool {
    let own = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.len() <= 256
        && text
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != ".." && part.bytes().all(own))
}

/// Moves the bytes of a text without a copy, still wiped.
trait IntoBytesWiped {
    fn into_bytes_wiped(self) -> Zeroizing<Vec<u8>>;
}

impl IntoBytesWiped for Zeroizing<String> {
    fn into_bytes_wiped(mut self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(core::mem::take(&mut *self).into_bytes())
    }
}

const X_VAULT_TOKEN: HeaderName = HeaderName::from_static("x-vault-token");
const X_VAULT_NAMESPACE: HeaderName = HeaderName::from_static("x-vault-namespace");
/// Vault's agents refuse requests without it, against forged ones.
const X_VAULT_REQUEST: HeaderName = HeaderName::from_static("x-vault-request");
/// Time until the next attempt if the server does not answer.
const DOWN_FOR: Duration = Duration::from_secs(1);
/// Most seconds that a server's `Retry-After` counts for.
const MAX_RETRY_AFTER: u64 = 60;

/// Error: the settings of Vault are not usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidVaultSettings {
    /// The name of the key: letters, digits, `-`, `_` and `.`.
    #[error("the name of a transit key has letters, digits, '-', '_' and '.'")]
    Key,
    /// The path of the engine: the same, and `/` between.
    #[error("the path of a transit engine has letters, digits, '-', '_', '.' and '/'")]
    Mount,
    /// The namespace cannot stand in a header.
    #[error("the namespace has characters that no header has")]
    Namespace,
}
