//! Lists in buckets with encrypted names (docs/spec/s3-object.md, "Lists"), in the order of the
//! clients' names.
//!
//! The backend lists a folder in the order of encrypted names. Each page for the client is
//! therefore selected from the whole folder, or without the delimiter `/` from everything below it.
//! If that is much, folders are read one after another in the order of the clients' names, and only
//! those that can have entries of the page. Nothing is kept between pages: every list has the keys
//! that were written before it was requested.

use core::sync::atomic::Ordering::Relaxed;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use bytes::Bytes;
use endseal_s3_format::names::Names;
use endseal_s3_protocol::xml::{
    self, ChecksumChange, Entry, EntryKind, Leaf, ListEntry, ListPage, Replacement, common_prefix,
};
use endseal_s3_protocol::{Query, S3Error, Target};
use http::response::Parts;
use http::{Method, Response};

use super::MAX_PAGE;
use super::list_request::{ListKind, ListRequest, MAX_KEYS, NextPage};
use super::position::Position;
use super::recorded;
use super::selection::{SelectedEntry, Selection};
use crate::context::{Proxy, RequestContext};
use crate::forward::{read, with_document};
use crate::headers;
use crate::names::{is_reserved, name_error};
use crate::operations::listed_objects::{Plain, plain_entry, plaintext, sealed_entry};
use crate::transfer::Outgoing;

/// Maximum size of an entry of the backend in bytes. A page keeps 1,001 of them.
const MAX_ENTRY: usize = 16 * 1024;

/// Maximum number of pages of the backend that are read before the list is read by folders. Folders
/// cost a request each, so that few keys in many folders are read faster in one list.
const MAX_PAGES: usize = 4;

/// Parameters that the proxy sets itself for the backend.
const TRANSLATED: [&str; 3] = ["delimiter", "encoding-type", "prefix"];

/// Lists the keys that the client can name, in the order of their bytes.
///
/// # Errors
/// `InvalidRequest` if more keys than `limits.list_keys` would have to be read, `InvalidArgument`
/// for a malformed parameter, `KeyTooLongError` for a prefix with which no key can begin, and the
/// backend's errors.
pub(in crate::operations) async fn sorted_list(
    proxy: &Proxy,
    call: &RequestContext,
    kind: ListKind,
    names: &Names,
) -> Result<Response<Outgoing>, S3Error> {
    let bucket = call.target.bucket().ok_or_else(S3Error::internal)?;
    let asked = ListRequest::of(call.target.query(), kind)?;
    let url = is_url_encoded(call.target.query())?;
    let after = after(&asked)?;
    let is_recorded = kind == ListKind::Uploads && proxy.rule(bucket).records_uploads();
    let after_id = match is_recorded {
        true => recorded::marker(proxy, call, bucket, &asked).await?,
        false => asked.after_id.clone(),
    };
    // The backend can group keys only by folder. A marker within a folder needs the keys in it.
    let is_within = after.as_deref().is_some_and(|after| {
        after.starts_with(&asked.prefix)
            && asked.common_prefix(after).is_some_and(|prefix| prefix != after)
    });
    let by_folder = asked.delimiter.as_deref() == Some("/") && !is_within;
    let (folder, rest) = names.seal_prefix(&asked.prefix).map_err(name_error)?;
    let mut selection = Selection::new(&asked, after.clone(), after_id.clone());
    let mut backend = BackendList { proxy, call, bucket, names, kind, max: asked.max, keys: 0 };
    let add = |key: String, entry| selection.add(&key, entry);
    let (head, document, is_whole) = backend.read(&folder, by_folder, add).await?;
    if !is_whole {
        selection = Selection::new(&asked, after, after_id);
        backend.read_folders(&folder, &mut selection).await?;
    }
    if kind == ListKind::Uploads && !rest.is_empty() {
        // Some servers (MinIO) list uploads only by their whole key.
        if let Ok(key) = names.seal_key(&asked.prefix) {
            backend.read(&key, false, |key, entry| selection.add(&key, entry)).await?;
        }
    }
    let (selected, goes_on) = selection.finish();
    let given = match is_recorded {
        // Boxed because the future is large and would enlarge the future of every request.
        true => Box::pin(given_ids(proxy, call, bucket, &selected)).await?,
        false => vec![None; selected.len()],
    };
    let objects =
        selected.iter().filter(|it| matches!(it.kind, EntryKind::Object | EntryKind::Version));
    let objects = objects.map(|it| (it.key.clone(), it.entry.id.clone())).collect();
    let plain = plaintext(proxy, call, bucket, objects).await?;
    let mut entries = Vec::with_capacity(selected.len());
    for (it, given) in selected.iter().zip(&given) {
        entries.push(match it.kind {
            EntryKind::CommonPrefix => common_prefix(&it.key, url),
            _ => {
                let change = |entry: &Entry<'_>| change(it, entry, &plain, given.clone());
                let entry = it.entry.rewritten(&it.key, url, change);
                entry.map_err(|_| S3Error::internal())?
            }
        });
    }
    let next = next_page(&selected, &given).filter(|_| goes_on && asked.max > 0);
    let mut leaves = asked.leaves(selected.len(), next.as_ref());
    let name = if kind == ListKind::Uploads { "Bucket" } else { "Name" };
    leaves.insert(0, Leaf { name, text: bucket.to_owned(), is_key: false });
    for (name, text) in
        [("Delimiter", asked.delimiter.as_deref()), ("EncodingType", url.then_some("url"))]
    {
        let leaf = |text: &str| Leaf { name, text: text.to_owned(), is_key: name == "Delimiter" };
        leaves.extend(text.map(leaf));
    }
    let list = xml::assemble(&document, &leaves, &entries, url);
    Ok(with_document(head, list.map_err(|_| S3Error::internal())?))
}

