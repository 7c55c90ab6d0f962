//! Unfinished uploads whose header is wrapped under an older key.
//!
//! The backend takes the header when an upload is created, and the object has it when the upload is
//! completed. A run that wraps all objects before that does not see it.

use endseal_kms::Wrapped;
use endseal_s3_format::{PARKED_METADATA, ParkedUpload, RESERVED_PREFIX, UploadId};
use endseal_s3_protocol::sigv4::Timestamp;
use endseal_s3_protocol::{Query, Target};
use http::StatusCode;

use super::ask::document;
use super::fault::Fault;
use super::pages::{List, Pages};
use super::upload::{Fate, fate};
use crate::context::Proxy;
use crate::headers::{self, USER_METADATA};

/// Returns the keys, as clients name them, of the unfinished uploads of a bucket whose content key
/// is not wrapped under the key of `sample`.
///
/// # Errors
/// The backend's fault.
pub(super) async fn under_older_keys(
    proxy: &Proxy,
    bucket: &str,
    sample: &Wrapped,
) -> Result<Vec<String>, Fault> {
    let mut keys = Vec::new();
    let prefix = format!("{RESERVED_PREFIX}upload/");
    let mut pages = Pages::of(proxy, List::Objects { bucket, prefix: &prefix, after: None }).await;
    while let Some(page) = pages.next().await? {
        for entry in page.iter().filter(|entry| entry.key.ends_with("/id")) {
            keys.extend(older(proxy, bucket, &entry.key, sample).await?);
        }
    }
    Ok(keys)
}

/// Returns the key of one recorded upload if it is unfinished and has an older key.
async fn older(
    proxy: &Proxy,
    bucket: &str,
    record: &str,
    sample: &Wrapped,
) -> Result<Option<String>, Fault> {
    let target = Target::of_stored(bucket, record, Query::new());
    let (head, id) = match document(proxy, &target).await {
        Ok(found) => found,
        // The upload was finished since the list was read.
        Err(fault) if fault.status() == StatusCode::NOT_FOUND => return Ok(None),
        Err(fault) => return Err(fault),
    };
    // An id that cannot be read completes no upload.
    let id = str::from_utf8(&id).ok().and_then(|text| UploadId::parse(text).ok());
    let Some(id) = id else { return Ok(None) };
    let header = id.header();
    if proxy.provider.is_as_new(header.key_id(), header.wrapped_key(), sample) {
        return Ok(None);
    }
    let owner = headers::text(&head, format!("{USER_METADATA}{PARKED_METADATA}"));
    let Some(owner) = owner.and_then(|text| ParkedUpload::parse(text).ok()) else {
        return Ok(Some(record.to_owned()));
    };
    let upload = (owner.key.as_str(), owner.backend_id.as_str());
    let now = Timestamp::of(std::time::SystemTime::now());
    if fate(proxy, bucket, upload, now).await? == Fate::Gone {
        return Ok(None);
    }
    let key = proxy.opened_key(bucket, &owner.key).map(std::borrow::Cow::into_owned);
    Ok(Some(key.unwrap_or(owner.key)))
}
