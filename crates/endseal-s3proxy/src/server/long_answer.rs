//! Answers that are sent before the work behind them is done. Like S3, the proxy sends status 200
//! and blanks while the backend completes an upload or copies an object, so that neither the client
//! nor a balancer takes the silence for a failure. The result or an error is in the document then.

use core::time::Duration;

use endseal_s3_protocol::Query;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

use super::service::REQUEST_ID;
use crate::context::Proxy;
use crate::headers::{self, COPY_SOURCE};
use crate::transfer::{Awaited, Outgoing};

/// Time without a result after which the answer starts.
const FIRST_BYTE: Duration = Duration::from_secs(5);

/// Returns true for a request that can take minutes at the backend: `CompleteMultipartUpload` and
/// `CopyObject`.
pub(super) fn is_long<B>(request: &Request<B>) -> bool {
    let has_upload = || {
        let query = Query::parse(request.uri().query().unwrap_or(""));
        query.is_ok_and(|query| query.has("uploadId"))
    };
    match *request.method() {
        Method::POST => has_upload(),
        Method::PUT => request.headers().contains_key(COPY_SOURCE) && !has_upload(),
        _ => false,
    }
}

/// Returns true for a request whose content may be sent to the backend in parts. Its work must not
/// be dropped, because it ends with the completion or the abort of an upload.
pub(super) fn is_in_parts<B>(request: &Request<B>, proxy: &Proxy) -> bool {
    let len = headers::text(request.headers(), CONTENT_LENGTH).and_then(|len| len.parse().ok());
    matches!(*request.method(), Method::PUT | Method::POST)
        && len.is_some_and(|len| proxy.parallel_parts.are_for(len))
}

/// Returns the answer of `work`, or one that is sent while it goes on. The work continues if the
/// client disconnects.
///
/// # Errors
/// If the runtime shuts down.
pub(super) async fn of(
    mut work: JoinHandle<Response<Outgoing>>,
    request_id: HeaderValue,
) -> Result<Response<Outgoing>, JoinError> {
    if let Ok(answer) = timeout(FIRST_BYTE, &mut work).await {
        return answer;
    }
    let mut response = Response::new(Outgoing::awaited(Awaited::new(work)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    headers.insert(REQUEST_ID, request_id);
    Ok(response)
}
