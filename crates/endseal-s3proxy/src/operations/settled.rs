//! Operations of several requests to the backend, between which the object can be replaced.

use core::time::Duration;

use endseal_s3_protocol::{Operation, S3Error};
use http::Response;
use tokio::time::sleep;

use super::{attributes, copy_object, get_object, head_object, multipart};
use crate::context::{Proxy, RequestContext};
use crate::sealed_object::CHANGED;
use crate::transfer::Outgoing;

/// Pauses before another attempt.
const PAUSES: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(10),
    Duration::from_millis(40),
    Duration::from_millis(100),
    Duration::from_millis(200),
];

/// Executes an operation that reads an object. If it sees two versions of the object, it begins
/// again with the new one. A client that set no condition never learns of it, unless the object is
/// replaced at each attempt: then it is asked to try again later.
///
/// # Errors
/// The error of the operation.
pub(super) async fn settled(
    proxy: &Proxy,
    call: &RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    for pause in PAUSES {
        match attempt(proxy, call).await {
            Err(error) if error.kind() == Some(CHANGED) => sleep(pause).await,
            outcome => return outcome,
        }
    }
    attempt(proxy, call).await
}

async fn attempt(proxy: &Proxy, call: &RequestContext) -> Result<Response<Outgoing>, S3Error> {
    match call.operation {
        Operation::GetObject => get_object::get_object(proxy, call).await,
        Operation::HeadObject => head_object::head_object(proxy, call).await,
        Operation::CopyObject => copy_object::copy_object(proxy, call).await,
        Operation::GetObjectAttributes => attributes::get_object_attributes(proxy, call).await,
        Operation::UploadPartCopy => multipart::upload_part_copy(proxy, call).await,
        _ => Err(S3Error::internal()),
    }
}
