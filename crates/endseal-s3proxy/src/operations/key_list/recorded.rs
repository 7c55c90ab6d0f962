//! Lists of uploads with the ids that clients got.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use endseal_s3_protocol::S3Error;

use super::list_request::{ListKind, ListRequest};
use crate::context::{Proxy, RequestContext};
use crate::operations::multipart::{backends_marker, given_id};
use crate::sealed_object::ObjectRef;

/// Returns the kind of list that a request asks for, if it is a list of recorded uploads.
pub(in crate::operations) fn kind_of(proxy: &Proxy, call: &RequestContext) -> Option<ListKind> {
    let records = |bucket| proxy.rule(bucket).records_uploads();
    super::kind_of(call)
        .filter(|kind| *kind == ListKind::Uploads && call.target.bucket().is_some_and(records))
}

/// Returns the backend's id of the upload behind which the list starts. As in S3, it is ignored
/// without a key.
///
/// # Errors
/// `InvalidArgument` for an id that does not belong to the key, or an error if keys are not
/// available.
pub(super) async fn marker(
    proxy: &Proxy,
    call: &RequestContext,
    bucket: &str,
    asked: &ListRequest,
) -> Result<Option<String>, S3Error> {
    let (Some(key), Some(marker)) = (&asked.after, &asked.after_id) else { return Ok(None) };
    backends_marker(proxy, object_ref(call, bucket, key), marker).await.map(Some)
}

/// Returns the ids that clients got for these uploads, which are given by key and backend id. An
/// upload whose id is not recorded has none.
///
/// # Errors
/// If the backend or the key provider is not available.
pub(super) async fn given_ids(
    proxy: &Proxy,
    call: &RequestContext,
    bucket: &str,
    uploads: &[(&str, &str)],
) -> Result<Vec<Option<String>>, S3Error> {
    let next = AtomicUsize::new(0);
    let one = || find(proxy, call, bucket, uploads, &next);
    // Eight requests run at a time. A page has 1,000 uploads, but the connections are shared by all
    // requests.
    let (a, b, c, d, e, f, g, h) =
        tokio::try_join!(one(), one(), one(), one(), one(), one(), one(), one())?;
    let mut ids = vec![None; uploads.len()];
    for (at, id) in [a, b, c, d, e, f, g, h].into_iter().flatten() {
        ids[at] = Some(id);
    }
    Ok(ids)
}

/// Processes one upload after another, until `next` has reached the end. Returns their ids.
async fn find(
    proxy: &Proxy,
    call: &RequestContext,
    bucket: &str,
    uploads: &[(&str, &str)],
    next: &AtomicUsize,
) -> Result<Vec<(usize, String)>, S3Error> {
    let mut found = Vec::new();
    loop {
        let at = next.fetch_add(1, Relaxed);
        let Some((key, id)) = uploads.get(at) else { return Ok(found) };
        let given = given_id(proxy, object_ref(call, bucket, key), id).await?;
        found.extend(given.map(|given| (at, given)));
    }
}

fn object_ref<'a>(call: &'a RequestContext, bucket: &'a str, key: &'a str) -> ObjectRef<'a> {
    ObjectRef { signer: &call.signer, bucket, key, version: None, is_stored: false }
}
