//! `/metrics`, `/healthz` and `/readyz`, on a listener of their own.

use alloc::sync::Arc;
use core::sync::atomic::Ordering::Relaxed;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;

use super::web;
use crate::metrics::Metrics;

/// Prometheus' text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// Serves the counters until it is dropped.
pub(super) async fn serve(listener: TcpListener, metrics: Arc<Metrics>) {
    web::serve(listener, move |request| {
        let response = answer(&request, &metrics);
        async move { response }
    })
    .await;
}

fn answer(request: &Request<Incoming>, metrics: &Metrics) -> Response<String> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return web::text(StatusCode::METHOD_NOT_ALLOWED, PLAIN, String::new());
    }
    match request.uri().path() {
        "/metrics" => web::text(StatusCode::OK, TEXT, metrics.text()),
        "/healthz" => web::text(StatusCode::OK, PLAIN, "ok\n".to_owned()),
        "/readyz" => match unready(metrics) {
            None => web::text(StatusCode::OK, PLAIN, "ok\n".to_owned()),
            Some(cause) => web::text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, format!("{cause}\n")),
        },
        _ => web::text(StatusCode::NOT_FOUND, PLAIN, String::new()),
    }
}

/// Cause why requests of apps have no result.
fn unready(metrics: &Metrics) -> Option<&'static str> {
    if !metrics.unlocked.load(Relaxed) {
        Some("locked")
    } else if metrics.relays_connected.load(Relaxed) == 0 {
        Some("no relay is connected")
    } else {
        None
    }
}
