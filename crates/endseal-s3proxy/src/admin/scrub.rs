//! Reads all objects completely, so that damage is found while other copies still exist.
//!
//! The header, the record, every byte of the content and sealed user metadata of each object are
//! authenticated. Nothing is written.

use core::future::poll_fn;
use std::collections::BTreeMap;
use std::sync::Arc;

use endseal_s3_protocol::S3Error;
use http::{HeaderMap, Method, Response, StatusCode};
use tokio::task::JoinSet;

use super::fault::Fault;
use super::pages::{List, Pages, buckets, client_key, versioning};
use crate::context::Proxy;
use crate::names::{is_reserved, name_error};
use crate::operations::open_range;
use crate::sealed_object::{Inspected, ObjectRef, SealedObject, object_len};
use crate::transfer::{Opened, Opener};
use crate::upstream::ResponseBody;

/// Maximum number of attempts to read an object that is being replaced.
const TRIES: usize = 3;

/// Options of [`scrub()`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scrub {
    /// Bucket to read. `None` stands for all buckets that the backend lists.
    pub bucket: Option<String>,
    /// Prefix of the keys to read, as clients name them.
    pub prefix: String,
    /// Position at which an earlier run was interrupted.
    pub after: Option<Checkpoint>,
    /// Maximum number of objects that are read at the same time.
    pub jobs: usize,
}

impl Default for Scrub {
    /// All objects of all buckets, eight at a time.
    fn default() -> Self {
        Self { bucket: None, prefix: String::new(), after: None, jobs: 8 }
    }
}

/// Position of a run: all objects up to it were read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a place in two steps")]
pub struct Checkpoint {
    /// Current bucket. The buckets before it, in the order of their names, were read.
    pub bucket: String,
    /// Backend key of the last object up to which all objects of the bucket were read.
    pub stored_key: String,
}

/// Result for one object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scrubbed {
    /// The object is authentic. The value is the length of its content in bytes.
    Authentic(u64),
    /// The object is authentic, but its header is missing in its metadata, or does not open there.
    /// It was opened by the copy of the header.
    HeaderMissing,
    /// The object is not sealed, and the rule of its bucket allows that.
    Plaintext,
    /// The object is not sealed, and the rule of its bucket forbids that. It lost its header, or
    /// was not written through the proxy.
    Unsealed,
    /// The object was deleted meanwhile.
    Gone,
    /// The object does not authenticate.
    NotAuthentic,
    /// The object could not be read to its end.
    Failed(Fault),
}

/// Event of a run, reported when it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScrubEvent<'a> {
    /// Reading of a bucket starts.
    Bucket {
        /// Name of the bucket.
        bucket: &'a str,
        /// True if the bucket has versions. Older versions are not read.
        has_versions: bool,
    },
    /// An object was read.
    Object {
        /// Bucket of the object.
        bucket: &'a str,
        /// Key of the object.
        key: &'a str,
        /// Result for the object.
        outcome: &'a Scrubbed,
    },
    /// A run that starts after this position reads the rest. No checkpoint is reported behind an
    /// object that could not be read.
    Checkpoint(&'a Checkpoint),
    /// The list of a bucket could not be processed to its end.
    Failed {
        /// Name of the bucket.
        bucket: &'a str,
        /// Reason of the failure.
        fault: &'a Fault,
    },
}

/// Totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScrubReport {
    /// Buckets that were processed.
    pub buckets: u64,
    /// Objects that are authentic.
    pub authentic: u64,
    /// Bytes of content of the authentic objects.
    pub bytes: u64,
    /// Objects that are not sealed in buckets that allow this.
    pub plaintext: u64,
    /// Objects that were deleted meanwhile.
    pub gone: u64,
    /// Objects that are authentic, but have no header in their metadata.
    pub headers_missing: u64,
    /// Objects that do not authenticate, or that are not sealed where this is forbidden.
    pub not_authentic: u64,
    /// Objects that could not be read to their end, and buckets that were not processed to theirs.
    pub failed: u64,
}

impl ScrubReport {
    /// Returns true if all requested objects were read and each is authentic and has its header, or
    /// is plaintext where this is allowed.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.not_authentic == 0 && self.headers_missing == 0 && self.failed == 0
    }

    fn count(&mut self, outcome: &Scrubbed) {
        let counter = match outcome {
            Scrubbed::Authentic(bytes) => {
                self.bytes += bytes;
                &mut self.authentic
            }
            Scrubbed::HeaderMissing => &mut self.headers_missing,
            Scrubbed::Plaintext => &mut self.plaintext,
            Scrubbed::Gone => &mut self.gone,
            Scrubbed::Unsealed | Scrubbed::NotAuthentic => &mut self.not_authentic,
            Scrubbed::Failed(_) => &mut self.failed,
        };
        *counter += 1;
    }
}

