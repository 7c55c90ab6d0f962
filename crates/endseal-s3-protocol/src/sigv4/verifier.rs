//! Sender of a request, by its signature.

use std::time::SystemTime;

use endseal_crypto::secret::constant_time_eq;
use http::header::{AUTHORIZATION, DATE};
use http::{HeaderMap, HeaderName};

use super::authorization::{Authorization, signed_headers};
use super::canonical::{Canonical, Target};
use super::presigned::{Mechanism, Presigned, SIGNATURE, mechanism};
use super::scope::Scope;
use super::secret::{KeyCache, SecretKeys};
use super::timestamp::Basic;
use super::{ChunkSigner, Payload, PayloadHash, SignatureError, Timestamp, uri};
use crate::headers::{AMZ_DATE, CONTENT_SHA256, SECURITY_TOKEN};

/// Seconds that a client's clock may be off, either way.
const SKEW: i64 = 15 * 60;

/// A request as it was received.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs, reason = "written out by whoever asks")]
pub struct SignedRequest<'a> {
    /// Method of the request, such as `GET`.
    pub method: &'a str,
    /// Path of the request, still percent-encoded.
    pub path: &'a str,
    /// Query behind `?`, still encoded.
    pub query: Option<&'a str>,
    /// All headers of the request, including `host`.
    pub headers: &'a HeaderMap,
}

/// Rules that each signature must satisfy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// The region that credentials must name; `None` takes any.
    pub region: Option<String>,
}

/// Sender of a request, as its signature authenticates it.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_enums, reason = "there are two kinds")]
pub enum Access {
    /// The request has no signature, so the sender is unknown. The caller MUST decide if that is
    /// permitted.
    Anonymous {
        /// Form of the content; never signed chunks.
        payload: Payload,
    },
    /// The sender has the secret of an access key.
    Signed(Verified),
}

/// A request whose signature is right.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verified {
    /// Access key whose secret signed it.
    pub access_key: String,
    /// The region that the client named.
    pub region: String,
    /// Hash of the content. The signature covers the content only if the caller checks this.
    pub payload: Payload,
    /// True if the signature was in the query.
    pub presigned: bool,
}

/// Verifies the signatures of requests to the proxy.
#[allow(missing_debug_implementations, reason = "it holds secrets")]
pub struct Verifier<S> {
    pub(super) secrets: S,
    pub(super) rules: Rules,
    pub(super) keys: KeyCache,
}

impl<S: SecretKeys> Verifier<S> {
    /// A verifier that knows these secrets.
    #[must_use]
    pub fn new(secrets: S, rules: Rules) -> Self {
        Self { secrets, rules, keys: KeyCache::new() }
    }

    /// Says who sent a request: the header or the query tells, and both are refused.
    ///
    /// A signed form ([`verify_form`](Self::verify_form)) is anonymous here.
    ///
    /// # Errors
    /// [`SignatureError`]. Nothing of the request may be trusted then.
    pub fn verify(
        &self,
        request: SignedRequest<'_>,
        now: SystemTime,
    ) -> Result<Access, SignatureError> {
        let now = Timestamp::of(now);
        let mut headers = request.headers.get_all(AUTHORIZATION).iter();
        let header = headers.next();
        if headers.next().is_some() {
            return Err(SignatureError::SeveralMechanisms);
        }
        match (header, mechanism(request.query)?) {
            (None, Mechanism::None) => anonymous(request.headers),
            (None, Mechanism::Version2) => Err(SignatureError::Version2),
            (None, Mechanism::Version4(pairs)) => self.query(request, &pairs, now),
            (Some(header), Mechanism::None) => {
                let header = header.to_str();
                self.header(request, header.map_err(|_| SignatureError::UnsupportedMechanism)?, now)
            }
            (Some(_), _) => Err(SignatureError::SeveralMechanisms),
        }
    }

    fn header(
        &self,
        request: SignedRequest<'_>,
        header: &str,
        now: Timestamp,
    ) -> Result<Access, SignatureError> {
        let Authorization { scope, signed: names, signature } = Authorization::parse(header)?;
        let time = request_time(request.headers)?;
        let basic = time.basic();
        if basic.day() != scope.day {
            return Err(SignatureError::MalformedHeader(
                "Invalid credential date. It must be the day of the request's date.",
            ));
        }
        if request.headers.contains_key(SECURITY_TOKEN) {
            return Err(SignatureError::InvalidToken);
        }
        self.check_region(&scope, false)?;
        if (now.seconds() - time.seconds()).abs() > SKEW {
            return Err(SignatureError::Skewed);
        }
        let hash = content_sha256(request.headers)?.ok_or(SignatureError::MissingContentSha256)?;
        let signed = Signed { scope, names, time, basic, hash, signature, presigned: false };
        self.check(request, signed)
    }

