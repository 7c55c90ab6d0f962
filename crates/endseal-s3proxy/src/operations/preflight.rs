//! CORS preflights (Fetch standard, 4.8): a browser asks without a signature if a page of another
//! origin may send a request. The backend's rules of the bucket apply.

use endseal_s3_protocol::{Query, S3Error, Target};
use http::header::{ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Response};

use crate::context::Proxy;
use crate::forward::without_body;
use crate::headers;
use crate::transfer::Outgoing;

/// Headers of a preflight that are forwarded.
const ASKED: [HeaderName; 3] =
    [ORIGIN, ACCESS_CONTROL_REQUEST_METHOD, ACCESS_CONTROL_REQUEST_HEADERS];

/// Returns true for a preflight. Other requests with this method need a signature.
pub(crate) fn is_preflight(head: &Parts) -> bool {
    head.method == Method::OPTIONS
        && head.headers.contains_key(ORIGIN)
        && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Forwards a preflight for the bucket, never for a key, and returns the CORS headers of the
/// response.
///
/// # Errors
/// `AccessDenied` if the request names no bucket, and as for [`Proxy::send`].
pub(crate) async fn preflight(
    proxy: &Proxy,
    asked: &HeaderMap,
    target: &Target,
) -> Result<Response<Outgoing>, S3Error> {
    let bucket = target.bucket().ok_or_else(S3Error::access_denied)?;
    let target = Target::of(bucket, None, Query::new());
    let mut question = HeaderMap::new();
    for name in ASKED {
        for value in asked.get_all(&name) {
            question.append(&name, value.clone());
        }
    }
    let answer = proxy.ask(proxy.own_signer(), &Method::OPTIONS, &target, question).await?;
    let mut answer = without_body(answer).await;
    headers::remove(answer.headers_mut(), |name| !headers::is_of_origins(name));
    *answer.status_mut() = http::StatusCode::OK;
    Ok(answer)
}
