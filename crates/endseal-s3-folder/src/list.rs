//! Lists: of objects, of uploads, of parts.

use base64ct::{Base64UrlUnpadded, Encoding as _};
use endseal_s3_protocol::Query;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::{Timestamp, uri};
use endseal_s3_protocol::xml::Builder;
use http::Response;

use crate::bucket::OWNER;
use crate::entry::{Entry, time};
use crate::fault::disk;
use crate::reading::Reply;
use crate::receive::blocking;
use crate::request::Asked;
use crate::response::document;
use crate::store::{Store, load};
use crate::uploads::upload_id;
use crate::walk::Walk;

/// Greatest number of entries on a page, a limit of S3.
pub(crate) const MAX_KEYS: usize = 1_000;

/// Parameters of a request for a list.
struct ListRequest {
    prefix: String,
    delimiter: String,
    after: String,
    max: usize,
    is_encoded: bool,
}

/// One line of a list.
enum Line {
    Object(String, Entry),
    Prefix(String),
}

/// Some lines of a list.
struct Page {
    lines: Vec<Line>,
    /// Key behind which the next page begins.
    next: Option<String>,
}

impl ListRequest {
    /// Reads the request for a list that begins behind `after`; `max` is the name of the parameter
    /// that limits its pages.
    fn of(asked: &Asked, after: String, max: &str) -> Result<Self, S3Error> {
        let query = asked.target.query();
        let text = |name| query.get(name).unwrap_or_default().to_owned();
        Ok(Self {
            prefix: text("prefix"),
            delimiter: text("delimiter"),
            after,
            max: count(asked, max)?,
            is_encoded: is_encoded(query)?,
        })
    }

    /// Text as the list has it.
    fn shown(&self, text: &str) -> String {
        if self.is_encoded { uri::encode_path(text.as_bytes()) } else { text.to_owned() }
    }

    /// The common prefix that a key belongs to.
    fn group<'a>(&self, key: &'a str) -> Option<&'a str> {
        if self.delimiter.is_empty() {
            return None;
        }
        let at = key.get(self.prefix.len()..)?.find(&self.delimiter)?;
        key.get(..self.prefix.len() + at + self.delimiter.len())
    }

    /// Reads one page of the list from the folder.
    fn page(&self, store: &Store, bucket: &str) -> Result<Page, S3Error> {
        let _bucket = store.in_bucket(bucket)?;
        let mut page = Page { lines: Vec::new(), next: None };
        if self.max == 0 {
            return Ok(page);
        }
        let mut walk = Walk::new(&store.objects_path(bucket), &self.prefix, &self.after);
        // A common prefix was the last line of the page before: its keys are done with.
        if self.after.starts_with(&self.prefix)
            && self.group(&self.after) == Some(self.after.as_str())
        {
            walk.skip(&self.after);
        }
        let mut last = String::new();
        while let Some((key, path)) = walk.next_key()? {
            let line = match self.group(&key) {
                Some(group) => {
                    walk.skip(group);
                    Line::Prefix(group.to_owned())
                }
                None => match load(&path).map_err(|error| disk(&error))? {
                    Some(entry) => Line::Object(key, entry),
                    // Deleted a moment ago.
                    None => continue,
                },
            };
            if page.lines.len() == self.max {
                page.next = Some(last);
                return Ok(page);
            }
            last = match &line {
                Line::Object(key, _) => key.clone(),
                Line::Prefix(prefix) => prefix.clone(),
            };
            page.lines.push(line);
        }
        Ok(page)
    }

    fn write(&self, page: &Page, owner: bool, xml: &mut Builder) {
        for line in &page.lines {
            if let Line::Object(key, entry) = line {
                xml.open("Contents").leaf("Key", &self.shown(key));
                xml.leaf("LastModified", &entry.time().to_iso()).leaf("ETag", &entry.etag());
                xml.leaf("Size", &entry.len.to_string()).leaf("StorageClass", "STANDARD");
                if owner {
                    xml.open("Owner").leaf("ID", OWNER).leaf("DisplayName", OWNER).close();
                }
                xml.close();
            }
        }
        for line in &page.lines {
            if let Line::Prefix(prefix) = line {
                xml.open("CommonPrefixes").leaf("Prefix", &self.shown(prefix)).close();
            }
        }
    }

    fn head(&self, bucket: &str, xml: &mut Builder) {
        xml.leaf("Name", bucket).leaf("Prefix", &self.shown(&self.prefix));
        if !self.delimiter.is_empty() {
            xml.leaf("Delimiter", &self.shown(&self.delimiter));
        }
        xml.leaf("MaxKeys", &self.max.to_string());
        if self.is_encoded {
            xml.leaf("EncodingType", "url");
        }
    }
}

