//! `DeleteBucket`: what is the proxy's own goes first, if nothing else is in the way: parked parts,
//! and what was recorded of uploads.

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

/// A list is at most 1,000 entries with keys of 1,024 bytes, escaped.
const MAX_LIST: usize = 16 << 20;

/// Pages that are emptied at most: parts, their versions, and the markers of their deletion.
const MAX_PAGES: usize = 32;

/// A key, and its version where one has to be named.
type Left = (String, Option<String>);

/// Returns true if a request deletes a bucket.
pub(super) fn is_meant(call: &RequestContext) -> bool {
    call.method == Method::DELETE
        && call.target.key().is_none()
        && call.target.query().names().all(|name| name == "x-id")
}

/// Deletes a bucket that is empty as far as clients can see. Uploads that were begun there end with
/// it, as they do at the backend.
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
                // Where it cannot be deleted, the bucket cannot either.
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

/// Returns the objects of the proxy's own that are in the way; none, if there is something else as
/// well. First those that can be seen, then their remains in a bucket with versions.
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

/// A page of a list; empty where the backend does not know such lists.
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
    .map_err(|_| S3Error::internal())?;
    Ok(found)
}

fn bucket(call: &RequestContext) -> Result<&str, S3Error> {
    call.target.bucket().ok_or_else(S3Error::internal)
}