/// Reads the lists of the backend for one list of a client.
struct BackendList<'a> {
    proxy: &'a Proxy,
    call: &'a RequestContext,
    bucket: &'a str,
    names: &'a Names,
    kind: ListKind,
    /// Maximum number of entries on the client's page.
    max: usize,
    /// Number of entries that were read by folders.
    keys: usize,
}

impl BackendList<'_> {
    /// Reads the folders below an encrypted prefix that can have entries of the page.
    async fn read_folders(
        &mut self,
        prefix: &str,
        selection: &mut Selection<'_>,
    ) -> Result<(), S3Error> {
        let top = self.names.open_key(prefix).map_err(|_| S3Error::internal())?;
        // The next folder in the order of the clients' names is the last one.
        let mut folders = vec![top];
        while let Some(folder) = folders.pop() {
            if selection.ends_before(&folder) {
                break;
            }
            let stored = self.names.seal_key(&folder).map_err(name_error)?;
            let mut inner = Vec::new();
            let add = |key: String, entry: ListEntry| {
                if entry.kind != EntryKind::CommonPrefix {
                    selection.add(&key, entry);
                } else if key.len() > folder.len() && selection.can_have(&key) {
                    // A faulty server that lists a folder in itself does not keep this going.
                    inner.push(key);
                }
            };
            self.read(&stored, true, add).await?;
            inner.sort_by(|a, b| b.cmp(a));
            folders.extend(inner);
        }
        Ok(())
    }

    /// Reads the keys that begin with an encrypted prefix, and passes those that a client can name
    /// to `add`. They are grouped by folder if `by_folder` is true. Returns the first page of the
    /// backend, and false if the list was not read to its end because it is long.
    async fn read(
        &mut self,
        prefix: &str,
        by_folder: bool,
        mut add: impl FnMut(String, ListEntry),
    ) -> Result<(Parts, Bytes, bool), S3Error> {
        let query = self.query(prefix, by_folder);
        let mut position = Position::default();
        let mut first = None;
        let mut pages = 0;
        loop {
            let query = position.add_to(query.clone(), self.kind);
            let target = Target::of(self.bucket, None, query);
            let headers = headers::forwarded(&self.call.headers);
            let sent = self.proxy.ask(&self.call.signer, &Method::GET, &target, headers).await?;
            let (head, body) = sent.into_parts();
            let document = read(body, MAX_PAGE).await?;
            let ListPage { head: end, entries, .. } =
                ListPage::read(&document).map_err(|error| S3Error::unreadable(&error))?;
            first.get_or_insert((head, document));
            let last = entries.iter().map(|entry| entry.key.clone()).max();
            let own = entries.iter().filter(|entry| is_reserved(&entry.key)).count();
            if by_folder {
                // An empty page counts, too, so that the pages of a faulty server come to an end.
                self.keys += (entries.len() - own).max(1);
                let limit = self.proxy.limits.list_keys;
                if self.keys > limit {
                    return Err(too_many(limit));
                }
            }
            let mut foreign = 0;
            for entry in entries {
                if entry.text_len() > MAX_ENTRY {
                    return Err(S3Error::bad_gateway("an entry of the backend's list is too long"));
                }
                match self.names.open_key(&entry.key) {
                    Ok(key) if !key.is_empty() => add(key, entry),
                    _ if is_reserved(&entry.key) => {}
                    _ => foreign += 1,
                }
            }
            self.proxy.metrics.foreign_names.fetch_add(foreign, Relaxed);
            pages += 1;
            let is_whole = self.max == 0 || !end.is_truncated;
            if is_whole || (!by_folder && pages == MAX_PAGES) {
                let (head, document) = first.ok_or_else(S3Error::internal)?;
                return Ok((head, document, is_whole));
            }
            position = position.next(self.kind, &end, last.as_deref())?;
        }
    }

    fn query(&self, prefix: &str, by_folder: bool) -> Query {
        let max = if self.max == 0 { 0 } else { MAX_KEYS };
        let query = ListRequest::unpaged(self.call.target.query());
        let mut query = query.without(|name| TRANSLATED.contains(&name));
        // Names that were not written by the proxy can have any character.
        query = query.with("encoding-type", "url").with(self.kind.max(), &max.to_string());
        if by_folder {
            query = query.with("delimiter", "/");
        }
        if prefix.is_empty() { query } else { query.with("prefix", prefix) }
    }
}