/// Reads and authenticates objects completely. Must be called in a tokio runtime.
///
/// # Errors
/// The fault if the backend does not list its buckets. Later faults are counted and reported as
/// events.
pub async fn scrub(
    proxy: &Arc<Proxy>,
    options: &Scrub,
    mut on: impl FnMut(ScrubEvent<'_>),
) -> Result<ScrubReport, Fault> {
    let mut report = ScrubReport::default();
    let mut names = buckets(proxy, options.bucket.as_deref()).await?;
    names.sort_unstable();
    for bucket in names {
        let after = options.after.as_ref().filter(|after| after.bucket >= bucket);
        let after = match after {
            Some(after) if after.bucket > bucket => continue,
            after => after.map(|after| after.stored_key.as_str()),
        };
        report.buckets += 1;
        let run = Run { proxy, options, bucket: &bucket, is_held: report.failed > 0 };
        if let Err(fault) = run.objects(after, &mut report, &mut on).await {
            report.failed += 1;
            on(ScrubEvent::Failed { bucket: &bucket, fault: &fault });
        }
    }
    Ok(report)
}

/// Run over one bucket.
struct Run<'a> {
    proxy: &'a Arc<Proxy>,
    options: &'a Scrub,
    bucket: &'a str,
    /// True if an object or bucket before this one could not be read, so no checkpoint may be
    /// reported.
    is_held: bool,
}

/// Object that was read: its number in the list, its key and its result.
type Read = (u64, String, Scrubbed);

impl Run<'_> {
    async fn objects(
        &self,
        after: Option<&str>,
        report: &mut ScrubReport,
        on: &mut impl FnMut(ScrubEvent<'_>),
    ) -> Result<(), Fault> {
        let bucket = self.bucket;
        let (has_versions, _) = versioning(self.proxy, bucket).await?;
        on(ScrubEvent::Bucket { bucket, has_versions });
        let wanted = self.options.prefix.as_str();
        let names = self.proxy.names(bucket);
        let folder = match &names {
            Some(names) => names.seal_prefix(wanted).map_err(name_error)?.0,
            None => wanted.to_owned(),
        };
        let list = List::Objects { bucket, prefix: &folder, after };
        let mut pages = Pages::of(self.proxy, list).await;
        let mut jobs: JoinSet<Read> = JoinSet::new();
        let mut order = Order { is_held: self.is_held, ..Order::default() };
        let mut tell = |read: Read, order: &mut Order| {
            let (number, key, outcome) = read;
            report.count(&outcome);
            on(ScrubEvent::Object { bucket, key: &key, outcome: &outcome });
            if matches!(outcome, Scrubbed::Failed(_)) {
                order.hold();
            } else if let Some(stored_key) = order.done(number) {
                on(ScrubEvent::Checkpoint(&Checkpoint { bucket: bucket.to_owned(), stored_key }));
            }
        };
        let ended = loop {
            let page = match pages.next().await {
                Ok(Some(page)) => page,
                Ok(None) => break Ok(()),
                Err(fault) => break Err(fault),
            };
            for entry in page.into_iter().filter(|entry| !is_reserved(&entry.key)) {
                let (key, is_stored) = client_key(names.as_deref(), &entry.key);
                if !key.starts_with(wanted) {
                    continue;
                }
                while jobs.len() >= self.options.jobs.max(1) {
                    let read = joined(jobs.join_next().await);
                    read.into_iter().for_each(|read| tell(read, &mut order));
                }
                let number = order.begin(entry.key.clone());
                let (proxy, bucket) = (Arc::clone(self.proxy), bucket.to_owned());
                jobs.spawn(async move {
                    let outcome = read(&proxy, &bucket, &key, is_stored, &entry.key).await;
                    (number, key, outcome)
                });
            }
        };
        while let Some(read) = joined(jobs.join_next().await) {
            tell(read, &mut order);
        }
        ended
    }
}

/// Returns the result of a job. A panic of the job continues here.
fn joined(joined: Option<Result<Read, tokio::task::JoinError>>) -> Option<Read> {
    match joined? {
        Ok(read) => Some(read),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Jobs are never aborted.
            Err(_) => None,
        },
    }
}

/// Objects in the order of the list, some of which are still being read.
#[derive(Default)]
struct Order {
    next: u64,
    /// Backend keys by number; the flag is true for objects that were read.
    open: BTreeMap<u64, (String, bool)>,
    /// True if an object could not be read. No further checkpoint is reported then.
    is_held: bool,
}

impl Order {
    fn begin(&mut self, stored_key: String) -> u64 {
        let number = self.next;
        self.next += 1;
        if !self.is_held {
            self.open.insert(number, (stored_key, false));
        }
        number
    }

    /// Records that an object could not be read, so that a later run starts before it.
    fn hold(&mut self) {
        self.is_held = true;
        self.open.clear();
    }

    /// Records that an object was read. Returns the last key up to which all objects were read, if
    /// it has advanced.
    fn done(&mut self, number: u64) -> Option<String> {
        if let Some((_, is_done)) = self.open.get_mut(&number) {
            *is_done = true;
        }
        let mut last = None;
        while let Some(first) = self.open.first_entry().filter(|first| first.get().1) {
            last = Some(first.remove().0);
        }
        last
    }
}

