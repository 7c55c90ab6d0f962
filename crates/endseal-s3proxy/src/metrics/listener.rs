//! A listener of its own for what operators ask, so that nobody in front can.

use std::sync::Arc;

use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;

use crate::body::Outgoing;
use crate::loopback;
use crate::proxy::Proxy;

/// Prometheus' text format.
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Serves the counters of a proxy: `GET /metrics`, beside `/healthz` and `/readyz`, to whoever
/// reaches it. Nothing that it tells is secret, but much is nobody's business: bind it to an address
/// that only operators reach.
#[allow(missing_debug_implementations, reason = "the proxy holds secret access keys")]
pub struct MetricsServer(Arc<Proxy>);

impl MetricsServer {
    /// A server of the counters of that proxy.
    #[must_use]
    pub const fn new(proxy: Arc<Proxy>) -> Self {
        Self(proxy)
    }

    /// Answers what comes in, until it is dropped.
    pub async fn serve(self, listener: TcpListener) {
        let proxy = self.0;
        loopback::serve(listener, move |request| {
            let proxy = Arc::clone(&proxy);
            async move { answer(&proxy, &request).await }
        })
        .await;
    }
}

async fn answer(proxy: &Proxy, request: &Request<Incoming>) -> Response<Outgoing> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = Response::new(Outgoing::empty());
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/metrics" => {
            let mut response = Response::new(Outgoing::full(proxy.metrics_text()));
            response.headers_mut().insert(CONTENT_TYPE, TEXT);
            response
        }
        "/healthz" => proxy.told(None),
        "/readyz" => proxy.told(proxy.ready().await.err()),
        _ => {
            let mut response = Response::new(Outgoing::empty());
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    }
}
