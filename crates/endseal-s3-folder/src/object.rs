//! Handlers of objects: storing, reading and reading the headers.

use core::ops::Range;

use endseal_s3_protocol::ByteRange;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::headers::{USER_METADATA, strip_aws_chunked, text};
use endseal_s3_protocol::xml::Builder;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

use crate::conditions::{check_read, check_write, range_applies};
use crate::entry::Entry;
use crate::fault::disk;
use crate::id::Id;
use crate::reading::{Reading, Reply};
use crate::receive::{blocking, receive};
use crate::request::Asked;
use crate::response::{document, empty, set};

/// Greatest length in bytes of an object that is stored in one request.
pub(crate) const MAX_OBJECT: u64 = 5 << 30;

/// Headers beside an object, apart from user metadata.
const BESIDE: [&str; 7] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
    "x-amz-website-redirect-location",
];

/// Parameters of a request that replace headers of its answer.
const OVERRIDES: [(&str, &str); 6] = [
    ("response-cache-control", "cache-control"),
    ("response-content-disposition", "content-disposition"),
    ("response-content-encoding", "content-encoding"),
    ("response-content-language", "content-language"),
    ("response-content-type", "content-type"),
    ("response-expires", "expires"),
];

/// Returns the headers of a request that will stand beside its object.
pub(crate) fn beside(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for (name, value) in headers {
        if BESIDE.contains(&name.as_str()) || name.as_str().starts_with(USER_METADATA) {
            kept.append(name.clone(), value.clone());
        }
    }
    strip_aws_chunked(&mut kept);
    kept
}

/// Handles `PutObject`: stores an object, if its conditions hold.
pub(crate) async fn put(asked: Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, key) = (asked.bucket()?, asked.key()?);
    let kept = beside(&asked.headers);
    let Asked { store, headers, content, .. } = asked;
    if content.len() > MAX_OBJECT {
        return Err(S3Error::too_large());
    }
    // This is checked before the body: a client need not send the body of a refused request.
    let (early, conditions) = (bucket.clone(), headers.clone());
    let name = key.clone();
    blocking(&store, move |store| {
        let _bucket = store.in_bucket(&early)?;
        check_write(&conditions, store.entry(&early, &name)?.as_ref())
    })
    .await?;
    let draft = receive(&store, content).await?;
    let entry = blocking(&store, move |store| {
        let _bucket = store.in_bucket(&bucket)?;
        let _key = store.lock_key(&bucket, &key);
        let old = store.entry(&bucket, &key)?;
        check_write(&headers, old.as_ref())?;
        let entry = Entry::new(Id::random()?, draft.len(), None, kept);
        let change = (&entry, old.as_ref());
        store.replace(&bucket, &key, change, None, |data| draft.place(data))?;
        Ok(entry)
    })
    .await?;
    let mut response = empty(StatusCode::OK);
    set(&mut response, "etag", &entry.etag());
    Ok(response)
}

/// Part of an object that is sent.
struct ReadRequest {
    range: Range<u64>,
    is_partial: bool,
}

/// Handles `GetObject` and `HeadObject`: returns an object or a range of it, or the headers alone.
pub(crate) async fn get(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, key) = (asked.bucket()?, asked.key()?);
    let (headers, is_head) = (asked.headers.clone(), asked.method == Method::HEAD);
    let part = match asked.target.query().get("partNumber") {
        None => None,
        Some(part) => Some(part.parse::<u16>().map_err(|_| {
            S3Error::invalid_argument("Part number must be an integer between 1 and 10000.")
        })?),
    };
    let found = blocking(&asked.store, move |store| {
        let _bucket = store.in_bucket(&bucket)?;
        let (entry, lease) = store.hold(&bucket, &key)?;
        if let Err(error) = check_read(&headers, &entry) {
            return Ok((entry, Err(error)));
        }
        let wanted = match part {
            Some(part) => ReadRequest {
                range: store.part_range(&entry, &lease, part)?,
                is_partial: entry.parts.is_some(),
            },
            None => wanted(&headers, &entry)?,
        };
        let source = match is_head {
            true => None,
            false => Some(store.source(&entry, lease, &wanted.range).map_err(|e| disk(&e))?),
        };
        Ok((entry, Ok((wanted, source))))
    })
    .await?;
    let (entry, outcome) = found;
    let (wanted, source) = match outcome {
        Ok(found) => found,
        Err(error) if error.status() == StatusCode::NOT_MODIFIED => {
            let mut response = empty(StatusCode::NOT_MODIFIED);
            describe(&mut response, &entry);
            return Ok(response);
        }
        Err(error) => return Err(error),
    };
    let len = wanted.range.end - wanted.range.start;
    let mut response = empty(StatusCode::OK);
    if let Some(source) = source {
        *response.body_mut() = Reply::Reading(Reading::new(source, len));
    }
    *response.headers_mut() = entry.headers.clone();
    describe(&mut response, &entry);
    if !entry.headers.contains_key("content-type") {
        set(&mut response, "content-type", "binary/octet-stream");
    }
    set(&mut response, "accept-ranges", "bytes");
    set(&mut response, "content-length", &len.to_string());
    if wanted.is_partial {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let last = wanted.range.end.saturating_sub(1);
        let range = format!("bytes {}-{last}/{}", wanted.range.start, entry.len);
        set(&mut response, "content-range", &range);
    }
    if let (Some(parts), Some(_)) = (entry.parts, part) {
        set(&mut response, "x-amz-mp-parts-count", &parts.to_string());
    }
    for (parameter, name) in OVERRIDES {
        if let Some(value) = asked.target.query().get(parameter)
            && let Ok(value) = HeaderValue::from_str(value)
        {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}

fn describe(response: &mut Response<Reply>, entry: &Entry) {
    set(response, "etag", &entry.etag());
    set(response, "last-modified", &entry.time().to_http());
}

fn wanted(headers: &HeaderMap, entry: &Entry) -> Result<ReadRequest, S3Error> {
    let range = text(headers, "range").and_then(ByteRange::parse);
    match range.filter(|_| range_applies(headers, entry)) {
        None => Ok(ReadRequest { range: 0..entry.len, is_partial: false }),
        Some(range) => {
            let range = range.of(entry.len);
            let range =
                range.ok_or_else(|| S3Error::invalid_range().with_content_len(entry.len))?;
            Ok(ReadRequest { range, is_partial: true })
        }
    }
}

/// Handles `GetObjectTagging`. Objects have no tags here.
pub(crate) async fn tags(asked: &Asked) -> Result<Response<Reply>, S3Error> {
    let (bucket, key) = (asked.bucket()?, asked.key()?);
    blocking(&asked.store, move |store| {
        let _bucket = store.in_bucket(&bucket)?;
        store.entry(&bucket, &key)?.ok_or_else(S3Error::no_such_key).map(drop)
    })
    .await?;
    let mut xml = Builder::new("Tagging");
    xml.open("TagSet");
    Ok(document(xml))
}
