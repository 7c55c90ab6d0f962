//! Service accounts: key files in JSON, and the assertions (RFC 7523) that they sign.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use base64ct::{Base64UrlUnpadded, Encoding as _};
use endseal_crypto::rsa_signature::SigningKey;
use endseal_crypto::secret::Zeroizing;
use http::Uri;
use serde_json::json;

use super::fields::Fields;
use crate::rsa;

/// Access that tokens give: to Cloud KMS, and to nothing else.
const SCOPE: &str = "https://www.googleapis.com/auth/cloudkms";
/// Lifetime of an assertion, the longest that is accepted.
const LIFETIME: Duration = Duration::from_secs(3_600);
/// Time by which an assertion is dated back, as the server's clock may be behind.
const SLACK: Duration = Duration::from_secs(10);

/// Service account with its private key, which is wiped when dropped.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct ServiceAccount {
    email: String,
    key_id: Option<String>,
    key: SigningKey,
    token_uri: String,
    token_server: String,
    token_path: Uri,
}

impl ServiceAccount {
    /// Reads a key file, as `gcloud iam service-accounts keys create` writes it. The caller MUST
    /// wipe `json`.
    ///
    /// # Errors
    /// [`InvalidServiceAccount`] with the field that is missing or not usable. It never quotes the
    /// file.
    pub fn read(json: &[u8]) -> Result<Self, InvalidServiceAccount> {
        let fields = Fields::parse(json).ok_or(InvalidServiceAccount::Json)?;
        let public = |name: &str| fields.text(name).map(|text| (*text).clone());
        if public("type").as_deref() != Some("service_account") {
            return Err(InvalidServiceAccount::Type);
        }
        let email = public("client_email").filter(|email| !email.is_empty());
        let email = email.ok_or(InvalidServiceAccount::Email)?;
        let token_uri = public("token_uri").ok_or(InvalidServiceAccount::TokenUri)?;
        let (token_server, token_path) =
            split(&token_uri).ok_or(InvalidServiceAccount::TokenUri)?;
        let pem = fields.text("private_key").ok_or(InvalidServiceAccount::PrivateKey)?;
        let der = rsa::private_key_der(pem.as_bytes());
        let der = der.map_err(|_| InvalidServiceAccount::PrivateKey)?;
        let key = SigningKey::from_pkcs8(&der).map_err(|_| InvalidServiceAccount::PrivateKey)?;
        let key_id = public("private_key_id");
        Ok(Self { email, key_id, key, token_uri, token_server, token_path })
    }

    /// Returns the URL of the server of tokens, without a path. Requests for tokens need a client
    /// of this server.
    #[must_use]
    pub fn token_server(&self) -> &str {
        &self.token_server
    }

    /// Returns the path at the server of tokens.
    pub(super) fn token_path(&self) -> Uri {
        self.token_path.clone()
    }

    /// Returns the body of a request for a token, valid for an hour. `None` if there is no
    /// randomness.
    pub(super) fn token_request(&self, now: SystemTime) -> Option<Zeroizing<Vec<u8>>> {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let issued = now.saturating_sub(SLACK);
        let mut header = json!({"alg": "RS256", "typ": "JWT"});
        if let (Some(key_id), Some(header)) = (&self.key_id, header.as_object_mut()) {
            header.insert("kid".to_owned(), key_id.clone().into());
        }
        let claims = json!({
            "iss": self.email,
            "scope": SCOPE,
            "aud": self.token_uri,
            "iat": issued.as_secs(),
            "exp": (issued + LIFETIME).as_secs(),
        });
        let encode = |json: &serde_json::Value| {
            Base64UrlUnpadded::encode_string(json.to_string().as_bytes())
        };
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let signature = Zeroizing::new(self.key.sign(signed.as_bytes()).ok()?);
        let mut encoded = Zeroizing::new(vec![0; Base64UrlUnpadded::encoded_len(&signature)]);
        let signature = Base64UrlUnpadded::encode(&signature, &mut encoded).ok()?;
        let parts = [GRANT, &signed, ".", signature];
        // Allocated at once: without the signature the rest is public.
        let mut body =
            Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
        parts.iter().for_each(|part| body.extend_from_slice(part.as_bytes()));
        Some(body)
    }
}

/// Begin of a request for a token (RFC 7523, 2.1). Assertions need no percent encoding.
const GRANT: &str = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";

/// Splits a URL into its server and its path. `None` unless it is `https`, or `http` at this
/// machine, as an assertion that others read gives them access for an hour.
fn split(url: &str) -> Option<(String, Uri)> {
    let uri: Uri = url.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let is_local = ["127.0.0.1", "[::1]", "localhost"].contains(&authority.host());
    let is_safe = scheme == "https" || (scheme == "http" && is_local);
    if !is_safe || authority.as_str().contains('@') || url.contains('#') {
        return None;
    }
    let path = uri.path_and_query()?.as_str().parse().ok()?;
    Some((format!("{scheme}://{authority}"), path))
}

/// Reason why a file is not the key of a service account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidServiceAccount {
    /// `client_email` is missing.
    #[error("client_email is missing")]
    Email,
    /// The file is not an object in JSON.
    #[error("not a JSON object, expected the key file of a service account")]
    Json,
    /// `private_key` is missing, or not an RSA key of 2,048 to 4,096 bits in PEM (PKCS#8).
    #[error("private_key is not an RSA key of 2048 to 4096 bits in PEM (PKCS#8)")]
    PrivateKey,
    /// `token_uri` is missing, or neither `https` nor at this machine.
    #[error("token_uri is not an https:// URL")]
    TokenUri,
    /// `type` is another one, such as `authorized_user` or `external_account`.
    #[error("type is not \"service_account\", other credentials are not supported")]
    Type,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_are_sent_over_https() {
        let (server, path) = split("https://oauth2.googleapis.com/token").unwrap();
        assert_eq!((&*server, path.path()), ("https://oauth2.googleapis.com", "/token"));
        assert!(split("http://127.0.0.1:80/token").is_some());
        for bad in
            ["", "/token", "http://oauth2.googleapis.com/token", "ftp://a/b", "https://u@a/b"]
        {
            assert!(split(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn errors_do_not_quote_the_file() {
        let error = |json: &str| {
            let error = ServiceAccount::read(json.as_bytes()).err().unwrap();
            let text = format!("{error} {error:?}");
            assert!(!text.contains("marked"), "{text}");
            error
        };
        let (kind, email) = (r#""type": "service_account""#, r#""client_email": "marked@x""#);
        let uri = r#""token_uri": "https://marked/token""#;
        assert_eq!(error("marked"), InvalidServiceAccount::Json);
        assert_eq!(error(r#"{"private_key": "marked"#), InvalidServiceAccount::Json);
        assert_eq!(error(r#"{"type": "marked"}"#), InvalidServiceAccount::Type);
        assert_eq!(error(&format!("{{{kind}}}")), InvalidServiceAccount::Email);
        assert_eq!(error(&format!("{{{kind}, {email}}}")), InvalidServiceAccount::TokenUri);
        for key in ["", r#", "private_key": "marked""#, r#", "private_key": 7"#] {
            let json = format!("{{{kind}, {email}, {uri}{key}}}");
            assert_eq!(error(&json), InvalidServiceAccount::PrivateKey);
        }
    }
}
