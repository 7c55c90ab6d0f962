//! Signatures of our own: of requests to the backend, and presigned ones for tools and tests.

use core::fmt;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use endseal_crypto::secret::Zeroizing;
use http::header::{AUTHORIZATION, DATE};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::canonical::{ALGORITHM, Canonical, Target};
use super::hex::{hex, hex_digits};
use super::presigned::{MAX_EXPIRES, SIGNATURE};
use super::scope::{S3, Scope};
use super::secret::SigningKey;
use super::{ChunkSigner, Payload, PayloadHash, SecretKey, Timestamp, uri};
use crate::headers::{AMZ_DATE, CONTENT_SHA256, SECURITY_TOKEN};

/// Signs requests with one secret for one region and service.
#[allow(missing_debug_implementations, reason = "it holds a secret")]
pub struct Signer {
    access_key: String,
    secret: SecretKey,
    region: String,
    service: &'static str,
    /// The token of temporary credentials.
    session_token: Option<HeaderValue>,
    /// The derived key of the day last used.
    current: Mutex<Option<(String, Arc<SigningKey>)>>,
}

/// Reason why a request could not be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignError {
    /// Path or query have a broken percent-encoding.
    InvalidUri,
    /// There is no `host` header, which must be signed.
    MissingHost,
    /// Access key or region cannot stand in a header.
    InvalidCredential,
    /// An expiry of more than 7 days.
    InvalidExpiry,
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidUri => "the URI to be signed has a broken percent-encoding",
            Self::MissingHost => "a request to be signed needs a host header",
            Self::InvalidCredential => "access key or region cannot stand in a header",
            Self::InvalidExpiry => "a presigned request is good for 7 days at most",
        })
    }
}

impl core::error::Error for SignError {}

impl Signer {
    /// A signer with this secret, of requests to S3.
    #[must_use]
    pub fn new(access_key: String, secret: SecretKey, region: String) -> Self {
        let (service, session_token) = (S3, None);
        Self { access_key, secret, region, service, session_token, current: Mutex::default() }
    }

    /// The same signer for requests to another service.
    #[must_use]
    pub fn for_service(mut self, service: &'static str) -> Self {
        self.service = service;
        self
    }

    /// The same signer with the session token of temporary credentials, which is sent and signed as
    /// `x-amz-security-token`.
    ///
    /// # Errors
    /// [`SignError::InvalidCredential`] if the token cannot stand in a header.
    pub fn with_session_token(mut self, token: &str) -> Result<Self, SignError> {
        let wiped = Bytes::from_owner(Zeroizing::new(token.as_bytes().to_vec()));
        let mut value = HeaderValue::from_maybe_shared(wiped)
            .ok()
            .filter(|value| value.to_str().is_ok_and(|text| !text.is_empty()))
            .ok_or(SignError::InvalidCredential)?;
        value.set_sensitive(true);
        self.session_token = Some(value);
        Ok(self)
    }

    /// Signs a request in its headers: sets `x-amz-date`, `x-amz-content-sha256` and
    /// `authorization`, sets or removes `x-amz-security-token`, and removes `date`. Signed are
    /// `host`, `content-type`, `content-md5` and all `x-amz-` headers: what is added later is not.
    ///
    /// `path` and `query` are as they will be sent. The result says how the content has to be sent,
    /// with the signer of its chunks if they are to be signed.
    ///
    /// # Errors
    /// [`SignError`]; the headers are then half done.
    pub fn sign(
        &self,
        method: &str,
        path: &str,
        query: Option<&str>,
        headers: &mut HeaderMap,
        payload: PayloadHash,
        now: SystemTime,
    ) -> Result<Payload, SignError> {
        let time = Timestamp::of(now);
        for name in [AUTHORIZATION, DATE, SECURITY_TOKEN] {
            headers.remove(name);
        }
        if let Some(token) = &self.session_token {
            headers.insert(SECURITY_TOKEN, token.clone());
        }
        let hash = payload.to_text();
        let text =
            |text: &str| HeaderValue::from_str(text).map_err(|_| SignError::InvalidCredential);
        let basic = time.basic();
        headers.insert(AMZ_DATE, text(basic.as_str())?);
        let value = match &hash {
            Cow::Borrowed(word) => HeaderValue::from_static(word),
            Cow::Owned(digest) => text(digest)?,
        };
        headers.insert(CONTENT_SHA256, value);
        let day = basic.day();
        let scope = self.scope(day);
        let (signature, header, key) = {
            let signed = signed_names(headers)?;
            let canonical = Canonical {
                method,
                headers,
                signed: &signed,
                payload: &hash,
                time: basic,
                scope: &scope,
            };
            let target =
                Target::normalized(path, query, None).map_err(|_| SignError::InvalidUri)?;
            let key = self.key(day);
            let signature = key.sign(&canonical.string_to_sign(&target));
            (signature, self.authorization(&scope, &signed, &signature), key)
        };
        // Taken over without a copy; all but ASCII would be let through.
        let header = Some(header).filter(|header| header.is_ascii());
        let header = header.and_then(|it| HeaderValue::from_maybe_shared(Bytes::from(it)).ok());
        headers.insert(AUTHORIZATION, header.ok_or(SignError::InvalidCredential)?);
        Ok(payload.with_seed(|| ChunkSigner::new(key, time, &scope, signature)))
    }

