//! `ListObjects`, `ListObjectsV2` and `ListObjectVersions`, with the sizes and entity tags of the
//! content. They are computed from the list alone.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::{self, Change, Entry, EntryKind, ListHead};
use http::{Method, Response};

use super::key_list;
use super::listed_objects::{Plain, plain_entry, plaintext, sealed_entry};
use crate::context::{Proxy, RequestContext};
use crate::forward::{read, with_document};
use crate::headers;
use crate::names::is_reserved;
use crate::transfer::Outgoing;

/// Maximum size of a list in bytes: 1,000 entries with escaped keys of 1,024 bytes.
const MAX_LIST: usize = 16 << 20;

/// Lists a bucket with the sizes and tags of the content.
pub(super) async fn list_objects(
    proxy: &Proxy,
    call: &RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let headers = headers::forwarded(&call.headers);
    let response = proxy.ask(&call.signer, &Method::GET, &call.target, headers).await?;
    let (head, body) = response.into_parts();
    let list = read(body, MAX_LIST).await?;
    let bucket = call.target.bucket().ok_or_else(S3Error::internal)?;
    let plain = plaintext(proxy, call, bucket, objects(&list)?).await?;
    let (mut shown, mut dropped) = (0_u64, 0_u64);
    let document = xml::rewrite(&list, |entry: &Entry<'_>| {
        let change = change(entry, &plain);
        let count = if change == Change::Drop { &mut dropped } else { &mut shown };
        *count += 1;
        change
    });
    let document = document.map_err(|error| S3Error::unreadable(&error))?;
    if shown == 0 && dropped > 0 && goes_on(&list)? {
        // A client would take an empty page for the end, or could not request the next one.
        let kind = key_list::kind_of(call).ok_or_else(S3Error::internal)?;
        return key_list::visible_list(proxy, call, kind).await;
    }
    Ok(with_document(head, document))
}

/// Returns true if the list has more pages.
fn goes_on(list: &[u8]) -> Result<bool, S3Error> {
    ListHead::read(list).map(|head| head.is_truncated).map_err(|error| S3Error::unreadable(&error))
}

/// Returns the objects of a list with their versions.
fn objects(list: &[u8]) -> Result<Vec<(String, Option<String>)>, S3Error> {
    let mut objects = Vec::new();
    xml::entries(list, |entry| {
        if matches!(entry.kind, EntryKind::Object | EntryKind::Version)
            && let Some(key) = &entry.key
            && !is_reserved(key)
        {
            objects.push((key.to_string(), entry.version_id.as_deref().map(str::to_owned)));
        }
    })
    .map_err(|error| S3Error::unreadable(&error))?;
    Ok(objects)
}

fn change(entry: &Entry<'_>, plain: &Plain) -> Change {
    let Some(key) = entry.key.as_deref() else { return Change::Keep };
    if is_reserved(key) || (entry.kind == EntryKind::CommonPrefix && is_own_folder(key)) {
        return Change::Drop;
    }
    if !matches!(entry.kind, EntryKind::Object | EntryKind::Version) {
        return Change::Keep;
    }
    let version = entry.version_id.as_deref();
    if plain.iter().any(|(name, known)| name == key && known.as_deref() == version) {
        return Change::Set(plain_entry(entry));
    }
    Change::Set(sealed_entry(entry))
}

/// Returns true if a common prefix contains only the proxy's own objects.
fn is_own_folder(prefix: &str) -> bool {
    prefix.starts_with(endseal_s3_format::RESERVED_PREFIX)
}
