//! Activity of an upload.

use endseal_s3_format::parked_folder;
use endseal_s3_protocol::sigv4::Timestamp;
use endseal_s3_protocol::xml;
use endseal_s3_protocol::{Query, Target};
use http::{HeaderMap, Method};

use super::ask::{ask, document};
use super::fault::Fault;
use super::pages::{List, Pages};
use crate::context::Proxy;

/// State of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Something happened to it lately.
    Live,
    /// It was begun, and nothing happened to it for long.
    Idle,
    /// It was completed or aborted.
    Gone,
}

/// Asks the backend, which knows the key as it is here, for all parts of an upload, those that are
/// parked too: the newest decides. What has no time that can be read counts as new.
///
/// # Errors
/// What the backend says.
pub(super) async fn fate(
    proxy: &Proxy,
    bucket: &str,
    (key, id): (&str, &str),
    before: Timestamp,
) -> Result<Fate, Fault> {
    let mut marker = 0;
    loop {
        let query = Query::new().with("uploadId", id).with("max-parts", "1000");
        let query = query.with("part-number-marker", &marker.to_string());
        let answer = document(proxy, &Target::of_stored(bucket, key, query)).await;
        let (_, xml) = match answer {
            Ok(answer) => answer,
            Err(fault) if fault.status() == 404 => return Ok(Fate::Gone),
            Err(fault) => return Err(fault),
        };
        let page = xml::read_parts(&xml)?;
        if page.parts.iter().any(|part| !is_before(part.last_modified.as_deref(), before)) {
            return Ok(Fate::Live);
        }
        match page.next {
            Some(next) if next > marker => marker = next,
            _ => break,
        }
    }
    let prefix = parked_folder(id);
    let mut parked = Pages::of(proxy, List::Objects { bucket, prefix: &prefix, after: None }).await;
    while let Some(page) = parked.next().await? {
        if page.iter().any(|part| !is_before(part.time.as_deref(), before)) {
            return Ok(Fate::Live);
        }
    }
    Ok(Fate::Idle)
}

/// Gives an upload up. True if it was there.
///
/// # Errors
/// What the backend says.
pub(super) async fn abort(
    proxy: &Proxy,
    bucket: &str,
    (key, id): (&str, &str),
) -> Result<bool, Fault> {
    let target = Target::of_stored(bucket, key, Query::new().with("uploadId", id));
    match ask(proxy, &Method::DELETE, &target, HeaderMap::new()).await {
        Ok(_) => Ok(true),
        Err(fault) if fault.status() == 404 => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Returns true if a time as lists have it is known, and before another one.
pub(super) fn is_before(time: Option<&str>, other: Timestamp) -> bool {
    time.and_then(Timestamp::from_extended).is_some_and(|time| time < other)
}
