//! Adapter that lets the credential chain use the backend's HTTP client.

use core::fmt;
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use endseal_crypto::secret::Zeroizing;
use http::Request;
use tokio::time::timeout;

use crate::upstream::{Body, Client, ClientError, Limits, Target, Trust, whole};

/// Maximum size of a response in bytes. Session tokens have a few KiB.
const MAX_ANSWER: usize = 128 * 1024;

/// Timeout of an exchange, including its body.
const EXCHANGE: Duration = Duration::from_secs(10);

/// Timeouts for the connection and for the first byte of a response. The chain may request shorter
/// ones.
const CONNECT: Duration = Duration::from_secs(5);
const FIRST_BYTE: Duration = Duration::from_secs(10);

/// HTTP client that trusts the same certificates as the backend's client. It does not follow
/// redirects. Each exchange uses a new connection, because exchanges are rare.
#[derive(Clone)]
pub(super) struct Connector {
    trust: Trust,
    limits: Limits,
    last_failure: Arc<Mutex<Option<String>>>,
}

impl Connector {
    pub(super) fn new(trust: Trust) -> Self {
        let limits = Limits {
            connections: 1,
            connect: CONNECT,
            first_byte: FIRST_BYTE,
            kept: 0,
            buffer: 64 * 1024,
            ..Limits::default()
        };
        Self { trust, limits, last_failure: Arc::default() }
    }

    /// Returns and clears the server and reason of the last failed exchange.
    pub(super) fn last_failure(&self) -> Option<String> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn failed(&self, target: &Target, outcome: impl fmt::Display) {
        let text = format!("{}: {outcome}", target.authority());
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let user = |text: &str| ConnectorError::user(text.into());
        let (mut head, body) =
            request.try_into_http1x().map_err(|_| user("a request that is not HTTP"))?.into_parts();
        let (Some(scheme), Some(authority)) = (head.uri.scheme_str(), head.uri.authority()) else {
            return Err(user("a request without a server"));
        };
        let target = Target::parse(&format!("{scheme}://{authority}"))
            .map_err(|error| ConnectorError::user(error.into()))?;
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        head.uri =
            target.request_target(path).map_err(|error| ConnectorError::user(error.into()))?;
        // The body may contain a token, so it is wiped.
        let body = body.bytes().ok_or_else(|| user("a request with a streamed body"))?;
        let body = Body::full(Bytes::from_owner(Zeroizing::new(body.to_vec())));
        let client = Client::new(target.clone(), self.trust.clone(), self.limits);
        let outcome = timeout(EXCHANGE, async {
            let response = client.send(Request::from_parts(head, body)).await;
            let (head, body) = response
                .map_err(|error| connector_error(&error, |text| self.failed(&target, text)))?
                .into_parts();
            let body = whole(body, MAX_ANSWER).await.map_err(|error| {
                self.failed(&target, "the response is incomplete or too long");
                ConnectorError::other(error.into(), None)
            })?;
            Ok((head, body))
        });
        let (head, body) = outcome.await.unwrap_or_else(|elapsed| {
            self.failed(&target, "no complete response in time");
            Err(ConnectorError::timeout(elapsed.into()))
        })?;
        if !head.status.is_success() {
            self.failed(&target, format_args!("answered with {}", head.status));
        }
        let body = SdkBody::from(Bytes::from_owner(body));
        let status = head.status.as_u16().try_into().map_err(|_| user("an invalid status"))?;
        let mut response = HttpResponse::new(status, body);
        for (name, value) in &head.headers {
            if let Ok(value) = value.to_str() {
                response.headers_mut().append(name.as_str().to_owned(), value.to_owned());
            }
        }
        Ok(response)
    }
}

fn connector_error(error: &ClientError, failed: impl FnOnce(&str)) -> ConnectorError {
    let text = error.to_string();
    failed(&text);
    match error {
        _ if error.is_timeout() => ConnectorError::timeout(text.into()),
        ClientError::Broken | ClientError::Connect(_) | ClientError::Resolve(_) => {
            ConnectorError::io(text.into())
        }
        _ => ConnectorError::other(text.into(), None),
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let own = self.clone();
        HttpConnectorFuture::new(async move { own.exchange(request).await })
    }
}

impl HttpClient for Connector {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let mut own = self.clone();
        let limits = &mut own.limits;
        limits.connect = settings.connect_timeout().map_or(CONNECT, |limit| limit.min(CONNECT));
        limits.first_byte =
            settings.read_timeout().map_or(FIRST_BYTE, |limit| limit.min(FIRST_BYTE));
        SharedHttpConnector::new(own)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}
