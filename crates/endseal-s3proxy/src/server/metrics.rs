//! Separate listener for operators, which clients of the proxy need not be able to access.

use std::borrow::Cow;

use endseal_kms::Cached;
use endseal_kms::cache::CacheCounters;
use endseal_service::MetricKind::{Counter, Gauge};
use endseal_service::MetricsText;
use endseal_service::operator_page::{self, ServiceStatus};
use tokio::net::TcpListener;

use crate::context::Proxy;
use crate::server::generation::Current;
use crate::upstream::Client;

/// Serves the metrics of a proxy at `GET /metrics`, in addition to `/healthz` and `/readyz`. There
/// is no authentication: bind it to an address that only operators can access, because the metrics
/// reveal how the proxy is used.
#[allow(missing_debug_implementations, reason = "the proxy holds secret access keys")]
#[derive(Clone)]
pub struct MetricsServer(Current);

impl MetricsServer {
    pub(super) const fn new(current: Current) -> Self {
        Self(current)
    }

    /// Serves requests until the future is dropped.
    pub async fn serve(self, listener: TcpListener) {
        operator_page::serve(listener, self).await;
    }
}

impl ServiceStatus for MetricsServer {
    async fn metrics(&self) -> String {
        self.0.proxy().metrics_text()
    }

    async fn unready(&self) -> Option<Cow<'static, str>> {
        self.0.proxy().ready().await.err().map(Cow::Borrowed)
    }
}

impl Proxy {
    /// Returns all metrics in Prometheus' text format: of requests, of the connections to the
    /// backend, and of the key provider's cache.
    #[must_use]
    pub fn metrics_text(&self) -> String {
        let mut text = MetricsText::new("endseal_s3", env!("CARGO_PKG_VERSION"));
        self.metrics().write_to(&mut text);
        of_backend([&self.backend, &self.beside], &mut text);
        of_keys(self.cache.as_deref(), &mut text);
        text.finish()
    }
}

/// Writes the metrics of both clients of the backend, which share their counters.
fn of_backend(clients: [&Client; 2], text: &mut MetricsText) {
    let name = "backend_connections";
    text.head(name, Gauge, "Connections to the backend, by what they do.");
    let used: usize = clients.iter().map(|client| client.used_connections()).sum();
    let kept: usize = clients.iter().map(|client| client.kept_connections()).sum();
    for (state, count) in [("used", used), ("kept", kept)] {
        text.sample(name, &[("state", state)], count as u64);
    }
    let [client, _] = clients;
    let own = client.counters();
    let crowded = "Requests that got no connection in time.";
    for (name, help, count) in [
        ("requests", "Requests to the backend.", own.requests()),
        ("failures", "Requests without a response.", own.failed()),
        ("connections_opened", "Connections that were opened.", own.opened()),
        ("unreachable", "Connections that could not be opened.", own.unreachable()),
        ("retries", "Requests sent again over another connection.", own.retried()),
        ("crowded_out", crowded, own.crowded_out()),
        ("timeouts", "Requests and answers that took too long.", own.timeouts()),
        ("broken_bodies", "Answers that broke off.", own.broken_bodies()),
        ("sent_bytes", "Bytes written to the backend.", own.bytes_sent()),
        ("received_bytes", "Bytes read from the backend.", own.bytes_received()),
    ] {
        text.single(&format!("backend_{name}_total"), Counter, help, count);
    }
}

/// Writes the metrics of the key cache. A provider that is faster than a cache has none; all values
/// are 0 then.
fn of_keys(cache: Option<&Cached>, text: &mut MetricsText) {
    let entries = cache.map_or(0, Cached::entries) as u64;
    text.single("keys_cached", Gauge, "Content keys in memory.", entries);
    let paused = "1 while the key provider is not asked after failures.";
    text.single("keys_paused", Gauge, paused, u64::from(cache.is_some_and(Cached::is_paused)));
    let none = CacheCounters::default();
    let own = cache.map_or(&none, Cached::counters);
    let refused = "Requests not sent because the provider is paused or has too many.";
    for (name, help, count) in [
        ("hits", "Content keys that were in memory.", own.hits()),
        ("asked", "Content keys that the provider was asked to open.", own.asked()),
        ("joined", "Content keys that another request was asking for.", own.joined()),
        ("failures", "Requests that the provider did not answer.", own.failures()),
        ("refused", refused, own.refused()),
        ("evicted", "Content keys that made room for others.", own.evicted()),
    ] {
        text.single(&format!("keys_{name}_total"), Counter, help, count);
    }
}
