//! AWS Key Management Service: the wrapping key never leaves the service.
//!
//! ```text
//! POST /   X-Amz-Target: TrentService.Encrypt
//!     {"KeyId": key, "Plaintext": base64(content key), "EncryptionContext": {"endseal": context}}
//! POST /   X-Amz-Target: TrentService.Decrypt
//!     {"KeyId": key, "CiphertextBlob": base64(wrapped), "EncryptionContext": {"endseal": context}}
//! ```
//!
//! The wrapped key is the service's ciphertext. It names the key that made it, and a key that the
//! service rotates by itself opens what its former material wrapped, so that a rotation needs
//! nothing here. The key must be a symmetric encryption key.
//!
//! Content keys in our memory are wiped. The buffers of HTTP and TLS are not.

use alloc::sync::Arc;
use core::future::Future;
use core::pin::Pin;
use core::time::Duration;

use base64ct::{Base64, Encoding as _};
use bytes::Bytes;
use endseal_crypto::secret::Zeroizing;
use http::header::{CONTENT_TYPE, HeaderName};
use http::{Request, StatusCode};
use serde_json::Value;

use crate::{
    Answer, ContentKey, HttpClient, KeyId, KeyProvider, MAX_WRAPPED, ProviderError, ProviderKind,
    Wrapped,
};

/// Longest answer that is read. One of the service's own has some hundred bytes.
const MAX_ANSWER: usize = 16 * 1024;
/// Time until the next attempt if the service does not answer, or asks to slow down.
const DOWN_FOR: Duration = Duration::from_secs(1);
const X_AMZ_TARGET: HeaderName = HeaderName::from_static("x-amz-target");

/// Request that is being signed.
pub type Signing<'a> =
    Pin<Box<dyn Future<Output = Result<Request<Bytes>, ProviderError>> + Send + 'a>>;

/// Signs requests by AWS Signature Version 4 for the service `kms`.
pub trait RequestSigner: Send + Sync {
    /// Returns the request with its signature, under the credentials that are valid now.
    fn sign(&self, request: Request<Bytes>) -> Signing<'_>;
}

/// Wraps and opens at AWS KMS.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct AwsKmsProvider {
    client: Arc<dyn HttpClient>,
    signer: Arc<dyn RequestSigner>,
    id: KeyId,
    key: String,
}

/// Error: the key is no key id, ARN or alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an AWS KMS key is an id, an ARN, or an alias that begins with 'alias/'")]
#[allow(clippy::exhaustive_structs, reason = "there is one reason")]
pub struct InvalidAwsKey;

impl AwsKmsProvider {
    /// A provider that asks through `client`. `id` stands in the headers of objects, and `key` is
    /// the service's name of the key: its id, its ARN or an alias. Nothing is sent yet.
    ///
    /// # Errors
    /// [`InvalidAwsKey`].
    pub fn new(
        client: Arc<dyn HttpClient>,
        signer: Arc<dyn RequestSigner>,
        id: KeyId,
        key: String,
    ) -> Result<Self, InvalidAwsKey> {
        // Nothing of it has to be escaped in JSON.
        let own = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/:+=,.@".contains(&byte);
        let is_name = (1..=2_048).contains(&key.len()) && key.bytes().all(own);
        if is_name { Ok(Self { client, signer, id, key }) } else { Err(InvalidAwsKey) }
    }

    /// Asks for an operation. `field` and `value` are its input beside key and context.
    async fn ask(
        &self,
        operation: &str,
        (field, value): (&str, &str),
        context: &[u8],
    ) -> Result<Value, ProviderError> {
        let context = Base64::encode_string(context);
        let parts = [
            "{\"KeyId\":\"",
            &self.key,
            "\",\"",
            field,
            "\":\"",
            value,
            "\",\"EncryptionContext\":{\"endseal\":\"",
            &context,
            "\"}}",
        ];
        // Allocated at once: a text that grows leaves the content key behind.
        let mut body =
            Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
        parts.iter().for_each(|part| body.extend_from_slice(part.as_bytes()));
        let request = Request::post("/")
            .header(CONTENT_TYPE, "application/x-amz-json-1.1")
            .header(X_AMZ_TARGET, format!("TrentService.{operation}"))
            .body(Bytes::from_owner(body))
            .map_err(|_| ProviderError::Refused)?;
        let request = self.signer.sign(request).await?;
        let down = ProviderError::Unavailable { retry_after: DOWN_FOR };
        let response = self.client.send(request, MAX_ANSWER).await.map_err(|_| down)?;
        let answer = serde_json::from_slice(response.body());
        match response.status() {
            StatusCode::OK => answer.map_err(|_| down),
            status => Err(failure(status, &answer.unwrap_or_default())),
        }
    }
}

