//! Helpers for the HTTP requests and responses of the approval page.

use core::future::poll_fn;
use core::pin::Pin;
use core::time::Duration;

use endseal_service::http_server::HttpLimits;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::time::timeout;

/// Limits of the approval page's HTTP server.
pub(super) const LIMITS: HttpLimits = HttpLimits {
    connections: 64,
    read_buffer: 16 * 1024,
    headers: 100,
    header_timeout: Duration::from_secs(10),
    connection_timeout: Some(Duration::from_secs(120)),
    keep_alive: true,
};
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a form in bytes.
const BODY_LIMIT: usize = 4 * 1024;

/// Reads a form. Returns `None` if it exceeds 4 KiB, takes more than 10 s or cannot be read.
pub(super) async fn form(mut body: Incoming) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let reading = async {
        loop {
            match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                None => return Some(bytes),
                Some(Err(_)) => return None,
                Some(Ok(frame)) => bytes.extend(frame.into_data().unwrap_or_default()),
            }
            if bytes.len() > BODY_LIMIT {
                return None;
            }
        }
    };
    timeout(BODY_TIMEOUT, reading).await.ok().flatten()
}

/// Builds a response with a text body.
pub(super) fn text(
    status: StatusCode,
    content_type: &'static str,
    body: String,
) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
