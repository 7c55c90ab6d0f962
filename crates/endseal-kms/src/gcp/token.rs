//! Access tokens (RFC 6750) with which requests authenticate.

use alloc::sync::Arc;
use core::time::Duration;
use std::sync::{PoisonError, RwLock};
use std::time::SystemTime;

use bytes::Bytes;
use endseal_crypto::secret::{Zeroizing, constant_time_eq};
use http::Request;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::answer::Answered;
use super::fields::Fields;
use super::service_account::ServiceAccount;
use super::{MAX_ANSWER, unavailable};
use crate::{HttpClient, ProviderError};

const TOKEN_PATH: &str = "/computeMetadata/v1/instance/service-accounts/default/token";
/// Both requests to the metadata server and its answers have this header. The one proves that no
/// browser was tricked into the request, the other that no other server answers at the address.
const METADATA_FLAVOR: HeaderName = HeaderName::from_static("metadata-flavor");
const GOOGLE: &str = "Google";

/// Time before the expiry at which a token is renewed. The metadata server has a new one at least 4
/// minutes before.
const MARGIN: Duration = Duration::from_secs(225);
/// Longest lifetime that is believed, the longest that can be configured.
const MAX_LIFETIME: Duration = Duration::from_secs(12 * 3_600);
/// Time until the next attempt to renew a token that is still valid.
const RENEWAL_PAUSE: Duration = Duration::from_secs(10);
/// Longest time for which a request waits for a renewal while the token is still valid.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Source of access tokens.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[allow(clippy::exhaustive_enums, reason = "the two ways")]
pub enum TokenSource {
    /// The metadata server, with tokens of the account that the machine runs as.
    MetadataServer(Arc<dyn HttpClient>),
    /// A service account, whose key signs requests for tokens.
    ServiceAccount {
        /// Account with its key.
        account: Arc<ServiceAccount>,
        /// Client of [`ServiceAccount::token_server`].
        client: Arc<dyn HttpClient>,
    },
}

/// Tokens of a source, each of which is used until shortly before it expires.
pub(super) struct Tokens {
    source: TokenSource,
    cached: RwLock<Option<Token>>,
    /// Held while a token is requested, so that many requests ask once.
    renewal: Mutex<()>,
}

/// Access token as the value of `Authorization`.
#[derive(Clone)]
struct Token {
    value: HeaderValue,
    renewed_at: Instant,
    expires_at: Instant,
}

impl Tokens {
    pub(super) fn new(source: TokenSource) -> Self {
        Self { source, cached: RwLock::new(None), renewal: Mutex::new(()) }
    }

    /// Returns a token that is valid now. If it expires soon, one request renews it. If that fails,
    /// the old one is used until it expires.
    pub(super) async fn current(&self) -> Result<HeaderValue, ProviderError> {
        let now = Instant::now();
        match self.cached() {
            Some(token) if now < token.renewed_at => Ok(token.value),
            Some(token) if now < token.expires_at => {
                let Ok(_renewing) = self.renewal.try_lock() else { return Ok(token.value) };
                let renewed_at = token.expires_at.min(now + RENEWAL_PAUSE);
                self.store(Token { renewed_at, ..token.clone() });
                match timeout(RENEWAL_TIMEOUT, self.request()).await {
                    Ok(Ok(renewed)) => Ok(renewed),
                    _ => Ok(token.value),
                }
            }
            _ => {
                let _renewing = self.renewal.lock().await;
                // Another request may have got one meanwhile.
                match self.cached() {
                    Some(token) if Instant::now() < token.expires_at => Ok(token.value),
                    _ => self.request().await,
                }
            }
        }
    }

    /// Returns another token than `refused`, or `None` if the source has no other.
    pub(super) async fn renewed(
        &self,
        refused: &HeaderValue,
    ) -> Result<Option<HeaderValue>, ProviderError> {
        let is_other =
            |token: &HeaderValue| !constant_time_eq(token.as_bytes(), refused.as_bytes());
        let _renewing = self.renewal.lock().await;
        // Another request may have replaced it meanwhile.
        if let Some(token) = self.cached().filter(|token| is_other(&token.value)) {
            return Ok(Some(token.value));
        }
        let token = self.request().await?;
        Ok(Some(token).filter(is_other))
    }

    fn cached(&self) -> Option<Token> {
        self.cached.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn store(&self, token: Token) {
        *self.cached.write().unwrap_or_else(PoisonError::into_inner) = Some(token);
    }

    /// Requests a token from the source and stores it.
    async fn request(&self) -> Result<HeaderValue, ProviderError> {
        let asked = Instant::now();
        let answered = self.source.ask().await?;
        let (value, lifetime) = parse(&answered)?;
        // A token that lives shortly is used for half of its lifetime.
        let margin = MARGIN.min(lifetime / 2);
        let expires_at = asked + lifetime;
        self.store(Token { value: value.clone(), renewed_at: expires_at - margin, expires_at });
        Ok(value)
    }
}

impl TokenSource {
    async fn ask(&self) -> Result<Answered, ProviderError> {
        let refused = |_| ProviderError::Refused;
        match self {
            Self::MetadataServer(client) => {
                let request = Request::get(TOKEN_PATH)
                    .header(METADATA_FLAVOR, GOOGLE)
                    .body(Bytes::new())
                    .map_err(refused)?;
                let response = client.send(request, MAX_ANSWER).await;
                let response = response.map_err(|_| unavailable())?;
                let flavor = response.headers().get(METADATA_FLAVOR);
                if flavor.is_none_or(|flavor| flavor != GOOGLE) {
                    return Err(ProviderError::Refused);
                }
                Ok(Answered::new(response))
            }
            Self::ServiceAccount { account, client } => {
                let body = account.token_request(SystemTime::now()).ok_or_else(unavailable)?;
                let request = Request::post(account.token_path())
                    .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                    .body(Bytes::from_owner(body))
                    .map_err(refused)?;
                let response = client.send(request, MAX_ANSWER).await;
                response.map(Answered::new).map_err(|_| unavailable())
            }
        }
    }
}

/// Reads an answer with a token (RFC 6749, 5.1): the token and its lifetime.
fn parse(answered: &Answered) -> Result<(HeaderValue, Duration), ProviderError> {
    if answered.status != http::StatusCode::OK {
        // The account was deleted or disabled, its key was revoked, or the machine has none.
        return Err(answered.temporary_failure().unwrap_or(ProviderError::Refused));
    }
    let fields = Fields::parse(&answered.body).ok_or_else(unavailable)?;
    let token = fields.text("access_token").ok_or_else(unavailable)?;
    let kind = fields.text("token_type").ok_or_else(unavailable)?;
    let lifetime = fields.number("expires_in").filter(|seconds| *seconds > 0);
    let lifetime = Duration::from_secs(lifetime.ok_or_else(unavailable)?).min(MAX_LIFETIME);
    let is_usable = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_usable || !kind.eq_ignore_ascii_case("bearer") {
        return Err(unavailable());
    }
    let mut owned = Zeroizing::new(Vec::with_capacity(BEARER.len() + token.len()));
    owned.extend_from_slice(BEARER.as_bytes());
    owned.extend_from_slice(token.as_bytes());
    let mut value =
        HeaderValue::from_maybe_shared(Bytes::from_owner(owned)).map_err(|_| unavailable())?;
    // Its `Debug` shows nothing.
    value.set_sensitive(true);
    Ok((value, lifetime))
}

const BEARER: &str = "Bearer ";
