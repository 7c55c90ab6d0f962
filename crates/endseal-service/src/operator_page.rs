//! The pages of a service for its operators: `/metrics`, `/healthz` and `/readyz`.
//!
//! They require no password, and identify no person, key or object. A service must bind them to an
//! address that only operators can reach.

use core::future::Future;
use core::time::Duration;
use std::borrow::Cow;

use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;

use crate::http_server::{self, HttpLimits};

/// The media type of Prometheus' text format.
const PROMETHEUS: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const LIMITS: HttpLimits = HttpLimits {
    connections: 16,
    read_buffer: 8 << 10,
    headers: 100,
    header_timeout: Duration::from_secs(10),
    connection_timeout: Some(Duration::from_secs(60)),
    keep_alive: false,
};

/// The state of a service, as its operators query it.
pub trait ServiceStatus: Clone + Send + Sync + 'static {
    /// Returns all metrics in Prometheus' text format.
    fn metrics(&self) -> impl Future<Output = String> + Send;

    /// Returns the reason if the service cannot work at present. `/readyz` answers 503 with this
    /// text; `/healthz` does not check it.
    fn unready(&self) -> impl Future<Output = Option<Cow<'static, str>>> + Send;
}

/// Serves the pages until the returned future is dropped. A connection carries one request.
pub async fn serve(listener: TcpListener, status: impl ServiceStatus) {
    http_server::serve(listener, LIMITS, move |request| {
        let status = status.clone();
        async move { answer(&request, &status).await }
    })
    .await;
}

async fn answer(request: &Request<Incoming>, status: &impl ServiceStatus) -> Response<String> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/metrics" => {
            let mut response = Response::new(status.metrics().await);
            response.headers_mut().insert(CONTENT_TYPE, PROMETHEUS);
            response
        }
        "/healthz" => plain(StatusCode::OK, "ok\n"),
        "/readyz" => match status.unready().await {
            None => plain(StatusCode::OK, "ok\n"),
            Some(cause) => plain(StatusCode::SERVICE_UNAVAILABLE, &format!("{cause}\n")),
        },
        _ => plain(StatusCode::NOT_FOUND, ""),
    }
}

fn plain(status: StatusCode, body: &str) -> Response<String> {
    let mut response = Response::new(body.to_owned());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, PLAIN);
    response
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;

    #[derive(Clone, Default)]
    struct Lamp {
        is_broken: Arc<AtomicBool>,
    }

    impl ServiceStatus for Lamp {
        async fn metrics(&self) -> String {
            "lamp_watts 7\n".to_owned()
        }

        async fn unready(&self) -> Option<Cow<'static, str>> {
            self.is_broken.load(Ordering::Relaxed).then_some("the bulb is broken".into())
        }
    }

    async fn ask(address: core::net::SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("{line}\r\nHost: lamp\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn ready_is_another_question_than_alive() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let lamp = Lamp::default();
        tokio::spawn(serve(listener, lamp.clone()));
        let plain = "content-type: text/plain; charset=utf-8\r\n";
        for (is_broken, line, status, contents) in [
            (false, "GET /metrics HTTP/1.1", "200 OK", ["version=0.0.4", "\r\n\r\nlamp_watts 7\n"]),
            (false, "GET /healthz HTTP/1.1", "200 OK", [plain, "\r\n\r\nok\n"]),
            (false, "GET /readyz HTTP/1.1", "200 OK", [plain, "\r\n\r\nok\n"]),
            (true, "GET /healthz HTTP/1.1", "200 OK", [plain, "\r\n\r\nok\n"]),
            (
                true,
                "GET /readyz HTTP/1.1",
                "503 Service Unavailable",
                [plain, "\r\n\r\nthe bulb is broken\n"],
            ),
            (true, "HEAD /readyz HTTP/1.1", "503 Service Unavailable", [plain, ": 19\r\n"]),
            (false, "GET /ready HTTP/1.1", "404 Not Found", [plain, "content-length: 0\r\n"]),
            (
                false,
                "POST /readyz HTTP/1.1",
                "405 Method Not Allowed",
                [plain, "allow: GET, HEAD\r\n"],
            ),
        ] {
            lamp.is_broken.store(is_broken, Ordering::Relaxed);
            let answer = ask(address, line).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{line}: {answer}");
            for content in contents {
                assert!(answer.contains(content), "{line}, {content}: {answer}");
            }
        }
    }
}
