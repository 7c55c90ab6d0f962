//! Lists of objects, versions and uploads that cannot be translated entry by entry. They are used
//! in buckets with encrypted names, for pages that contain only the proxy's own objects, and for
//! lists of recorded uploads.
//!
//! The backend lists the content of a folder in the order of encrypted names. Entries that do not
//! match the client's prefix, or that no client can name, are left out. If nothing is left of a
//! page, the next one is requested. If the client requests fewer entries than a page has, the page
//! is cut, and the next one starts behind the last entry that was returned.

mod key_codec;
mod list_request;
mod page;
mod position;
mod recorded;

use std::sync::atomic::Ordering::Relaxed;

use http::response::Parts;
use http::{Method, Response};

pub(super) use self::key_codec::KeyCodec;
use self::list_request::{Kind, ListRequest};
use self::page::{Item, Page};
use self::position::Position;
pub(super) use self::recorded::kind_of as recorded_kind_of;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::Target;
use endseal_s3_protocol::xml::{self, Change, ChecksumChange, EntryKind, Leaf, Replacement};

use super::listed_objects::{plain_entry, plaintext, sealed_entry};
use crate::context::{Proxy, RequestContext};
use crate::forward::{read, with_document};
use crate::headers;
use crate::transfer::Outgoing;

/// Maximum size of a list in bytes: 1,000 entries with escaped keys of 1,024 bytes.
const MAX_LIST: usize = 16 << 20;

/// Maximum number of pages without visible entries that are read for one response. It is exceeded
/// if names are not encrypted and no marker for the next page can be given to the client.
const LOOKS: usize = 32;

/// Lists the entries that the client may see, with the client's names.
pub(super) async fn named_list(
    proxy: &Proxy,
    call: &RequestContext,
    kind: Kind,
    key_codec: KeyCodec<'_>,
) -> Result<Response<Outgoing>, S3Error> {
    let bucket = call.target.bucket().ok_or_else(S3Error::internal)?;
    let asked = ListRequest::of(call.target.query(), kind, key_codec)?;
    let mut position = asked.begin(key_codec)?;
    let is_recorded = kind == Kind::Uploads && proxy.rule(bucket).records_uploads();
    if is_recorded {
        position.id = recorded::marker(proxy, call, bucket, &asked).await?;
    }
    let mut looks = 0;
    loop {
        let target = Target::of(bucket, None, asked.query(call.target.query(), &position));
        let headers = headers::forwarded(&call.headers);
        let response = proxy.ask(&call.signer, &Method::GET, &target, headers).await?;
        let (head, body) = response.into_parts();
        let mut page = Page::read(read(body, MAX_LIST).await?, &asked, &position, key_codec)?;
        proxy.metrics.foreign_names.fetch_add(page.foreign, Relaxed);
        looks += 1;
        let can_say_next = matches!(key_codec, KeyCodec::Encrypted(_))
            || kind == Kind::Objects2
            || page.last_opened().is_some();
        if page.shows_nothing() && asked.max > 0 && (looks < LOOKS || !can_say_next) {
            position = page.next(&position)?;
            continue;
        }
        let shown = page.shown(asked.max);
        if is_recorded {
            // Boxed because the future is large and would enlarge the future of every request.
            Box::pin(recorded::show_given(proxy, call, bucket, &mut page, &shown)).await?;
        }
        let leaves = leaves(&asked, &page, &position, &shown, key_codec)?;
        return answer(proxy, call, head, &page, &shown, &leaves).await;
    }
}