/// Returns the most entries that a page may have, by the parameter `name` and the server's limit.
fn count(asked: &Asked, name: &str) -> Result<usize, S3Error> {
    let limit = asked.page_size;
    let text = asked.target.query().get(name).filter(|text| !text.is_empty());
    let Some(text) = text else { return Ok(limit) };
    match text.parse::<u32>() {
        Ok(count) => Ok(usize::try_from(count).unwrap_or(limit).min(limit)),
        Err(_) => Err(S3Error::invalid_argument(format!("{name} is no number."))),
    }
}

fn is_encoded(query: &Query) -> Result<bool, S3Error> {
    match query.get("encoding-type").unwrap_or_default() {
        "" => Ok(false),
        "url" => Ok(true),
        _ => Err(S3Error::invalid_argument("Invalid Encoding Method specified in Request")),
    }
}

/// Handles `ListObjects` and `ListObjectsV2`: lists one page of the keys of a bucket.
pub(crate) async fn objects(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, query) = (asked.bucket()?, asked.target.query());
    match query.get("list-type") {
        None => first_version(asked, bucket).await,
        Some("2") => second_version(asked, bucket).await,
        Some(_) => Err(S3Error::invalid_argument("list-type is 2, or not there.")),
    }
}

async fn page(
    asked: &Asked,
    bucket: &str,
    wanted: ListRequest,
) -> Result<(ListRequest, Page), S3Error> {
    let bucket = bucket.to_owned();
    blocking(&asked.store, move |store| {
        let page = wanted.page(store, &bucket)?;
        Ok((wanted, page))
    })
    .await
}

async fn first_version(asked: &Asked, bucket: String) -> Result<Response<Reply>, S3Error> {
    let query = asked.target.query();
    let marker = query.get("marker").unwrap_or_default().to_owned();
    let wanted = ListRequest::of(asked, marker, "max-keys")?;
    let (wanted, page) = page(asked, &bucket, wanted).await?;
    let mut xml = Builder::new("ListBucketResult");
    wanted.head(&bucket, &mut xml);
    xml.leaf("Marker", &wanted.shown(&wanted.after));
    xml.leaf("IsTruncated", if page.next.is_some() { "true" } else { "false" });
    // S3 tells it only with a delimiter, without which it is the last key.
    if let Some(next) = page.next.as_ref().filter(|_| !wanted.delimiter.is_empty()) {
        xml.leaf("NextMarker", &wanted.shown(next));
    }
    wanted.write(&page, true, &mut xml);
    Ok(document(xml))
}

async fn second_version(asked: &Asked, bucket: String) -> Result<Response<Reply>, S3Error> {
    let query = asked.target.query();
    let wrong = || S3Error::invalid_argument("The continuation token provided is incorrect");
    let start = query.get("start-after").unwrap_or_default();
    let after = match query.get("continuation-token") {
        None => start.to_owned(),
        Some(token) => Base64UrlUnpadded::decode_vec(token)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(wrong)?,
    };
    let wanted = ListRequest::of(asked, after, "max-keys")?;
    let (wanted, page) = page(asked, &bucket, wanted).await?;
    let mut xml = Builder::new("ListBucketResult");
    wanted.head(&bucket, &mut xml);
    if let Some(token) = query.get("continuation-token") {
        xml.leaf("ContinuationToken", token);
    }
    if !start.is_empty() {
        xml.leaf("StartAfter", &wanted.shown(start));
    }
    xml.leaf("KeyCount", &page.lines.len().to_string());
    xml.leaf("IsTruncated", if page.next.is_some() { "true" } else { "false" });
    if let Some(next) = &page.next {
        let token = Base64UrlUnpadded::encode_string(next.as_bytes());
        xml.leaf("NextContinuationToken", &token);
    }
    let owner = query.get("fetch-owner").is_some_and(|word| word.eq_ignore_ascii_case("true"));
    wanted.write(&page, owner, &mut xml);
    Ok(document(xml))
}

