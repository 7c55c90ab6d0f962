//! `AbortMultipartUpload`

use endseal_s3_format::UploadId;
use endseal_s3_protocol::Query;
use endseal_s3_protocol::S3Error;
use http::{Method, Response, StatusCode};

use super::recorded;
use super::upload::Upload;
use crate::context::{Proxy, RequestContext};
use crate::forward::without_body;
use crate::headers;
use crate::transfer::Outgoing;

/// Gives an upload up, with what is parked and recorded for it. An id as the backend lists it will
/// do.
pub(in crate::operations) async fn abort(
    proxy: &Proxy,
    call: &RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let headers = headers::forwarded(&call.headers);
    let id = call.target.query().get("uploadId").unwrap_or_default();
    if UploadId::parse(id).is_err() {
        let response = proxy.ask(&call.signer, &Method::DELETE, &call.target, headers).await?;
        if let Some(bucket) = call.target.bucket() {
            recorded::forget(proxy, &call.signer, bucket, id).await;
        }
        return Ok(without_body(response).await);
    }
    let upload = Upload::of(proxy, call).await?;
    upload.unpark_all(proxy).await;
    let target = upload.target(Query::new());
    let outcome = proxy.ask(&call.signer, &Method::DELETE, &target, headers).await;
    // Not before: as long as it is there, lists show it.
    if outcome.as_ref().err().is_none_or(|error| error.status() == StatusCode::NOT_FOUND) {
        upload.forget(proxy).await;
    }
    Ok(without_body(outcome?).await)
}
