//! Removal of leftovers of uploads that will not be completed.
//!
//! An upload is *idle* if it was started before the time limit and no part was uploaded since. Idle
//! uploads are aborted. Parked parts and upload records that are older than the limit are deleted
//! if the backend reports their upload as gone, or if it was idle. The object itself names its
//! upload (docs/spec/s3-object.md), because not every server lists all uploads. Objects that name
//! no upload, or that are of another kind, are kept.

use core::time::Duration;
use std::borrow::Cow;
use std::collections::HashSet;
use std::time::SystemTime;

use endseal_s3_format::{
    PARKED_METADATA, ParkedUpload, RESERVED_PREFIX, parked_folder, parked_folder_of,
    recorded_folder_of,
};
use endseal_s3_protocol::sigv4::Timestamp;
use endseal_s3_protocol::xml::Listed;
use endseal_s3_protocol::{Query, Target};
use http::header::DATE;
use http::{HeaderMap, Method, StatusCode};

use super::ask::ask;
use super::conditional::is_trial;
use super::fault::Fault;
use super::pages::{List, Pages, buckets, versioning};
use super::upload::{Fate, abort, fate, is_before};
use crate::context::Proxy;
use crate::headers::{self, USER_METADATA};

/// Options of [`clean()`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clean {
    /// Bucket to clean. `None` stands for all buckets that the backend lists.
    pub bucket: Option<String>,
    /// Time for which an upload must have been inactive. A short time is only safe if no upload is
    /// in progress.
    pub older_than: Duration,
    /// Reports what would be removed without removing it.
    pub dry_run: bool,
}

impl Default for Clean {
    /// All buckets, and everything that is at least a week old.
    fn default() -> Self {
        Self { bucket: None, older_than: Duration::from_secs(7 * 86_400), dry_run: false }
    }
}

/// Event of a run, reported when it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CleanEvent<'a> {
    /// An idle upload was aborted, or would be in a dry run.
    Upload {
        /// Bucket of the upload.
        bucket: &'a str,
        /// Key that the upload would have had.
        key: &'a str,
    },
    /// A parked part was deleted, or would be in a dry run.
    Part {
        /// Bucket of the part.
        bucket: &'a str,
        /// Key of the part.
        key: &'a str,
    },
    /// A record of an upload was deleted, or would be in a dry run: its id, or the receipt of a
    /// part.
    Record {
        /// Bucket of the record.
        bucket: &'a str,
        /// Key of the record.
        key: &'a str,
    },
    /// An object of the proxy does not name its upload. It is kept.
    Unknown {
        /// Bucket of the object.
        bucket: &'a str,
        /// Key of the object.
        key: &'a str,
    },
    /// An object, upload or bucket could not be examined or removed.
    Failed {
        /// Bucket in which it failed.
        bucket: &'a str,
        /// Key of the object or upload. `None` if the list of the bucket could not be read to its
        /// end.
        key: Option<&'a str>,
        /// Reason of the failure.
        fault: &'a Fault,
    },
}

/// Totals of a run. After a dry run they are the totals that a real run would have had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CleanReport {
    /// Buckets that were processed.
    pub buckets: u64,
    /// Idle uploads that were aborted.
    pub uploads_removed: u64,
    /// Uploads that were kept.
    pub uploads_kept: u64,
    /// Parked parts and leftover test objects of [`rewrap`](super::rewrap()) that were deleted.
    /// Versions and delete markers count separately.
    pub parts_removed: u64,
    /// Parked parts that were kept.
    pub parts_kept: u64,
    /// Ids and receipts of uploads that were deleted. Versions and delete markers count separately.
    pub records_removed: u64,
    /// Ids and receipts of uploads that were kept.
    pub records_kept: u64,
    /// Objects of the proxy that were kept because they do not name their upload.
    pub unknown: u64,
    /// Objects, uploads and buckets that could not be examined or removed.
    pub failed: u64,
}