/// Returns the elements of the list outside its entries.
fn leaves(
    asked: &ListRequest,
    page: &Page,
    position: &Position,
    shown: &[usize],
    key_codec: KeyCodec<'_>,
) -> Result<Vec<Leaf>, S3Error> {
    let is_cut = shown.len() < page.visible();
    let goes_on = asked.max > 0 && (is_cut || page.head.is_truncated);
    let cut_at = shown.last().filter(|_| is_cut).map(|at| &page.items[*at]);
    let behind = |item: &Item| Some((item.client.clone()?, item.shown_id().map(str::to_owned)));
    let next = match cut_at {
        _ if !goes_on => None,
        Some(item) => behind(item),
        None => {
            let named = page.next_opened(key_codec).or_else(|| page.last_opened().and_then(behind));
            named.or_else(|| {
                let next = page.next(position).ok()?;
                Some((Position::marker_of(&next.key?), next.id))
            })
        }
    };
    let mut leaves = Vec::new();
    let mut leaf = |name, text: &str, is_key| {
        leaves.push(Leaf { name, text: text.to_owned(), is_key });
    };
    leaf("Prefix", &asked.prefix, true);
    let next_key = next.as_ref().map(|(key, _)| key.as_str());
    let next_id = next.as_ref().and_then(|(_, id)| id.as_deref());
    let (key, id) = (asked.after.as_deref(), asked.after_id.as_deref());
    match asked.kind {
        Kind::Objects1 => {
            leaf("Marker", key.unwrap_or_default(), true);
            next_key.iter().for_each(|next| leaf("NextMarker", next, true));
        }
        Kind::Objects2 => {
            asked.token.iter().for_each(|token| leaf("ContinuationToken", token, false));
            key.iter().for_each(|key| leaf("StartAfter", key, true));
            let next = match cut_at {
                Some(item) => Some(Position::token_behind(item.kind, &item.stored)),
                None => page.head.next_token.as_deref().map(|token| key_codec.token_of(token)),
            };
            if goes_on {
                leaf("NextContinuationToken", &next.ok_or_else(S3Error::internal)?, false);
            }
            leaf("KeyCount", &shown.len().to_string(), false);
        }
        Kind::Versions | Kind::Uploads => {
            let (marker, next_marker) = match asked.kind {
                Kind::Versions => ("VersionIdMarker", "NextVersionIdMarker"),
                _ => ("UploadIdMarker", "NextUploadIdMarker"),
            };
            leaf("KeyMarker", key.unwrap_or_default(), true);
            leaf(marker, id.unwrap_or_default(), false);
            next_key.iter().for_each(|next| leaf("NextKeyMarker", next, true));
            next_id.iter().for_each(|next| leaf(next_marker, next, false));
        }
    }
    let max = if asked.kind == Kind::Uploads { "MaxUploads" } else { "MaxKeys" };
    leaf(max, &asked.max.to_string(), false);
    leaf("IsTruncated", if goes_on { "true" } else { "false" }, false);
    Ok(leaves)
}

async fn answer(
    proxy: &Proxy,
    call: &RequestContext,
    head: Parts,
    page: &Page,
    shown: &[usize],
    leaves: &[Leaf],
) -> Result<Response<Outgoing>, S3Error> {
    let bucket = call.target.bucket().ok_or_else(S3Error::internal)?;
    let mut is_shown = vec![false; page.items.len()];
    for at in shown {
        is_shown[*at] = true;
    }
    let objects = page.items.iter().zip(&is_shown).filter(|(item, is_shown)| {
        **is_shown && matches!(item.kind, EntryKind::Object | EntryKind::Version)
    });
    let objects = objects.filter_map(|(item, _)| Some((item.client.clone()?, item.id.clone())));
    let plain = plaintext(proxy, call, bucket, objects.collect()).await?;
    let mut at = 0;
    let document = xml::relist(&page.document, leaves, |entry| {
        let item: Option<&Item> = page.items.get(at).filter(|_| is_shown[at]);
        at += 1;
        let Some(key) = item.and_then(|item| item.client.clone()) else { return Change::Drop };
        let is_object = matches!(entry.kind, EntryKind::Object | EntryKind::Version);
        let version = entry.version_id.as_deref();
        let is_plain = plain.iter().any(|(name, id)| *name == key && id.as_deref() == version);
        let told = match (is_object, is_plain) {
            // For an upload this is the algorithm between proxy and backend, so it is removed.
            (false, _) => Replacement { checksum: ChecksumChange::Drop, ..Replacement::default() },
            (true, false) => sealed_entry(entry),
            (true, true) => plain_entry(entry),
        };
        let upload_id = item.and_then(|item| item.given.clone());
        Change::Set(Replacement { key: Some(key), upload_id, ..told })
    });
    let document = document.map_err(|_| S3Error::internal())?;
    Ok(with_document(head, document))
}

/// Returns the kind of list that a request asks for, if it asks for one.
pub(super) fn kind_of(call: &RequestContext) -> Option<Kind> {
    use endseal_s3_protocol::Operation;
    let query = call.target.query();
    match call.operation {
        Operation::ListObjectVersions => Some(Kind::Versions),
        Operation::ListObjects if query.get("list-type") == Some("2") => Some(Kind::Objects2),
        Operation::ListObjects => Some(Kind::Objects1),
        Operation::Other if call.target.key().is_none() && query.has("uploads") => {
            (call.method == Method::GET).then_some(Kind::Uploads)
        }
        _ => None,
    }
}
