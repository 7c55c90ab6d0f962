//! Handlers of the S3 operations.

mod attributes;
mod conditions;
mod content;
mod copied_tags;
mod copy_object;
mod delete_bucket;
mod delete_objects;
mod get_object;
mod head_object;
mod key_list;
mod list_objects;
mod listed_objects;
mod location;
mod multipart;
mod overrides;
mod pass_through;
mod post_object;
mod preflight;
mod put_in_parts;
mod put_object;
mod restore_object;
mod settled;

use http::Response;

pub(crate) use self::get_object::open_range;
pub(crate) use self::post_object::post_object;
pub(crate) use self::preflight::{is_preflight, preflight};
pub(crate) use self::put_object::{MAX_PUT, seal_in_one_request};
use endseal_s3_protocol::Operation;
use endseal_s3_protocol::S3Error;

use self::settled::settled;
use crate::context::{Proxy, RequestContext};
use crate::names::bucket_settings;
use crate::transfer::Outgoing;

/// Executes a request that was authenticated and authorised.
///
/// # Errors
/// The error that the client gets.
pub(crate) async fn handle(
    proxy: &Proxy,
    mut call: RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    if let Some(names) = call.target.bucket().and_then(|bucket| proxy.names(bucket)) {
        bucket_settings::check(&call)?;
        if let Some(kind) = key_list::kind_of(&call) {
            return key_list::sorted_list(proxy, &call, kind, &names).await;
        }
    }
    if let Some(kind) = key_list::recorded_kind_of(proxy, &call) {
        return key_list::visible_list(proxy, &call, kind).await;
    }
    conditions::join(&mut call.headers)?;
    match call.operation {
        Operation::PutObject => put_object::put_object(proxy, call).await,
        Operation::GetObject
        | Operation::HeadObject
        | Operation::CopyObject
        | Operation::GetObjectAttributes
        | Operation::UploadPartCopy => settled(proxy, &call).await,
        Operation::CreateMultipartUpload => multipart::create(proxy, &call).await,
        Operation::UploadPart => multipart::upload_part(proxy, call).await,
        Operation::CompleteMultipartUpload => multipart::complete(proxy, call).await,
        Operation::AbortMultipartUpload => multipart::abort(proxy, &call).await,
        Operation::ListParts => multipart::list_parts(proxy, &call).await,
        Operation::ListObjects | Operation::ListObjectVersions => {
            list_objects::list_objects(proxy, &call).await
        }
        Operation::DeleteObjects => delete_objects::delete_objects(proxy, call).await,
        Operation::NotOnSealed => Err(S3Error::not_implemented()),
        Operation::PostObject => Err(S3Error::internal()),
        Operation::Other if call.target.query().has("restore") => {
            restore_object::restore_object(proxy, call).await
        }
        Operation::Other if delete_bucket::is_meant(&call) => {
            delete_bucket::delete_bucket(proxy, &call).await
        }
        Operation::Other => pass_through::pass_through(proxy, call).await,
    }
}
