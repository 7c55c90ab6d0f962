//! `DeleteBucket`: if only the proxy's own objects are left in the bucket, they are deleted first.
//! These are parked parts and records of uploads.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::{self, EntryKind};
use endseal_s3_protocol::{Query, Target};
use http::{HeaderMap, Method, Response, StatusCode};

use super::pass_through;
use crate::context::{Proxy, RequestContext};
use crate::forward::{read, without_body};
use crate::headers;
use crate::names::is_reserved;
use crate::transfer::Outgoing;
use crate::upstream::ResponseBody;

/// Maximum size of a list in bytes: 1,000 entries with escaped keys of 1,024 bytes.
const MAX_LIST: usize = 16 << 20;

/// Maximum number of pages that are deleted: parts, their versions, and their delete markers.
const MAX_PAGES: usize = 32;

/// Key, and its version if it has to be named.
type Left = (String, Option<String>);

/// Returns true if a request deletes a bucket.
pub(super) fn is_meant(call: &RequestContext) -> bool {
    call.method == Method::DELETE
        && call.target.key().is_none()
        && call.target.query().names().all(|name| name == "x-id")
}

/// Deletes a bucket that is empty from the clients' point of view. Its uploads end with it, as at
/// the backend.
pub(super) async fn delete_bucket(
    proxy: &Proxy,
    call: &RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let mut outcome = attempt(proxy, call).await;
    for _ in 0..MAX_PAGES {
        if !outcome.as_ref().is_err_and(|error| error.status() == StatusCode::CONFLICT) {
            break;
        }
        let left = left(proxy, call).await?;
        if left.is_empty() {
            break;
        }
        for (key, version) in left {
            let query = match version {
                Some(version) => Query::new().with("versionId", &version),
                None => Query::new(),
            };
            let target = Target::of(bucket(call)?, Some(&key), query);
            match proxy.ask(&call.signer, &Method::DELETE, &target, HeaderMap::new()).await {
                Err(error) if error.status().is_server_error() => return Err(error),
                // If an object cannot be deleted, deleting the bucket will fail, too.
                _ => {}
            }
        }
        outcome = attempt(proxy, call).await;
    }
    Ok(without_body(outcome?).await)
}

async fn attempt(proxy: &Proxy, call: &RequestContext) -> Result<Response<ResponseBody>, S3Error> {
    let headers = headers::forwarded(&call.headers);
    proxy.ask(&call.signer, &Method::DELETE, &pass_through::target(call), headers).await
}

/// Returns the proxy's own objects that prevent the deletion, or none if there are other objects.
/// Current objects come first, then their versions.
async fn left(proxy: &Proxy, call: &RequestContext) -> Result<Vec<Left>, S3Error> {
    let current = list(proxy, call, Query::new().with("list-type", "2")).await?;
    let versions = list(proxy, call, Query::new().with("versions", "")).await?;
    if current.iter().chain(&versions).any(|(key, _)| !is_reserved(key)) {
        return Ok(Vec::new());
    }
    if current.is_empty() {
        return Ok(versions);
    }
    Ok(current.into_iter().map(|(key, _)| (key, None)).collect())
}

/// Reads a page of a list. Returns an empty list if the backend does not support this kind.
async fn list(proxy: &Proxy, call: &RequestContext, query: Query) -> Result<Vec<Left>, S3Error> {
    let target = Target::of(bucket(call)?, None, query);
    let response = match proxy.ask(&call.signer, &Method::GET, &target, HeaderMap::new()).await {
        Ok(response) => response,
        Err(error) if matches!(error.status().as_u16(), 400..=499 | 501) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let document = read(response.into_body(), MAX_LIST).await?;
    let mut found = Vec::new();
    xml::entries(&document, |entry| {
        let lies_there =
            matches!(entry.kind, EntryKind::Object | EntryKind::Version | EntryKind::DeleteMarker);
        if let (true, Some(key)) = (lies_there, &entry.key) {
            found.push((key.to_string(), entry.version_id.as_deref().map(str::to_owned)));
        }
    })
    .map_err(|error| S3Error::unreadable(&error))?;
    Ok(found)
}

fn bucket(call: &RequestContext) -> Result<&str, S3Error> {
    call.target.bucket().ok_or_else(S3Error::internal)
}
