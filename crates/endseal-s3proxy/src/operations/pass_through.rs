//! Operations that do not concern content: they are forwarded with a new signature.

use std::borrow::Cow;

use endseal_s3_protocol::Operation;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::Target;
use endseal_s3_protocol::aws_chunked::{Decoder, Limits};
use endseal_s3_protocol::checksum::Digests;
use endseal_s3_protocol::sigv4::{Payload, PayloadHash};
use http::header::CONTENT_LENGTH;
use http::{Method, Response};

use crate::context::{Proxy, RequestContext};
use crate::forward::{relay, without_body};
use crate::headers;
use crate::transfer::{Content, ContentSource, Outgoing, Plain, RequestBody};
use crate::upstream::{Body, ResponseBody};

/// Forwards a request and its response. The response is the backend's and is not authenticated.
pub(super) async fn pass_through(
    proxy: &Proxy,
    call: RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let asks = !matches!(call.method, Method::PUT | Method::POST | Method::DELETE);
    let response = send_on(proxy, call).await?;
    let mut response = if asks { relay(response) } else { without_body(response).await };
    // The tag is that of the object whose settings were changed.
    super::conditions::to_client(response.headers_mut());
    Ok(response)
}

/// Forwards a request. Returns a successful response of the backend.
///
/// # Errors
/// If the body cannot be read, and as for [`Proxy::send`].
pub(super) async fn send_on(
    proxy: &Proxy,
    call: RequestContext,
) -> Result<Response<ResponseBody>, S3Error> {
    let target = target(&call).into_owned();
    let mut headers = headers::forwarded(&call.headers);
    super::conditions::to_backend(&mut headers);
    let incoming = call.body.ok_or_else(S3Error::internal)?;
    let (body, hash) = body(incoming, &call.headers, &call.payload)?;
    proxy.send(&call.signer, &call.method, &target, headers, body, hash).await
}

/// Query parameters of object requests that are forwarded. Others can have a meaning at some
/// servers: keys like `minio/admin/` lead to the administration of MinIO.
const KNOWN: [&str; 7] =
    ["acl", "legal-hold", "restore", "retention", "tagging", "versionId", "x-id"];

/// Returns the target of the request without unknown parameters.
pub(super) fn target(call: &RequestContext) -> Cow<'_, Target> {
    if call.operation == Operation::Other && call.target.key().is_some() {
        return call.target.without(|name| !KNOWN.contains(&name));
    }
    Cow::Borrowed(&call.target)
}

/// Returns the body of a request for the backend, without `aws-chunked` encoding. A digest is kept,
/// so that the backend can check it.
fn body(
    incoming: Box<RequestBody>,
    headers: &http::HeaderMap,
    payload: &Payload,
) -> Result<(Body, PayloadHash), S3Error> {
    if Decoder::of_request(payload, headers, Limits::default())?.is_some() {
        let digests = Digests::of_request(headers, None)?;
        let content = super::content::of(headers, payload, incoming, digests)?;
        let len = content.len();
        return Ok((Body::stream(len, Plain::new(content)), PayloadHash::Unsigned));
    }
    let hash = match payload {
        Payload::Sha256(digest) => PayloadHash::Sha256(*digest),
        _ => PayloadHash::Unsigned,
    };
    let len = headers::text(headers, CONTENT_LENGTH);
    let len = match len {
        Some(len) => len.parse().map_err(|_| S3Error::missing_length())?,
        None if headers.contains_key("transfer-encoding") => return Err(S3Error::missing_length()),
        None => 0,
    };
    if len == 0 {
        return Ok((Body::empty(), hash));
    }
    let content = Content::plain(ContentSource::RequestBody(incoming), len, Digests::new());
    Ok((Body::stream(len, Plain::new(content)), hash))
}
