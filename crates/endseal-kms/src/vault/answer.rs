//! Requests to Vault, and its answers.

use core::time::Duration;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::secret::Zeroizing;
use http::StatusCode;
use serde_json::Value;

use super::DOWN_FOR;
use crate::{ContentKey, MAX_WRAPPED, ProviderError};

/// Longest answer that is read. One of the server's own has some hundred bytes.
pub(super) const MAX_ANSWER: usize = 16 * 1024;
/// Time until the next attempt while the server is sealed: a person has to unseal it.
const SEALED_FOR: Duration = Duration::from_secs(10);

/// An answer with its status.
pub(super) struct Answered {
    pub(super) status: StatusCode,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Zeroizing<Vec<u8>>,
}

impl Answered {
    /// The wrapped key of an answer to `encrypt`.
    pub(super) fn ciphertext(&self) -> Result<Vec<u8>, ProviderError> {
        let text = self.data("ciphertext", Asked::Encrypt)?;
        let garbled = ProviderError::Unavailable { retry_after: DOWN_FOR };
        as_ciphertext(text.as_bytes()).map(|text| text.as_bytes().to_vec()).ok_or(garbled)
    }

    /// The content key of an answer to `decrypt`.
    pub(super) fn plaintext(&self) -> Result<ContentKey, ProviderError> {
        let text = self.data("plaintext", Asked::Decrypt)?;
        // Something else that was encrypted under the same key.
        ContentKey::try_init_with(|out| match Base64::decode(text.as_bytes(), out) {
            Ok(decoded) if decoded.len() == ContentKey::LEN => Ok(()),
            _ => Err(ProviderError::AuthenticationFailed),
        })
    }

    /// Reads one text of the object `data` in the answer.
    fn data(&self, field: &str, asked: Asked) -> Result<Zeroizing<String>, ProviderError> {
        let garbled = ProviderError::Unavailable { retry_after: DOWN_FOR };
        if self.status != StatusCode::OK {
            return Err(self.failure(asked));
        }
        let mut answer: Value = serde_json::from_slice(&self.body).map_err(|_| garbled)?;
        match answer.get_mut("data").and_then(|data| data.get_mut(field)).map(Value::take) {
            // Moved, not copied: the one text that there is gets wiped.
            Some(Value::String(text)) => Ok(Zeroizing::new(text)),
            _ => Err(garbled),
        }
    }

    fn failure(&self, asked: Asked) -> ProviderError {
        let unavailable = |default| ProviderError::Unavailable {
            retry_after: self.retry_after.unwrap_or(default),
        };
        match (self.status.as_u16(), asked) {
            (400, _) if self.says("encryption key not found") => ProviderError::UnknownKey,
            (400, _) if self.says("disallowed by policy") => ProviderError::Refused,
            // "cipher: message authentication failed", and every other fault in the stored
            // ciphertext: one error for all of them.
            (400, Asked::Decrypt) => ProviderError::AuthenticationFailed,
            (404, _) => ProviderError::UnknownKey,
            (503, _) if self.says("sealed") => unavailable(SEALED_FOR),
            // 412: a replica that has not caught up; 429: quotas; 472 and 473: a stand-by.
            (412 | 429 | 472 | 473 | 500..=599, _) => unavailable(DOWN_FOR),
            (200..=399, _) => unavailable(DOWN_FOR),
            _ => ProviderError::Refused,
        }
    }

    /// Returns true if one of the server's errors has that text in it. They are for people, but
    /// nothing else tells these cases apart.
    fn says(&self, text: &str) -> bool {
        let Ok(answer) = serde_json::from_slice::<Value>(&self.body) else { return false };
        let errors = answer.get("errors").and_then(Value::as_array);
        errors
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .any(|error| error.to_ascii_lowercase().contains(text))
    }
}

#[derive(Clone, Copy)]
enum Asked {
    Encrypt,
    Decrypt,
}

/// `vault:v<version>:<base64>`, of at most [`MAX_WRAPPED`] bytes, in the one form that the server
/// writes: it takes `v0` for `v1`, and loose bits at the end of base64.
pub(super) fn as_ciphertext(wrapped: &[u8]) -> Option<&str> {
    let text = core::str::from_utf8(wrapped).ok().filter(|text| text.len() <= MAX_WRAPPED)?;
    let (version, sealed) = text.strip_prefix("vault:v")?.split_once(':')?;
    let canonical = (1..=10).contains(&version.len())
        && version.bytes().all(|byte| byte.is_ascii_digit())
        && !version.starts_with('0');
    let full = Base64::decode_vec(sealed).is_ok_and(|bytes| !bytes.is_empty());
    if canonical && full { Some(text) } else { None }
}

pub(super) fn encrypt_request(key: &ContentKey, context: &[u8]) -> Zeroizing<String> {
    let mut buffer = Zeroizing::new([0; 44]);
    let plaintext = Base64::encode(key.expose_secret(), &mut buffer[..]).unwrap_or_default();
    request("plaintext", plaintext, context)
}

pub(super) fn decrypt_request(ciphertext: &str, context: &[u8]) -> Zeroizing<String> {
    request("ciphertext", ciphertext, context)
}

/// Nothing in it has to be escaped: base64, and the alphabet of ciphertexts.
fn request(field: &str, value: &str, context: &[u8]) -> Zeroizing<String> {
    let data = Base64::encode_string(context);
    let parts = ["{\"", field, "\":\"", value, "\",\"associated_data\":\"", &data, "\"}"];
    let mut text = Zeroizing::new(String::with_capacity(parts.iter().map(|part| part.len()).sum()));
    parts.iter().for_each(|part| text.push_str(part));
    text
}
