//! Activity state of an upload.

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
    /// A part was uploaded recently.
    Live,
    /// The upload was started, and no part was uploaded recently.
    Idle,
    /// The upload was completed or aborted.
    Gone,
}

/// Returns the state of an upload by the time of its newest part, including parked parts. `key` is
/// the backend's key. A time that cannot be parsed counts as recent.
///
/// # Errors
/// The backend's fault.
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

/// Aborts an upload. Returns true if it existed.
///
/// # Errors
/// The backend's fault.
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

/// Returns true if a time of a list can be parsed and is before `other`.
pub(super) fn is_before(time: Option<&str>, other: Timestamp) -> bool {
    time.and_then(Timestamp::from_extended).is_some_and(|time| time < other)
}