    /// Makes the query of a request that is valid for `expires` seconds from now, with `query` in
    /// it. `headers` are those that the request will have. The signature covers the same ones as
    /// that of [`sign`](Self::sign). The content is `UNSIGNED-PAYLOAD`, unless
    /// `x-amz-content-sha256` is among the headers.
    ///
    /// # Errors
    /// [`SignError`].
    pub fn presign(
        &self,
        method: &str,
        path: &str,
        query: Option<&str>,
        headers: &HeaderMap,
        expires: u32,
        now: SystemTime,
    ) -> Result<String, SignError> {
        if i64::from(expires) > MAX_EXPIRES {
            return Err(SignError::InvalidExpiry);
        }
        let time = Timestamp::of(now).basic();
        let day = time.day();
        let scope = self.scope(day);
        let signed = signed_names(headers)?;
        let credential = format!("{}/{}", self.access_key, scope.signed());
        let mut all =
            query.filter(|it| !it.is_empty()).map_or(String::new(), |it| format!("{it}&"));
        let token = self.session_token.as_ref().and_then(|token| token.to_str().ok());
        let token = token.map(|token| ("X-Amz-Security-Token", token));
        for (name, value) in [
            ("X-Amz-Algorithm", ALGORITHM),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", time.as_str()),
            ("X-Amz-Expires", &expires.to_string()),
            ("X-Amz-SignedHeaders", &signed.join(";")),
        ]
        .into_iter()
        .chain(token)
        {
            all.push_str(&format!("{name}={}&", uri::encode_component(value.as_bytes())));
        }
        all.pop();
        let hash = headers.get(CONTENT_SHA256).and_then(|it| it.to_str().ok());
        let canonical = Canonical {
            method,
            headers,
            signed: &signed,
            payload: hash.unwrap_or("UNSIGNED-PAYLOAD"),
            time,
            scope: &scope,
        };
        let target =
            Target::normalized(path, Some(&all), None).map_err(|_| SignError::InvalidUri)?;
        let signature = self.key(day).sign(&canonical.string_to_sign(&target));
        Ok(format!("{all}&{SIGNATURE}={}", hex(&signature)))
    }

    /// The fields that let in a form with this policy (base64 of JSON), which MUST allow them:
    /// `x-amz-algorithm`, `x-amz-credential`, `x-amz-date`, `x-amz-security-token` if there is a
    /// session token; then `policy` and `x-amz-signature`. The policy must name all before itself,
    /// hence the call with `None` before it is written.
    #[must_use]
    pub fn form(&self, policy: Option<&str>, now: SystemTime) -> Vec<(&'static str, String)> {
        let time = Timestamp::of(now);
        let day = time.to_day();
        let mut fields = vec![
            ("x-amz-algorithm", ALGORITHM.to_owned()),
            ("x-amz-credential", format!("{}/{}", self.access_key, self.scope(&day).signed())),
            ("x-amz-date", time.to_basic()),
        ];
        if let Some(token) = self.session_token.as_ref().and_then(|token| token.to_str().ok()) {
            fields.push(("x-amz-security-token", token.to_owned()));
        }
        if let Some(policy) = policy {
            fields.push(("policy", policy.to_owned()));
            fields.push(("x-amz-signature", hex(&self.key(&day).sign(policy.as_bytes()))));
        }
        fields
    }

    /// Writes the header `AWS4-HMAC-SHA256 Credential=…,SignedHeaders=…,Signature=…`.
    fn authorization(&self, scope: &Scope<'_>, signed: &[&str], signature: &[u8; 32]) -> Vec<u8> {
        let scope = scope.signed_parts();
        let before = [ALGORITHM, " Credential=", &self.access_key, "/"];
        let (behind, end) = (",SignedHeaders=", ",Signature=");
        let digits = hex_digits(signature);
        let len = |parts: &[&str]| parts.iter().map(|part| part.len() + 1).sum::<usize>();
        let room = len(&before) + len(&scope) + len(signed) + len(&[behind, end]) + digits.len();
        let mut out = Vec::with_capacity(room);
        for part in before.into_iter().chain(scope).chain([behind]) {
            out.extend_from_slice(part.as_bytes());
        }
        for (i, name) in signed.iter().enumerate() {
            if i > 0 {
                out.push(b';');
            }
            out.extend_from_slice(name.as_bytes());
        }
        out.extend_from_slice(end.as_bytes());
        out.extend_from_slice(&digits);
        out
    }

    fn scope<'a>(&'a self, day: &'a str) -> Scope<'a> {
        let &Self { ref access_key, ref region, service, .. } = self;
        Scope { access_key, day, region, service }
    }

    fn key(&self, day: &str) -> Arc<SigningKey> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some((of, key)) if of == day => Arc::clone(key),
            _ => {
                let key = Arc::new(self.secret.derive(day, &self.region, self.service));
                *current = Some((day.to_owned(), Arc::clone(&key)));
                key
            }
        }
    }
}

fn signed_names(headers: &HeaderMap) -> Result<Vec<&str>, SignError> {
    let mut names = Vec::with_capacity(headers.keys_len());
    names.extend(headers.keys().map(HeaderName::as_str).filter(|it| {
        matches!(*it, "host" | "content-type" | "content-md5") || it.starts_with("x-amz-")
    }));
    names.sort_unstable();
    if names.contains(&"host") { Ok(names) } else { Err(SignError::MissingHost) }
}
