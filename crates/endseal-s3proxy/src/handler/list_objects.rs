//! `ListObjects`, `ListObjectsV2`, `ListObjectVersions`: sizes and entity tags of content, without
//! asking for anything but the list.

use endseal_s3_format::{entity_tag, size};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::{self, Change, Entry, EntryKind, ListHead, Replacement};
use http::{HeaderMap, Method, Response};

use super::named_list::{self, Spelling, named_list};
use crate::body::Outgoing;
use crate::bucket::Plaintext;
use crate::client_key::is_reserved;
use crate::headers;
use crate::proxy::{Call, Found, Proxy, Sought, object_len, read, with_document};

/// A list is at most 1,000 entries with keys of 1,024 bytes, escaped.
const MAX_LIST: usize = 16 << 20;

/// Lists what the bucket holds in terms of content.
pub(super) async fn list_objects(
    proxy: &Proxy,
    call: &Call,
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
    let document = document.map_err(|_| S3Error::internal())?;
    if shown == 0 && dropped > 0 && goes_on(&list)? {
        // A client could not name where the list goes on, or takes it for its end.
        let kind = named_list::kind_of(call).ok_or_else(S3Error::internal)?;
        return named_list(proxy, call, kind, Spelling::Plain).await;
    }
    Ok(with_document(head, document))
}

/// Whether the page of a list is not its last.
fn goes_on(list: &[u8]) -> Result<bool, S3Error> {
    ListHead::read(list).map(|head| head.is_truncated).map_err(|_| S3Error::internal())
}

/// Keys and versions of a list that are not sealed.
pub(super) type Plain = Vec<(String, Option<String>)>;

/// The objects of a list, with their versions.
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
    .map_err(|_| S3Error::internal())?;
    Ok(objects)
}

/// Asks for each object of a bucket that may hold plaintext: lengths alone do not tell.
pub(super) async fn plaintext(
    proxy: &Proxy,
    call: &Call,
    bucket: &str,
    objects: Vec<(String, Option<String>)>,
) -> Result<Plain, S3Error> {
    let mut plain = Vec::new();
    if proxy.rule(bucket).plaintext == Plaintext::Forbid {
        return Ok(plain);
    }
    for (key, version) in objects {
        let sought = Sought {
            signer: &call.signer,
            bucket,
            key: &key,
            version: version.as_deref().filter(|_| call.target.query().has("versions")),
            is_stored: false,
        };
        let response = match proxy.head(&sought, HeaderMap::new()).await {
            Ok(response) => response,
            Err(error) if error.status().is_client_error() => continue,
            Err(error) => return Err(error),
        };
        let len = object_len(&response).unwrap_or(0);
        let found = proxy.examine(&sought, response.headers(), len).await;
        if matches!(found, Ok(Found::Plain)) {
            plain.push((key, version));
        }
    }
    Ok(plain)
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

/// What is told of plaintext: all that the backend tells, but for the entity tag.
pub(super) fn plain_entry(entry: &Entry<'_>) -> Replacement {
    Replacement { etag: entry.etag.as_deref().map(entity_tag::to_client), ..Replacement::default() }
}

/// What is told of a sealed object.
pub(super) fn sealed_entry(entry: &Entry<'_>) -> Replacement {
    Replacement {
        // What is no length of a sealed object is left: reading it will be refused.
        size: entry.size.and_then(size::plaintext_len),
        etag: entry.etag.as_deref().map(entity_tag::to_client),
        checksum: xml::ChecksumChange::Drop,
        ..Replacement::default()
    }
}

/// Whether a common prefix holds nothing but what is the proxy's own.
fn is_own_folder(prefix: &str) -> bool {
    prefix.starts_with(endseal_s3_format::RESERVED_PREFIX)
}