/// Removes idle uploads, and parked parts and records that no upload needs.
///
/// # Errors
/// The fault if the backend does not list its buckets. Later faults are counted and reported as
/// events.
pub async fn clean(
    proxy: &Proxy,
    options: &Clean,
    on: impl FnMut(CleanEvent<'_>),
) -> Result<CleanReport, Fault> {
    let names = buckets(proxy, options.bucket.as_deref()).await?;
    let mut run = Run {
        proxy,
        options,
        on,
        report: CleanReport::default(),
        // Both are set for each bucket.
        before: Timestamp::of(SystemTime::UNIX_EPOCH),
        aborted: HashSet::new(),
    };
    for bucket in &names {
        run.report.buckets += 1;
        if let Err(fault) = run.bucket(bucket).await {
            run.failed(bucket, None, &fault);
        }
    }
    Ok(run.report)
}

struct Run<'a, F> {
    proxy: &'a Proxy,
    options: &'a Clean,
    on: F,
    report: CleanReport,
    /// Time before which uploads and objects are old.
    before: Timestamp,
    /// Folder names of the idle uploads of the current bucket.
    aborted: HashSet<String>,
}

/// Leftover of an upload.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Part,
    Record,
}

impl Left {
    /// Returns the kind of an object from its key, and the folder name of its upload.
    fn of(key: &str) -> Option<(Self, &str)> {
        let (kind, folder) = match parked_folder_of(key) {
            Some(folder) => (Self::Part, folder),
            None => (Self::Record, recorded_folder_of(key)?),
        };
        Some((kind, last_name(folder)))
    }
}