/// Reads one object, and repeats this if the object is replaced while it is read.
async fn read(
    proxy: &Proxy,
    bucket: &str,
    key: &str,
    is_stored: bool,
    stored_key: &str,
) -> Scrubbed {
    let signer = proxy.own_signer();
    let object_ref = ObjectRef { signer, bucket, key, version: None, is_stored };
    let mut tries = TRIES;
    loop {
        tries -= 1;
        let error = match read_once(proxy, &object_ref).await {
            Ok(outcome) => return outcome,
            Err(error) => error,
        };
        let is_replaced = match error.status() {
            StatusCode::PRECONDITION_FAILED => true,
            StatusCode::NOT_FOUND => match is_listed(proxy, bucket, stored_key).await {
                Ok(false) => return Scrubbed::Gone,
                Ok(true) => true,
                Err(fault) => return Scrubbed::Failed(fault),
            },
            _ => false,
        };
        if is_replaced && tries > 0 {
            continue;
        }
        return match error.code() {
            _ if error == S3Error::header_missing() => Scrubbed::NotAuthentic,
            code if code == S3Error::plaintext().code() => Scrubbed::Unsealed,
            code if code == S3Error::not_authentic().code() => Scrubbed::NotAuthentic,
            _ => Scrubbed::Failed(error.into()),
        };
    }
}

/// Returns true if the backend lists an object. A listed object that cannot be found was lost, not
/// deleted.
///
/// # Errors
/// The fault if the bucket cannot be listed.
async fn is_listed(proxy: &Proxy, bucket: &str, stored_key: &str) -> Result<bool, Fault> {
    let mut pages =
        Pages::of(proxy, List::Objects { bucket, prefix: stored_key, after: None }).await;
    // The key itself comes before longer keys with the same prefix.
    let first = pages.next().await?.unwrap_or_default();
    Ok(first.iter().any(|entry| entry.key == stored_key))
}

async fn read_once(proxy: &Proxy, object_ref: &ObjectRef<'_>) -> Result<Scrubbed, S3Error> {
    let response =
        proxy.ask(object_ref.signer, &Method::GET, &object_ref.target(), HeaderMap::new()).await?;
    let sealed_len = object_len(&response)?;
    let Inspected::Sealed(mut object) =
        proxy.examine(object_ref, response.headers(), sealed_len).await?
    else {
        return Ok(Scrubbed::Plaintext);
    };
    object
        .sealed_metadata(response.headers())
        .inspect_err(|_| drop(proxy.metrics.not_authentic()))?;
    let opened = open(proxy, object_ref, response, &mut object).await?;
    let len = drain(opened).await?;
    if len != object.content_len {
        return Err(S3Error::not_authentic());
    }
    Ok(if object.is_by_copy { Scrubbed::HeaderMissing } else { Scrubbed::Authentic(len) })
}

/// Opens the whole content of an object. `response` is used directly if the object was not uploaded
/// in parts.
async fn open(
    proxy: &Proxy,
    object_ref: &ObjectRef<'_>,
    response: Response<ResponseBody>,
    object: &mut SealedObject,
) -> Result<Opened, S3Error> {
    if let Some(opener) = object.opener.take() {
        let (opener, sealed) = (Opener::Whole(*opener), 0..object.sealed_len);
        let (body, metrics) = (response.into_body(), proxy.metrics.clone());
        let name = [object_ref.bucket, object_ref.key];
        return Ok(Opened::new(body, opener, sealed, metrics, name));
    }
    let record = proxy.record(object_ref, object).await?;
    let content = 0..object.content_len;
    open_range(proxy, object_ref, Some(response), object, Some(&record), content).await
}

/// Reads content to its end and returns its length in bytes.
async fn drain(mut opened: Opened) -> Result<u64, S3Error> {
    let mut len = 0;
    while let Some(piece) = poll_fn(|cx| opened.poll_piece(cx)).await {
        len += piece?.len() as u64;
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn a_checkpoint_is_behind_what_was_read_without_a_gap() {
        let mut order = Order::default();
        let numbers: Vec<u64> = ["a", "b", "c", "d"].map(|key| order.begin(key.into())).into();
        assert_eq!(order.done(numbers[1]), None);
        assert_eq!(order.done(numbers[0]).as_deref(), Some("b"));
        assert_eq!(order.done(numbers[3]), None);
        assert_eq!(order.done(numbers[2]).as_deref(), Some("d"));
    }

    #[test]
    fn no_checkpoint_is_behind_an_object_that_was_not_read() {
        let mut order = Order::default();
        let numbers: Vec<u64> = ["a", "b", "c"].map(|key| order.begin(key.into())).into();
        assert_eq!(order.done(numbers[0]).as_deref(), Some("a"));
        order.hold();
        assert_eq!(order.done(numbers[2]), None);
        let later = order.begin("d".into());
        assert_eq!(order.done(later), None);
        assert!(order.open.is_empty(), "nothing is kept for a place that does not move");
    }
}
