//! Requests to the backend with the proxy's own credentials, repeated if the backend is busy.

use core::time::Duration;

use bytes::Bytes;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::Target;
use http::{HeaderMap, Method, Response, StatusCode};
use tokio::time::sleep;

use super::fault::Fault;
use crate::context::Proxy;
use crate::forward::read;
use crate::upstream::ResponseBody;

/// Maximum number of attempts if the backend is unavailable or asks to slow down.
const ATTEMPTS: u32 = 4;

/// Time before the second attempt. It doubles for each further one.
const PAUSE: Duration = Duration::from_millis(250);

/// Maximum size of a document in bytes: a page of a list.
const MAX_DOCUMENT: usize = endseal_s3_protocol::xml::MAX_DOCUMENT;

/// Sends a request without a body. Repeats it if the backend is unavailable or asks to slow down.
///
/// # Errors
/// The fault of the last attempt, as for [`Proxy::send`].
pub(super) async fn ask(
    proxy: &Proxy,
    method: &Method,
    target: &Target,
    headers: HeaderMap,
) -> Result<Response<ResponseBody>, Fault> {
    let mut pause = PAUSE;
    for _ in 1..ATTEMPTS {
        let answer = proxy.ask(proxy.own_signer(), method, target, headers.clone()).await;
        let status = answer.as_ref().err().map(S3Error::status);
        if !matches!(status, Some(StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS))
        {
            return answer.map_err(Fault::from);
        }
        sleep(pause).await;
        pause *= 2;
    }
    Ok(proxy.ask(proxy.own_signer(), method, target, headers).await?)
}

/// Requests a document and reads it completely.
///
/// # Errors
/// The same errors as [`ask`], and an error if the document is too long or ends early.
pub(super) async fn document(proxy: &Proxy, target: &Target) -> Result<(HeaderMap, Bytes), Fault> {
    let response = ask(proxy, &Method::GET, target, HeaderMap::new()).await?;
    let (head, body) = response.into_parts();
    Ok((head.headers, read(body, MAX_DOCUMENT).await?))
}