/// Handles `ListMultipartUploads`: lists the unfinished uploads of a bucket.
pub(crate) async fn uploads(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, query) = (asked.bucket()?, asked.target.query());
    let marker = query.get("key-marker").unwrap_or_default().to_owned();
    let id_marker = query.get("upload-id-marker").unwrap_or_default().to_owned();
    let wanted = ListRequest::of(asked, marker, "max-uploads")?;
    let (name, prefix) = (bucket.clone(), wanted.prefix.clone());
    let all = blocking(&asked.store, move |store| store.uploads(&name, &prefix)).await?;
    let (mut shown, mut groups) = (Vec::new(), Vec::<String>::new());
    let mut next = None;
    let mut last = (String::new(), String::new());
    for (key, id, started) in all {
        let is_behind = match key.cmp(&wanted.after) {
            core::cmp::Ordering::Less => false,
            core::cmp::Ordering::Equal => !id_marker.is_empty() && id.as_str() > &*id_marker,
            core::cmp::Ordering::Greater => true,
        };
        let group = wanted.group(&key);
        let is_known = group.is_some_and(|group| {
            group == wanted.after || groups.last().is_some_and(|known| known == group)
        });
        if !is_behind || is_known {
            continue;
        }
        if shown.len() + groups.len() == wanted.max {
            next = Some(last);
            break;
        }
        if let Some(group) = group {
            last = (group.to_owned(), String::new());
            groups.push(group.to_owned());
        } else {
            last = (key.clone(), id.to_string());
            shown.push((key, id, started));
        }
    }
    let mut xml = Builder::new("ListMultipartUploadsResult");
    xml.leaf("Bucket", &bucket).leaf("KeyMarker", &wanted.shown(&wanted.after));
    xml.leaf("UploadIdMarker", &id_marker);
    if let Some((key, id)) = next.as_ref().filter(|_| wanted.max > 0) {
        xml.leaf("NextKeyMarker", &wanted.shown(key)).leaf("NextUploadIdMarker", id);
    }
    xml.leaf("Prefix", &wanted.shown(&wanted.prefix));
    if !wanted.delimiter.is_empty() {
        xml.leaf("Delimiter", &wanted.shown(&wanted.delimiter));
    }
    if wanted.is_encoded {
        xml.leaf("EncodingType", "url");
    }
    xml.leaf("MaxUploads", &wanted.max.to_string());
    let is_cut = next.is_some() && wanted.max > 0;
    xml.leaf("IsTruncated", if is_cut { "true" } else { "false" });
    for (key, id, started) in &shown {
        xml.open("Upload").leaf("Key", &wanted.shown(key)).leaf("UploadId", id.as_str());
        xml.open("Initiator").leaf("ID", OWNER).leaf("DisplayName", OWNER).close();
        xml.open("Owner").leaf("ID", OWNER).leaf("DisplayName", OWNER).close();
        xml.leaf("StorageClass", "STANDARD").leaf("Initiated", &time(*started).to_iso()).close();
    }
    for group in &groups {
        xml.open("CommonPrefixes").leaf("Prefix", &wanted.shown(group)).close();
    }
    Ok(document(xml))
}

/// Handles `ListParts`: lists the parts of an unfinished upload.
pub(crate) async fn parts(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, key) = (asked.bucket()?, asked.key()?);
    let (id, query) = (upload_id(asked)?, asked.target.query());
    let max = count(asked, "max-parts")?;
    let marker = query.get("part-number-marker").unwrap_or_default();
    let marker: u16 = match marker {
        "" => 0,
        text => text.parse().unwrap_or(u16::MAX),
    };
    let mut xml = Builder::new("ListPartsResult");
    xml.leaf("Bucket", &bucket).leaf("Key", &key).leaf("UploadId", id.as_str());
    xml.open("Initiator").leaf("ID", OWNER).leaf("DisplayName", OWNER).close();
    xml.open("Owner").leaf("ID", OWNER).leaf("DisplayName", OWNER).close();
    xml.leaf("StorageClass", "STANDARD").leaf("PartNumberMarker", &marker.to_string());
    let all = blocking(&asked.store, move |store| {
        let _bucket = store.in_bucket(&bucket)?;
        store.upload(&bucket, &key, &id)?;
        store.parts(&bucket, &id)
    })
    .await?;
    let mut behind = all.range(marker.saturating_add(1)..);
    let page: Vec<_> = behind.by_ref().take(max).collect();
    let is_cut = behind.next().is_some() && max > 0;
    if let Some((last, _)) = page.last() {
        xml.leaf("NextPartNumberMarker", &last.to_string());
    }
    xml.leaf("MaxParts", &max.to_string());
    xml.leaf("IsTruncated", if is_cut { "true" } else { "false" });
    for (number, part) in page {
        xml.open("Part").leaf("PartNumber", &number.to_string());
        xml.leaf("LastModified", &Timestamp::of(part.modified).to_iso());
        xml.leaf("ETag", &format!("\"{}\"", part.etag));
        xml.leaf("Size", &part.len.to_string()).close();
    }
    Ok(document(xml))
}
