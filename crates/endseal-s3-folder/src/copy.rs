//! Copies: of objects, whose bytes get a second name, and of ranges as parts.

use std::fs;
use std::io;
use std::path::Path;

use endseal_s3_protocol::ByteRange;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::Target;
use endseal_s3_protocol::headers::{copied_path, text};
use endseal_s3_protocol::xml::Builder;
use http::Response;

use crate::conditions::{check_copy, check_write};
use crate::data::Lease;
use crate::entry::Entry;
use crate::fault::disk;
use crate::id::Id;
use crate::object::beside;
use crate::reading::Reply;
use crate::receive::blocking;
use crate::request::Asked;
use crate::response::document;
use crate::store::{Store, sync_folder};
use crate::uploads::{LIST, number, upload_id};

/// The object that `x-amz-copy-source` names.
fn source(asked: &Asked) -> Result<(String, String), S3Error> {
    let wrong = || S3Error::invalid_argument("x-amz-copy-source names no object.");
    let value = text(&asked.headers, "x-amz-copy-source").ok_or_else(wrong)?;
    let (path, query) = copied_path(value);
    if !matches!(query, "" | "versionId=null") {
        return Err(S3Error::invalid_argument("Invalid version id specified"));
    }
    let uri = path.parse().map_err(|_| wrong())?;
    let target = Target::parse(&uri, None, &[])?;
    match (target.bucket(), target.key()) {
        (Some(bucket), Some(key)) => Ok((bucket.to_owned(), key.to_owned())),
        _ => Err(wrong()),
    }
}

/// Handles `CopyObject`: copies an object within the folder.
pub(crate) async fn object(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, key) = (asked.bucket()?, asked.key()?);
    let from = source(asked)?;
    let headers = asked.headers.clone();
    let replaces = text(&headers, "x-amz-metadata-directive")
        .is_some_and(|word| word.eq_ignore_ascii_case("REPLACE"));
    if from == (bucket.clone(), key.clone()) && !replaces {
        return Err(S3Error::illegal_copy());
    }
    let kept = beside(&headers);
    let entry = blocking(&asked.store, move |store| {
        // Once for both: a second guard could wait for a bucket that waits for the first.
        let _buckets = store.in_bucket(&bucket)?;
        store.expect_bucket(&from.0)?;
        let (old, lease) = store.hold(&from.0, &from.1)?;
        check_copy(&headers, &old)?;
        let _key = store.lock_key(&bucket, &key);
        let present = store.entry(&bucket, &key)?;
        check_write(&headers, present.as_ref())?;
        let kept = if replaces { kept } else { old.headers.clone() };
        let entry = Entry::new(Id::random()?, old.len, old.parts, kept);
        let change = (&entry, present.as_ref());
        store.replace(&bucket, &key, change, None, |data| duplicate(&old, &lease, data))?;
        Ok(entry)
    })
    .await?;
    let mut xml = Builder::new("CopyObjectResult");
    xml.leaf("LastModified", &entry.time().to_iso()).leaf("ETag", &entry.etag());
    Ok(document(xml))
}

/// Gives an object's data a second path: by hard links, or by copies without those.
fn duplicate(entry: &Entry, lease: &Lease, place: &Path) -> io::Result<()> {
    if entry.parts.is_none() {
        return link(lease.path(), place);
    }
    fs::create_dir(place)?;
    for part in Store::list(lease)? {
        link(&lease.path().join(&part.name), &place.join(&part.name))?;
    }
    link(&lease.path().join(LIST), &place.join(LIST))?;
    sync_folder(place)
}

/// A second name for the same bytes, which never change; where the file system has no such, a copy.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to)?;
    fs::File::open(to)?.sync_all()
}

/// Handles `UploadPartCopy`: makes a range of an object a part of an upload.
pub(crate) async fn part(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, key) = (asked.bucket()?, asked.key()?);
    let from = source(asked)?;
    let (id, number) = (upload_id(asked)?, number(asked)?);
    let headers = asked.headers.clone();
    let (etag, time) = blocking(&asked.store, move |store| {
        let (source, len) = {
            let _buckets = store.in_bucket(&bucket)?;
            store.expect_bucket(&from.0)?;
            let (entry, lease) = store.hold(&from.0, &from.1)?;
            check_copy(&headers, &entry)?;
            let range = match text(&headers, "x-amz-copy-source-range") {
                None => 0..entry.len,
                Some(range) => match ByteRange::parse(range) {
                    Some(ByteRange::Closed(first, last)) if last < entry.len => first..last + 1,
                    _ => return Err(S3Error::invalid_argument("The range is not in the source.")),
                },
            };
            let source = store.source(&entry, lease, &range).map_err(|error| disk(&error))?;
            (source, range.end - range.start)
        };
        let mut draft = store.draft()?;
        let mut source = source;
        draft.copy(&mut source).and_then(|()| draft.finish()).map_err(|error| disk(&error))?;
        if draft.len() != len {
            return Err(S3Error::internal());
        }
        store.place_part(&bucket, &key, &id, number, draft)
    })
    .await?;
    let mut xml = Builder::new("CopyPartResult");
    xml.leaf("LastModified", &time.to_iso()).leaf("ETag", &etag);
    Ok(document(xml))
}
