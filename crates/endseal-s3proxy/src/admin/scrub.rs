//! All objects read to their ends, so that damage is known while there is still a copy elsewhere.
//!
//! Of each object the header, the record, every byte of the content, sealed user metadata and a
//! sealed MD5 are authenticated. Nothing is written.

use core::future::poll_fn;
use std::collections::BTreeMap;
use std::sync::Arc;

use endseal_s3_format::user_metadata;
use endseal_s3_protocol::S3Error;
use http::{HeaderMap, Method, Response, StatusCode};
use tokio::task::JoinSet;

use super::fault::Fault;
use super::pages::{List, Pages, buckets, client_key, versioning};
use crate::context::Proxy;
use crate::headers::SEALED_METADATA;
use crate::names::{is_reserved, name_error};
use crate::operations::open_range;
use crate::sealed_object::{Inspected, ObjectRef, SealedObject, object_len};
use crate::transfer::{Opened, Opener};
use crate::upstream::ResponseBody;

/// Tries to read an object that is written meanwhile.
const TRIES: usize = 3;

/// The objects that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scrub {
    /// The bucket; all that the backend shows, if there is none.
    pub bucket: Option<String>,
    /// The beginning of the objects' keys.
    pub prefix: String,
    /// Where an earlier run was interrupted.
    pub after: Option<Checkpoint>,
    /// Objects at once.
    pub jobs: usize,
}

impl Default for Scrub {
    /// All objects of all buckets.
    fn default() -> Self {
        Self { bucket: None, prefix: String::new(), after: None, jobs: 8 }
    }
}

/// A place in the order of a run: the objects up to it were read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a place in two steps")]
pub struct Checkpoint {
    /// A bucket. Those before it, in the order of their names, were read.
    pub bucket: String,
    /// The backend's key of the last object that was read with all before it.
    pub stored_key: String,
}

/// Outcome of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scrubbed {
    /// All of it is authentic: that many bytes of content.
    Authentic(u64),
    /// It is not sealed, and its bucket's rule allows that.
    Plaintext,
    /// It is not sealed, and its bucket's rule forbids that: it lost its header, or was put past
    /// the proxy.
    Unsealed,
    /// It was deleted meanwhile.
    Gone,
    /// It is not authentic.
    NotAuthentic,
    /// It was not read to its end.
    Failed(Fault),
}

/// An event of a run, as it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScrubEvent<'a> {
    /// A bucket is begun.
    Bucket {
        /// Its name.
        bucket: &'a str,
        /// True if it has versions: older ones are not read.
        has_versions: bool,
    },
    /// An object was read.
    Object {
        /// Its bucket.
        bucket: &'a str,
        /// Its key.
        key: &'a str,
        /// Its outcome.
        outcome: &'a Scrubbed,
    },
    /// A run that begins behind it reads what this one has not. None comes behind an object that
    /// was not read.
    Checkpoint(&'a Checkpoint),
    /// A bucket could not be gone through to its end.
    Failed {
        /// The bucket.
        bucket: &'a str,
        /// Why.
        fault: &'a Fault,
    },
}

/// Counts of what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScrubReport {
    /// Buckets that were gone through.
    pub buckets: u64,
    /// Authentic objects.
    pub authentic: u64,
    /// Bytes of their content.
    pub bytes: u64,
    /// Objects that are not sealed.
    pub plaintext: u64,
    /// Objects that were deleted meanwhile.
    pub gone: u64,
    /// Objects that are not authentic, or not sealed where that is forbidden.
    pub not_authentic: u64,
    /// Objects that were not read to their ends, and buckets that were not gone through to theirs.
    pub failed: u64,
}

impl ScrubReport {
    /// True if every object that was asked for was read and is authentic, or plaintext where that
    /// is allowed.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.not_authentic == 0 && self.failed == 0
    }

    fn count(&mut self, outcome: &Scrubbed) {
        let counter = match outcome {
            Scrubbed::Authentic(bytes) => {
                self.bytes += bytes;
                &mut self.authentic
            }
            Scrubbed::Plaintext => &mut self.plaintext,
            Scrubbed::Gone => &mut self.gone,
            Scrubbed::Unsealed | Scrubbed::NotAuthentic => &mut self.not_authentic,
            Scrubbed::Failed(_) => &mut self.failed,
        };
        *counter += 1;
    }
}

/// Reads objects to their ends. Called in a tokio runtime.
///
/// # Errors
/// If the backend does not tell its buckets. What fails later is counted and told.
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

/// One bucket.
struct Run<'a> {
    proxy: &'a Arc<Proxy>,
    options: &'a Scrub,
    bucket: &'a str,
    /// Something before it was not read.
    is_held: bool,
}

/// An object that was read: its number in the list, its key.
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

/// The object that a job read. The panic of a job goes on here.
fn joined(joined: Option<Result<Read, tokio::task::JoinError>>) -> Option<Read> {
    match joined? {
        Ok(read) => Some(read),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Nobody aborts a job.
            Err(_) => None,
        },
    }
}

/// Objects in the order of the list, of which some are still being read.
#[derive(Default)]
struct Order {
    next: u64,
    /// Keys by their numbers, and true for those that were read.
    open: BTreeMap<u64, (String, bool)>,
    /// An object was not read: the last key before it stays the last one.
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

    /// Notes that an object could not be read, so that a later run begins before it.
    fn hold(&mut self) {
        self.is_held = true;
        self.open.clear();
    }

    /// Notes that an object was read. Returns the last key up to which all were, if that is a new
    /// one.
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

/// Reads one object, again if it was replaced while it was read.
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
            code if code == S3Error::plaintext().code() => Scrubbed::Unsealed,
            code if code == S3Error::not_authentic().code() => Scrubbed::NotAuthentic,
            _ => Scrubbed::Failed(error.into()),
        };
    }
}

/// Returns true if the backend lists an object: one that it does not find was not deleted then, but
/// lost.
///
/// # Errors
/// If the bucket cannot be listed.
async fn is_listed(proxy: &Proxy, bucket: &str, stored_key: &str) -> Result<bool, Fault> {
    let mut pages =
        Pages::of(proxy, List::Objects { bucket, prefix: stored_key, after: None }).await;
    // The key itself comes before those that go on behind it.
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
    check_beside(proxy, response.headers(), &object)?;
    let opened = open(proxy, object_ref, response, &mut object).await?;
    let len = drain(opened).await?;
    if len != object.content_len {
        return Err(S3Error::not_authentic());
    }
    Ok(Scrubbed::Authentic(len))
}

/// Authenticates what is sealed beside the object.
fn check_beside(proxy: &Proxy, headers: &HeaderMap, object: &SealedObject) -> Result<(), S3Error> {
    let metadata = headers.get(SEALED_METADATA).is_none_or(|value| {
        let text = value.to_str().ok();
        text.is_some_and(|text| user_metadata::open(&object.header, &object.key, text).is_ok())
    });
    if metadata && object.open_md5(headers).is_ok() {
        return Ok(());
    }
    Err(proxy.metrics.not_authentic())
}

/// All of an object, out of `response` where it was sealed whole.
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

/// Reads content to its end. Returns its length.
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