fn too_many(limit: usize) -> S3Error {
    S3Error::invalid_request(format!(
        "Names in this bucket are encrypted, and the proxy reads at most {limit} keys for a page of \
         a list. List folder by folder (delimiter=/), or raise list_keys in the [limits] of the \
         proxy."
    ))
}

fn is_url_encoded(query: &Query) -> Result<bool, S3Error> {
    match query.get("encoding-type").unwrap_or_default() {
        "" => Ok(false),
        "url" => Ok(true),
        _ => Err(S3Error::invalid_argument("The value of encoding-type is not url.")),
    }
}

/// Returns the key, or common prefix, after which the page begins.
fn after(asked: &ListRequest) -> Result<Option<String>, S3Error> {
    if asked.kind == ListKind::Versions && asked.after_id.is_some() && asked.after.is_none() {
        return Err(S3Error::invalid_argument(
            "A version-id marker cannot be specified without a key marker.",
        ));
    }
    match &asked.token {
        None => Ok(asked.after.clone()),
        Some(token) => {
            let key = Base64UrlUnpadded::decode_vec(token).ok();
            let key = key.and_then(|key| String::from_utf8(key).ok());
            let wrong =
                || S3Error::invalid_argument("The continuation token provided is incorrect");
            key.map(Some).ok_or_else(wrong)
        }
    }
}

/// Returns the start of the page behind these entries.
fn next_page(selected: &[SelectedEntry], given: &[Option<String>]) -> Option<NextPage> {
    let (last, given) = selected.last().zip(given.last())?;
    let has_id = last.kind != EntryKind::CommonPrefix;
    Some(NextPage {
        key: Some(last.key.clone()),
        id: given.clone().or_else(|| last.entry.id.clone().filter(|_| has_id)),
        token: Some(Base64UrlUnpadded::encode_string(last.key.as_bytes())),
    })
}

/// Returns the ids that clients got for the uploads among these entries.
async fn given_ids(
    proxy: &Proxy,
    call: &RequestContext,
    bucket: &str,
    selected: &[SelectedEntry],
) -> Result<Vec<Option<String>>, S3Error> {
    let is_upload = |it: &&SelectedEntry| it.kind == EntryKind::Upload;
    let uploads: Vec<(&str, &str)> = selected
        .iter()
        .filter(is_upload)
        .map(|it| (it.key.as_str(), it.entry.id.as_deref().unwrap_or_default()))
        .collect();
    let mut given = recorded::given_ids(proxy, call, bucket, &uploads).await?.into_iter();
    Ok(selected.iter().map(|it| is_upload(&it).then(|| given.next()).flatten().flatten()).collect())
}

/// Returns the client's values of an entry.
fn change(
    selected: &SelectedEntry,
    entry: &Entry<'_>,
    plain: &Plain,
    given: Option<String>,
) -> Replacement {
    let version = entry.version_id.as_deref();
    let is_plain = plain.iter().any(|(key, id)| *key == selected.key && id.as_deref() == version);
    match selected.kind {
        EntryKind::Object | EntryKind::Version if is_plain => plain_entry(entry),
        EntryKind::Object | EntryKind::Version => sealed_entry(entry),
        // For an upload this is the algorithm between proxy and backend, so it is removed.
        _ => Replacement {
            checksum: ChecksumChange::Drop,
            upload_id: given,
            ..Replacement::default()
        },
    }
}