/// Takes a text of base64 out of an answer. Moved, not copied: the one text that there is gets
/// wiped.
fn text(answer: &mut Value, field: &str) -> Result<Zeroizing<String>, ProviderError> {
    match answer.get_mut(field).map(Value::take) {
        Some(Value::String(text)) => Ok(Zeroizing::new(text)),
        _ => Err(ProviderError::Unavailable { retry_after: DOWN_FOR }),
    }
}

/// The error for an answer of the service, by its type.
fn failure(status: StatusCode, answer: &Value) -> ProviderError {
    let kind = answer.get("__type").and_then(Value::as_str).unwrap_or_default();
    // Some answers have a namespace before it.
    let kind = kind.rsplit('#').next().unwrap_or_default();
    match kind {
        "InvalidCiphertextException" | "IncorrectKeyException" => {
            ProviderError::AuthenticationFailed
        }
        "NotFoundException" => ProviderError::UnknownKey,
        "ThrottlingException"
        | "LimitExceededException"
        | "KMSInternalException"
        | "DependencyTimeoutException"
        | "KeyUnavailableException"
        | "ExpiredTokenException"
        | "RequestExpired" => ProviderError::Unavailable { retry_after: DOWN_FOR },
        _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            ProviderError::Unavailable { retry_after: DOWN_FOR }
        }
        // Not permitted, disabled, scheduled for deletion, of another use, or unknown.
        _ => ProviderError::Refused,
    }
}

impl KeyProvider for AwsKmsProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::AwsKms
    }

    fn wrapping_key_id(&self) -> KeyId {
        self.id.clone()
    }

    fn knows(&self, key_id: &KeyId) -> bool {
        self.id == *key_id
    }

    fn wrap<'a>(&'a self, context: &'a [u8], key: &'a ContentKey) -> Answer<'a, Wrapped> {
        Box::pin(async move {
            let mut buffer = Zeroizing::new([0; 44]);
            let plaintext = Base64::encode(key.expose_secret(), &mut buffer[..]);
            let input = ("Plaintext", plaintext.map_err(|_| ProviderError::Refused)?);
            let mut answer = self.ask("Encrypt", input, context).await?;
            let wrapped = text(&mut answer, "CiphertextBlob")?;
            let bytes = Base64::decode_vec(&wrapped).ok();
            let bytes = bytes.filter(|bytes| (1..=MAX_WRAPPED).contains(&bytes.len()));
            let garbled = ProviderError::Unavailable { retry_after: DOWN_FOR };
            Ok(Wrapped { key_id: self.id.clone(), bytes: bytes.ok_or(garbled)? })
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
            let wrapped = Base64::encode_string(wrapped);
            let mut answer = self.ask("Decrypt", ("CiphertextBlob", &wrapped), context).await?;
            let plaintext = text(&mut answer, "Plaintext")?;
            ContentKey::try_init_with(|out| match Base64::decode(plaintext.as_bytes(), out) {
                Ok(decoded) if decoded.len() == ContentKey::LEN => Ok(()),
                // Something else that was encrypted under the same key.
                _ => Err(ProviderError::AuthenticationFailed),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_service_have_one_meaning_each() {
        let unavailable = ProviderError::Unavailable { retry_after: DOWN_FOR };
        for (status, kind, expected) in [
            (400, "InvalidCiphertextException", ProviderError::AuthenticationFailed),
            (400, "com.amazonaws.kms#IncorrectKeyException", ProviderError::AuthenticationFailed),
            (400, "NotFoundException", ProviderError::UnknownKey),
            (400, "ThrottlingException", unavailable),
            (400, "AccessDeniedException", ProviderError::Refused),
            (400, "DisabledException", ProviderError::Refused),
            (400, "KMSInvalidStateException", ProviderError::Refused),
            (500, "KMSInternalException", unavailable),
            (503, "", unavailable),
            (429, "", unavailable),
            (403, "", ProviderError::Refused),
        ] {
            let answer = serde_json::json!({ "__type": kind });
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(failure(status, &answer), expected, "{kind}");
        }
        assert_eq!(failure(StatusCode::BAD_REQUEST, &Value::Null), ProviderError::Refused);
    }
}
