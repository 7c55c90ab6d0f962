//! A listener of its own for what operators ask, so that nobody in front can.

use core::fmt::Write as _;

use endseal_kms::Cached;
use endseal_kms::cache::CacheCounters;
use endseal_s3_folder::loopback;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;

use crate::context::Proxy;
use crate::observability::{head, series};
use crate::server::generation::Current;
use crate::transfer::Outgoing;
use crate::upstream::Client;

/// Prometheus' text format.
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Serves the counters of a proxy: `GET /metrics`, beside `/healthz` and `/readyz`, to whoever
/// reaches it. Nothing that it tells is secret, but much is nobody's business: bind it to an
/// address that only operators reach.
#[allow(missing_debug_implementations, reason = "the proxy holds secret access keys")]
#[derive(Clone)]
pub struct MetricsServer(Current);

impl MetricsServer {
    pub(super) const fn new(current: Current) -> Self {
        Self(current)
    }

    /// Answers what comes in, until it is dropped.
    pub async fn serve(self, listener: TcpListener) {
        let current = self.0;
        loopback::serve(listener, move |request| {
            let proxy = current.proxy();
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

impl Proxy {
    /// All counters in Prometheus' text format: of requests, of the way to the backend, of the key
    /// provider's cache.
    #[must_use]
    pub fn metrics_text(&self) -> String {
        let mut out = String::new();
        head(&mut out, "build_info", "gauge", "The version that runs.");
        let version = env!("CARGO_PKG_VERSION");
        // Writing into a string cannot fail.
        let _ = writeln!(out, "endseal_s3_build_info{{version=\"{version}\"}} 1");
        out.push_str(&self.metrics().text());
        of_backend(&self.backend, &mut out);
        of_keys(self.cache.as_deref(), &mut out);
        out
    }
}

fn of_backend(client: &Client, out: &mut String) {
    head(out, "backend_connections", "gauge", "Connections to the backend, by what they do.");
    for (state, count) in [("used", client.used_connections()), ("kept", client.kept_connections())]
    {
        let _ = writeln!(out, "endseal_s3_backend_connections{{state=\"{state}\"}} {count}");
    }
    let own = client.counters();
    let crowded = "Requests that waited for a connection in vain.";
    for (name, help, count) in [
        ("requests", "Requests to the backend.", own.requests()),
        ("failures", "Requests that no answer came to.", own.failed()),
        ("connections_opened", "Connections that were opened.", own.opened()),
        ("unreachable", "Connections that could not be opened.", own.unreachable()),
        ("retries", "Requests sent again over another connection.", own.retried()),
        ("crowded_out", crowded, own.crowded_out()),
        ("timeouts", "Requests and answers that took too long.", own.timeouts()),
        ("broken_bodies", "Answers that broke off.", own.broken_bodies()),
        ("sent_bytes", "Bytes written to the backend.", own.bytes_sent()),
        ("received_bytes", "Bytes read from the backend.", own.bytes_received()),
    ] {
        series(out, &format!("backend_{name}_total"), "counter", help, count);
    }
}

/// A provider that is quicker than a cache has none: then nothing is cached, and nothing is asked
/// by way of one.
fn of_keys(cache: Option<&Cached>, out: &mut String) {
    let entries = cache.map_or(0, Cached::entries) as u64;
    series(out, "keys_cached", "gauge", "Content keys in memory.", entries);
    let paused = "Whether the key provider is left alone after failures.";
    series(out, "keys_paused", "gauge", paused, u64::from(cache.is_some_and(Cached::is_paused)));
    let none = CacheCounters::default();
    let own = cache.map_or(&none, Cached::counters);
    let refused = "Questions not put, because the provider is left alone or has too many.";
    for (name, help, count) in [
        ("hits", "Content keys that were in memory.", own.hits()),
        ("asked", "Content keys that the provider was asked to open.", own.asked()),
        ("joined", "Content keys that another request was asking for.", own.joined()),
        ("failures", "Questions that the provider did not answer.", own.failures()),
        ("refused", refused, own.refused()),
        ("evicted", "Content keys that made room for others.", own.evicted()),
    ] {
        series(out, &format!("keys_{name}_total"), "counter", help, count);
    }
}