    fn query(
        &self,
        request: SignedRequest<'_>,
        pairs: &[uri::Pair<'_>],
        now: Timestamp,
    ) -> Result<Access, SignatureError> {
        let presigned = Presigned::parse(pairs)?;
        if request.headers.contains_key(SECURITY_TOKEN) {
            return Err(SignatureError::InvalidToken);
        }
        let malformed = SignatureError::MalformedQuery;
        let scope = Scope::parse(&presigned.credential).map_err(malformed)?;
        let names = signed_headers(&presigned.signed).map_err(malformed)?;
        let time = presigned.time;
        let basic = time.basic();
        if basic.day() != scope.day {
            return Err(malformed("Invalid credential date. It must be the day of X-Amz-Date."));
        }
        self.check_region(&scope, true)?;
        if time.seconds() > now.seconds() + SKEW {
            return Err(SignatureError::NotYetValid);
        }
        if presigned.expires == 0 || now.seconds() > time.seconds() + presigned.expires {
            return Err(SignatureError::Expired);
        }
        let hash = match presigned.content_sha256.as_deref() {
            Some(hash) => hash,
            None => content_sha256(request.headers)?.unwrap_or("UNSIGNED-PAYLOAD"),
        };
        let signature = presigned.signature;
        let signed = Signed { scope, names, time, basic, hash, signature, presigned: true };
        self.check(request, signed)
    }

    pub(super) fn check_region(
        &self,
        scope: &Scope<'_>,
        query: bool,
    ) -> Result<(), SignatureError> {
        match &self.rules.region {
            Some(expected) if expected != scope.region => {
                Err(SignatureError::WrongRegion { expected: expected.clone(), query })
            }
            _ => Ok(()),
        }
    }

    /// All that header and query have in common.
    fn check(
        &self,
        request: SignedRequest<'_>,
        signed: Signed<'_>,
    ) -> Result<Access, SignatureError> {
        let Signed { scope, names, time, basic, hash, signature, presigned } = signed;
        let payload = PayloadHash::parse(hash)?;
        check_coverage(request.headers, &names)?;
        let without = presigned.then_some(SIGNATURE);
        let target = Target::normalized(request.path, request.query, without);
        let target = target.map_err(|_| SignatureError::InvalidUri)?;

        let secret = self.secrets.secret_key(scope.access_key);
        let secret = secret.ok_or(SignatureError::UnknownAccessKey)?;
        let (key, kept) = self.keys.find(&secret, &scope);
        let canonical = Canonical {
            method: request.method,
            headers: request.headers,
            signed: &names,
            payload: hash,
            time: basic,
            scope: &scope,
        };
        let is_right = |target: &Target<'_>| {
            let computed = key.sign(&canonical.string_to_sign(target));
            constant_time_eq(&computed, &signature)
        };
        if !is_right(&target) {
            let raw = Target::raw(request.path, request.query, without);
            if raw == target || !is_right(&raw) {
                return Err(SignatureError::Mismatch);
            }
        }
        if !kept {
            self.keys.keep(&secret, &scope, key.clone());
        }
        Ok(Access::Signed(Verified {
            access_key: scope.access_key.to_owned(),
            region: scope.region.to_owned(),
            payload: payload.with_seed(|| ChunkSigner::new(key, time, &scope, signature)),
            presigned,
        }))
    }
}

/// Parts of a signature, from the header `Authorization` or from the query.
struct Signed<'a> {
    scope: Scope<'a>,
    names: Vec<&'a str>,
    time: Timestamp,
    /// The same time in the basic form of ISO 8601.
    basic: Basic,
    hash: &'a str,
    signature: [u8; 32],
    presigned: bool,
}

/// Time of the request: the header `x-amz-date`, or `Date` if that is missing.
fn request_time(headers: &HeaderMap) -> Result<Timestamp, SignatureError> {
    let missing = |()| SignatureError::MissingDate;
    let (text, own) = match only(headers, &AMZ_DATE).map_err(missing)? {
        Some(text) => (text, true),
        None => (only(headers, &DATE).map_err(missing)?.ok_or(missing(()))?, false),
    };
    let time = Timestamp::from_basic(text);
    let time = if own { time } else { time.or_else(|| Timestamp::from_http(text)) };
    time.ok_or(SignatureError::MissingDate)
}

fn content_sha256(headers: &HeaderMap) -> Result<Option<&str>, SignatureError> {
    only(headers, &CONTENT_SHA256).map_err(|_| SignatureError::InvalidContentSha256)
}

/// The value of a header that stands there once at most.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        return Err(());
    }
    value.map(|it| it.to_str()).transpose().map_err(|_| ())
}

/// `host` and all `x-amz-` headers that were sent are signed, and all that is signed was sent.
fn check_coverage(headers: &HeaderMap, signed: &[&str]) -> Result<(), SignatureError> {
    let unsigned = |name: &str| SignatureError::UnsignedHeader(name.to_owned());
    if !signed.contains(&"host") {
        return Err(unsigned("host"));
    }
    let mut sent = 0;
    for name in headers.keys() {
        if signed.contains(&name.as_str()) {
            sent += 1;
        } else if name.as_str().starts_with("x-amz-") {
            return Err(unsigned(name.as_str()));
        }
    }
    // Neither has a name twice.
    if sent == signed.len() { Ok(()) } else { Err(SignatureError::Mismatch) }
}

fn anonymous(headers: &HeaderMap) -> Result<Access, SignatureError> {
    let payload = match content_sha256(headers)?.map(PayloadHash::parse).transpose()? {
        None | Some(PayloadHash::Unsigned) => Payload::Unsigned,
        Some(PayloadHash::Sha256(digest)) => Payload::Sha256(digest),
        Some(PayloadHash::StreamingUnsignedTrailer) => Payload::StreamingUnsignedTrailer,
        Some(PayloadHash::Streaming | PayloadHash::StreamingTrailer) => {
            return Err(SignatureError::UnsignedSeed);
        }
    };
    Ok(Access::Anonymous { payload })
}
