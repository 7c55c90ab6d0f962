//! Requests to the service, and its answers.

use core::time::Duration;

use base64ct::{Base64, Encoding as _};
use crc32c::crc32c;
use endseal_crypto::secret::Zeroizing;
use http::header::RETRY_AFTER;
use http::{Response, StatusCode};
use serde_json::Value;

use super::fields::Fields;
use super::{DOWN_FOR, unavailable, wrapped};
use crate::{ContentKey, ProviderError};

/// Most seconds that a `Retry-After` counts for.
const MAX_RETRY_AFTER: u64 = 60;

/// Answer of the service or of a server of tokens.
pub(super) struct Answered {
    pub(super) status: StatusCode,
    retry_after: Option<Duration>,
    pub(super) body: Zeroizing<Vec<u8>>,
}

impl Answered {
    pub(super) fn new(response: Response<Zeroizing<Vec<u8>>>) -> Self {
        let seconds = response.headers().get(RETRY_AFTER);
        let seconds = seconds.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        let retry_after = seconds.map(|own| Duration::from_secs(own.min(MAX_RETRY_AFTER)));
        Self { status: response.status(), retry_after, body: response.into_body() }
    }

    /// Returns the wrapped key of an answer to `encrypt` with the key of that name.
    ///
    /// # Errors
    /// `Refused` if another key encrypted; `Unavailable` if a checksum is wrong or missing.
    pub(super) fn wrapped(&self, key: &str) -> Result<Vec<u8>, ProviderError> {
        let fields = self.fields(Operation::Encrypt)?;
        let name = fields.text("name").ok_or_else(unavailable)?;
        let version = name.strip_prefix(key).and_then(|rest| rest.strip_prefix(VERSIONS));
        let version = version.ok_or(ProviderError::Refused)?;
        let are_verified = fields.is_true("verifiedPlaintextCrc32c")
            && fields.is_true("verifiedAdditionalAuthenticatedDataCrc32c");
        let ciphertext = decode(&fields, "ciphertext", "ciphertextCrc32c")?;
        if !are_verified {
            return Err(unavailable());
        }
        wrapped::encode(version, &ciphertext).ok_or(ProviderError::Refused)
    }

    /// Returns the content key of an answer to `decrypt`.
    ///
    /// # Errors
    /// `AuthenticationFailed` if it is not a content key; `Unavailable` if its checksum is wrong or
    /// missing.
    pub(super) fn content_key(&self) -> Result<ContentKey, ProviderError> {
        let fields = self.fields(Operation::Decrypt)?;
        let plaintext = decode(&fields, "plaintext", "plaintextCrc32c")?;
        // Another length: a plaintext of another program that uses the same key.
        let bytes = <&[u8; ContentKey::LEN]>::try_from(&plaintext[..]);
        bytes.map(ContentKey::from_bytes).map_err(|_| ProviderError::AuthenticationFailed)
    }

    /// Returns the error for an answer that is not a success, and no fault of the request.
    pub(super) fn temporary_failure(&self) -> Option<ProviderError> {
        let retry_after = self.retry_after.unwrap_or(DOWN_FOR);
        match self.status.as_u16() {
            200..=399 | 408 | 429 | 500..=599 => Some(ProviderError::Unavailable { retry_after }),
            _ => None,
        }
    }

    fn fields(&self, operation: Operation) -> Result<Fields<'_>, ProviderError> {
        match self.status {
            StatusCode::OK => Fields::parse(&self.body).ok_or_else(unavailable),
            _ => Err(self.failure(operation)),
        }
    }

    fn failure(&self, operation: Operation) -> ProviderError {
        if let Some(failure) = self.temporary_failure() {
            return failure;
        }
        let answer: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let text = |field: &str| {
            answer.pointer(&format!("/error/{field}")).and_then(Value::as_str).unwrap_or_default()
        };
        let is_checksum = text("message").to_ascii_lowercase().contains("checksum");
        match (self.status, operation) {
            // The request was damaged on its way. The text is for people, but nothing else tells.
            (StatusCode::BAD_REQUEST, _) if is_checksum => unavailable(),
            // The version is disabled or destroyed.
            (StatusCode::BAD_REQUEST, _) if text("status") == "FAILED_PRECONDITION" => {
                ProviderError::Refused
            }
            // "Decryption failed", and every other fault in the stored ciphertext.
            (StatusCode::BAD_REQUEST, Operation::Decrypt) => ProviderError::AuthenticationFailed,
            (StatusCode::NOT_FOUND, _) => ProviderError::UnknownKey,
            _ => ProviderError::Refused,
        }
    }
}

/// Stands between the name of a key and its version.
const VERSIONS: &str = "/cryptoKeyVersions/";

#[derive(Clone, Copy)]
enum Operation {
    Encrypt,
    Decrypt,
}

/// Decodes a field of bytes and verifies its checksum.
fn decode(
    fields: &Fields<'_>,
    field: &str,
    checksum: &str,
) -> Result<Zeroizing<Vec<u8>>, ProviderError> {
    let text = fields.text(field).ok_or_else(unavailable)?;
    let mut bytes = Zeroizing::new(vec![0; text.len()]);
    let len = Base64::decode(text.as_bytes(), &mut bytes).map_err(|_| unavailable())?.len();
    bytes.truncate(len);
    match fields.number(checksum) {
        Some(expected) if expected == u64::from(crc32c(&bytes)) => Ok(bytes),
        _ => Err(unavailable()),
    }
}

/// Returns the body of a request. Nothing in it has to be escaped.
pub(super) fn request(field: &str, value: &[u8], context: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut encoded = Zeroizing::new(vec![0; Base64::encoded_len(value)]);
    // The buffer has the length of the text.
    let text = Base64::encode(value, &mut encoded).unwrap_or_default();
    let (crc, context_crc) = (crc32c(value).to_string(), crc32c(context).to_string());
    let context = Base64::encode_string(context);
    let parts = [
        "{\"",
        field,
        "\":\"",
        text,
        "\",\"",
        field,
        "Crc32c\":\"",
        &crc,
        "\",\"additionalAuthenticatedData\":\"",
        &context,
        "\",\"additionalAuthenticatedDataCrc32c\":\"",
        &context_crc,
        "\"}",
    ];
    // Allocated at once: a text that grows leaves the content key behind.
    let mut body = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
    parts.iter().for_each(|part| body.extend_from_slice(part.as_bytes()));
    body
}
