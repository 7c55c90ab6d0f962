//! `AbortMultipartUpload`.

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

/// Aborts an upload and deletes its parked parts and records. The backend's id is accepted, too,
/// because lists may show it.
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
    // Records are deleted last, because lists need them as long as the upload exists.
    if outcome.as_ref().err().is_none_or(|error| error.status() == StatusCode::NOT_FOUND) {
        upload.forget(proxy).await;
    }
    Ok(without_body(outcome?).await)
}