/// Returns the last name of a path that ends in `/`.
fn last_name(folder: &str) -> &str {
    folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

impl<F: FnMut(CleanEvent<'_>)> Run<'_, F> {
    async fn bucket(&mut self, bucket: &str) -> Result<(), Fault> {
        let (has_versions, headers) = versioning(self.proxy, bucket).await?;
        self.before = before(self.options.older_than, &headers);
        self.aborted.clear();
        self.uploads(bucket).await?;
        let prefix = RESERVED_PREFIX;
        let list = match has_versions {
            true => List::Versions { bucket, prefix },
            false => List::Objects { bucket, prefix, after: None },
        };
        self.left(bucket, list).await
    }

    async fn uploads(&mut self, bucket: &str) -> Result<(), Fault> {
        let mut pages = Pages::of(self.proxy, List::Uploads { bucket }).await;
        while let Some(page) = pages.next().await? {
            for Listed { key, id, time, .. } in &page {
                let upload = (key.as_str(), id.as_deref().unwrap_or_default());
                let fate = match is_before(time.as_deref(), self.before) {
                    true => fate(self.proxy, bucket, upload, self.before).await,
                    false => Ok(Fate::Live),
                };
                match fate {
                    Ok(Fate::Live) => self.report.uploads_kept += 1,
                    Ok(Fate::Gone) => {}
                    Ok(Fate::Idle) => drop(self.give_up(bucket, upload).await),
                    Err(fault) => {
                        let key = shown(self.proxy, bucket, key);
                        self.failed(bucket, Some(&key), &fault);
                    }
                }
            }
        }
        Ok(())
    }

    /// Aborts an upload. Returns false if the upload may still exist.
    async fn give_up(&mut self, bucket: &str, upload: (&str, &str)) -> bool {
        let was_there = match self.options.dry_run {
            true => Ok(true),
            false => abort(self.proxy, bucket, upload).await,
        };
        let key = shown(self.proxy, bucket, upload.0);
        match was_there {
            Ok(was_there) => {
                if was_there {
                    self.report.uploads_removed += 1;
                    (self.on)(CleanEvent::Upload { bucket, key: &key });
                }
                self.aborted.insert(last_name(&parked_folder(upload.1)).to_owned());
                true
            }
            Err(fault) => {
                self.failed(bucket, Some(&key), &fault);
                false
            }
        }
    }

    async fn left(&mut self, bucket: &str, list: List<'_>) -> Result<(), Fault> {
        let mut pages = Pages::of(self.proxy, list).await;
        // Parts of one upload follow each other in the list, and so do its records.
        let mut known: Option<(String, bool)> = None;
        while let Some(page) = pages.next().await? {
            for entry in &page {
                let Some((kind, name)) = Left::of(&entry.key) else {
                    if is_trial(&entry.key) && is_before(entry.time.as_deref(), self.before) {
                        self.remove(bucket, entry, Left::Part).await;
                        continue;
                    }
                    self.unknown(bucket, &entry.key);
                    continue;
                };
                if !is_before(entry.time.as_deref(), self.before) {
                    self.kept(kind);
                    continue;
                }
                let needed = match &known {
                    Some((known, needed)) if known == name => Ok(Some(*needed)),
                    // The upload of an object that was deleted before needs it no more.
                    _ if entry.is_marker || self.aborted.contains(name) => Ok(Some(false)),
                    _ => self.is_needed(bucket, entry, name).await,
                };
                match needed {
                    Ok(Some(needed)) => {
                        if !entry.is_marker {
                            known = Some((name.to_owned(), needed));
                        }
                        match needed {
                            true => self.kept(kind),
                            false => self.remove(bucket, entry, kind).await,
                        }
                    }
                    Ok(None) => self.unknown(bucket, &entry.key),
                    Err(fault) => self.failed(bucket, Some(&entry.key), &fault),
                }
            }
        }
        Ok(())
    }

    /// Returns true if the upload of a leftover is still active, and `None` if the object does not
    /// name its upload.
    async fn is_needed(
        &mut self,
        bucket: &str,
        left: &Listed,
        name: &str,
    ) -> Result<Option<bool>, Fault> {
        let target = target(bucket, left);
        let head = match ask(self.proxy, &Method::HEAD, &target, HeaderMap::new()).await {
            Ok(head) => head,
            // It was deleted since the list was read.
            Err(fault) if fault.status() == StatusCode::NOT_FOUND => return Ok(Some(false)),
            Err(fault) => return Err(fault),
        };
        let entry = format!("{USER_METADATA}{PARKED_METADATA}");
        let upload = headers::text(head.headers(), &entry)
            .and_then(|text| ParkedUpload::parse(text).ok())
            .filter(|upload| last_name(&upload.folder()) == name);
        let Some(ParkedUpload { key, backend_id }) = upload else { return Ok(None) };
        let upload = (key.as_str(), backend_id.as_str());
        match fate(self.proxy, bucket, upload, self.before).await? {
            Fate::Gone => Ok(Some(false)),
            Fate::Live => Ok(Some(true)),
            Fate::Idle => Ok(Some(!self.give_up(bucket, upload).await)),
        }
    }

    async fn remove(&mut self, bucket: &str, left: &Listed, kind: Left) {
        if !self.options.dry_run {
            let target = target(bucket, left);
            let deleted = ask(self.proxy, &Method::DELETE, &target, HeaderMap::new()).await;
            if let Err(fault) = deleted
                && fault.status() != StatusCode::NOT_FOUND
            {
                return self.failed(bucket, Some(&left.key), &fault);
            }
        }
        let key = &left.key;
        match kind {
            Left::Part => {
                self.report.parts_removed += 1;
                (self.on)(CleanEvent::Part { bucket, key });
            }
            Left::Record => {
                self.report.records_removed += 1;
                (self.on)(CleanEvent::Record { bucket, key });
            }
        }
    }

    fn kept(&mut self, kind: Left) {
        match kind {
            Left::Part => self.report.parts_kept += 1,
            Left::Record => self.report.records_kept += 1,
        }
    }

    fn unknown(&mut self, bucket: &str, key: &str) {
        self.report.unknown += 1;
        (self.on)(CleanEvent::Unknown { bucket, key });
    }

    fn failed(&mut self, bucket: &str, key: Option<&str>, fault: &Fault) {
        self.report.failed += 1;
        (self.on)(CleanEvent::Failed { bucket, key, fault });
    }
}

/// Returns the time before which uploads and objects are old. The backend dates them, so its clock
/// is used if it is behind this machine's.
fn before(older_than: Duration, answer: &HeaderMap) -> Timestamp {
    let own = Timestamp::of(SystemTime::now());
    let its = headers::text(answer, DATE).and_then(Timestamp::from_http);
    let now = its.map_or(own, |its| its.min(own));
    let now = Duration::from_secs(u64::try_from(now.seconds()).unwrap_or(0));
    Timestamp::of(SystemTime::UNIX_EPOCH + now.saturating_sub(older_than))
}

/// Returns the client's name of a backend key, or the backend key if clients cannot name it.
fn shown<'k>(proxy: &Proxy, bucket: &str, key: &'k str) -> Cow<'k, str> {
    proxy.opened_key(bucket, key).unwrap_or(Cow::Borrowed(key))
}

fn target(bucket: &str, left: &Listed) -> Target {
    let query = match &left.id {
        Some(version) => Query::new().with("versionId", version),
        None => Query::new(),
    };
    Target::of(bucket, Some(&left.key), query)
}
