//! Wraps the content keys of objects again under the provider's newest key. Sealed bytes do not
//! change.
//!
//! The content key of each object is unwrapped and wrapped, and the object is copied onto itself
//! with the new header. Metadata, content headers, tags, storage class and the backend's
//! server-side encryption are kept. The access control list of an object is lost, because S3 does
//! not copy it. The copy succeeds only if the object still has the entity tag that was examined.
//! Servers that ignore this condition are detected by a test, and their objects are left alone.
//! Objects above the size limit of a copy are copied in parts. The format allows this, because the
//! form of an object is in its header and not in its entity tag.

use std::sync::Arc;

use endseal_crypto::random::{OsRandom, Random as _};
use endseal_kms::Wrapped;
use endseal_s3_format::{ContentKey, Header, entity_tag};
use endseal_s3_protocol::S3Error;
use http::{HeaderMap, Method, StatusCode};

use super::ask::ask;
use super::conditional::{TriedWrite, heeds_conditions};
use super::copy::{Copied, Examined, NoCopy, beside, without_metadata};
use super::fault::Fault;
use super::objects::{self, ListedObject};
use super::pages::{buckets, versioning};
use super::unfinished;
use crate::context::Proxy;
use crate::headers;
use crate::names::is_reserved;
use crate::sealed_object::{CHANGED, Inspected, ObjectRef, object_len};

/// Options of [`rewrap()`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rewrap {
    /// Bucket to process. `None` stands for all buckets that the backend lists.
    pub bucket: Option<String>,
    /// Prefix of the keys to process, as clients name them.
    pub prefix: String,
    /// Only restores headers that are missing in the metadata, or do not open there.
    pub missing_only: bool,
    /// Reports what would be wrapped. Keys are unwrapped, but nothing is written.
    pub dry_run: bool,
    /// Also wraps keys at a server that ignores the condition of a copy. The caller MUST make sure
    /// that no object is written meanwhile: a write during a copy would be lost.
    pub unconditional: bool,
    /// Maximum number of objects that are processed at the same time.
    pub jobs: usize,
    /// Size in bytes above which objects are copied in parts. S3's limit of a single copy is 5 GiB.
    pub largest_copy: u64,
    /// Size in bytes of a part of a copy in parts, 5 MiB to 5 GiB.
    pub part: u64,
}

impl Default for Rewrap {
    /// All objects of all buckets, eight at a time.
    fn default() -> Self {
        Self {
            bucket: None,
            prefix: String::new(),
            missing_only: false,
            dry_run: false,
            unconditional: false,
            jobs: 8,
            largest_copy: 5 << 30,
            part: 1 << 30,
        }
    }
}

/// Message of the fault for a bucket whose server ignores the condition of a copy.
pub const NO_CONDITIONS: &str =
    "the server ignores If-Match on copies: an object that is written meanwhile could be lost";

/// Result for one object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The content key was wrapped under the newest key, or would be in a dry run.
    Rewrapped {
        /// True if clients see another entity tag from now on. The backend computes a new one,
        /// which differs if the object was uploaded in parts.
        is_retagged: bool,
        /// True if the object had no header in its metadata that opens, and was given one.
        is_restored: bool,
    },
    /// The content key was already wrapped under the newest key, or the header is there where only
    /// missing ones are restored.
    Newest,
    /// The object is not sealed.
    Plaintext,
    /// The object was written while it was examined, and was left alone. The next run examines it
    /// again.
    Changed,
    /// The object was deleted meanwhile.
    Gone,
    /// The object was left alone, for a reason that will also apply to later runs.
    Skipped(Skip),
    /// The object could not be processed.
    Failed(Fault),
}

/// Reason why an object was left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Skip {
    /// The backend does not return some metadata because no header can represent it. A copy would
    /// lose it.
    HiddenMetadata,
    /// The new header is longer than the old one, and the metadata leave no room for it.
    NoRoom,
    /// The object must be copied in parts and its tags cannot be read. The copy would lose them.
    Tags,
    /// The object is too long to be written in one request.
    TooLarge,
    /// The object was sealed before names were encrypted, and clients cannot name it.
    PlainName,
    /// There is another object under the encrypted name.
    NameTaken,
    /// There is another object in the place of the import.
    PlaceTaken,
    /// The object is none of the system that is imported.
    NotForeign,
    /// The name of the object is none of the system that is imported, with these keys.
    ForeignName,
    /// Nothing authenticates the content, and only authentic objects were asked for.
    Unauthenticated,
    /// The object is too long to be authenticated before it is sealed.
    TooLongToAuthenticate,
}

impl Skip {
    /// Returns the reason as a text for users.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::HiddenMetadata => "the server hides metadata, which a copy would lose",
            Self::NoRoom => "its metadata leave no room for the longer header",
            Self::PlainName => "it was sealed before names were encrypted: no client finds it",
            Self::NameTaken => "another object has its encrypted name",
            Self::PlaceTaken => "another object has the name under which it would be sealed",
            Self::NotForeign => "it is no object of the other system",
            Self::ForeignName => {
                "its name does not open: it is none of the remote, or the keys differ"
            }
            Self::Unauthenticated => "nothing authenticates its content",
            Self::TooLongToAuthenticate => {
                "it is longer than 64 MiB and authenticated as a whole: read it with the other \
                 system"
            }
            Self::TooLarge => "it is longer than 5 GiB: copy it through the proxy",
            Self::Tags => "its tags may not be read, and a copy in parts would lose them",
        }
    }
}

/// Event of a run, reported when it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RewrapEvent<'a> {
    /// Processing of a bucket starts.
    Bucket {
        /// Name of the bucket.
        bucket: &'a str,
        /// True if the bucket has versions. Older versions keep their keys.
        has_versions: bool,
    },
    /// An object was processed.
    Object {
        /// Bucket of the object.
        bucket: &'a str,
        /// Key of the object.
        key: &'a str,
        /// Result for the object.
        outcome: &'a Outcome,
    },
    /// An upload has an older key and is not finished. Completed, it would have that key.
    Unfinished {
        /// Bucket of the upload.
        bucket: &'a str,
        /// Key of the object that the upload is to become.
        key: &'a str,
    },
    /// The list of a bucket could not be processed to its end.
    Failed {
        /// Name of the bucket.
        bucket: &'a str,
        /// Reason of the failure.
        fault: &'a Fault,
    },
}

/// Totals of a run. After a dry run they are the totals that a real run would have had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RewrapReport {
    /// Id of the newest key, which wraps.
    pub key_id: String,
    /// Buckets that were processed.
    pub buckets: u64,
    /// Processed buckets that have versions. Only the current version of each object was processed.
    pub versioned_buckets: Vec<String>,
    /// Objects that have another entity tag for clients from now on.
    pub retagged: u64,
    /// Objects with the result [`Outcome::Rewrapped`].
    pub rewrapped: u64,
    /// Those of them that had no header, and were given one.
    pub restored: u64,
    /// Unfinished uploads whose key is wrapped under an older one.
    pub unfinished: u64,
    /// Objects with the result [`Outcome::Newest`].
    pub newest: u64,
    /// Objects with the result [`Outcome::Plaintext`].
    pub plaintext: u64,
    /// Objects with the result [`Outcome::Changed`].
    pub changed: u64,
    /// Objects with the result [`Outcome::Gone`].
    pub gone: u64,
    /// Objects with the result [`Outcome::Skipped`].
    pub skipped: u64,
    /// Objects with the result [`Outcome::Failed`], and buckets that were not processed to their
    /// end.
    pub failed: u64,
}

impl RewrapReport {
    /// Returns true if the current versions of all requested sealed objects have the newest key,
    /// and no unfinished upload has an older one. After a dry run, returns true if a real run would
    /// achieve this.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.changed == 0 && self.skipped == 0 && self.failed == 0 && self.unfinished == 0
    }

    fn count(&mut self, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Rewrapped { is_retagged, is_restored } => {
                self.retagged += u64::from(*is_retagged);
                self.restored += u64::from(*is_restored);
                &mut self.rewrapped
            }
            Outcome::Newest => &mut self.newest,
            Outcome::Plaintext => &mut self.plaintext,
            Outcome::Changed => &mut self.changed,
            Outcome::Gone => &mut self.gone,
            Outcome::Skipped(_) => &mut self.skipped,
            Outcome::Failed(_) => &mut self.failed,
        };
        *counter += 1;
    }
}

/// Wraps the content keys of objects under the newest key. Must be called in a tokio runtime.
///
/// Every running proxy MUST have the newest key before, because it cannot open objects under a key
/// that it does not have. An old key may only be removed after a complete run that rewrapped
/// nothing, and only if no version that is still needed uses it.
///
/// # Errors
/// The fault if the provider does not wrap, or the backend does not list its buckets. Later faults
/// are counted and reported as events.
pub async fn rewrap(
    proxy: &Arc<Proxy>,
    options: &Rewrap,
    mut on: impl FnMut(RewrapEvent<'_>),
) -> Result<RewrapReport, Fault> {
    let sample = Arc::new(sample(proxy).await?);
    let mut report =
        RewrapReport { key_id: sample.key_id.as_str().to_owned(), ..RewrapReport::default() };
    for bucket in buckets(proxy, options.bucket.as_deref()).await? {
        report.buckets += 1;
        let run = Run { proxy, options, sample: &sample, bucket: &bucket };
        if let Err(fault) = run.objects(&mut report, &mut on).await {
            report.failed += 1;
            on(RewrapEvent::Failed { bucket: &bucket, fault: &fault });
        }
    }
    Ok(report)
}

/// Wraps a random content key under the newest key, to compare other wrapped keys with.
async fn sample(proxy: &Proxy) -> Result<Wrapped, Fault> {
    let key = ContentKey::try_init_with(|out| OsRandom.fill(out))
        .map_err(|_| Fault::from(S3Error::internal()))?;
    proxy.provider.wrap(b"sample", &key).await.map_err(|error| Fault::new(error.to_string()))
}

/// Run over one bucket.
struct Run<'a> {
    proxy: &'a Arc<Proxy>,
    options: &'a Rewrap,
    sample: &'a Arc<Wrapped>,
    bucket: &'a str,
}

impl Run<'_> {
    async fn objects(
        &self,
        report: &mut RewrapReport,
        on: &mut impl FnMut(RewrapEvent<'_>),
    ) -> Result<(), Fault> {
        let bucket = self.bucket;
        let (has_versions, _) = versioning(self.proxy, bucket).await?;
        if has_versions {
            report.versioned_buckets.push(bucket.to_owned());
        }
        on(RewrapEvent::Bucket { bucket, has_versions });
        let dry_run = self.options.dry_run;
        let is_conditional =
            dry_run || heeds_conditions(self.proxy, bucket, TriedWrite::Copy).await?;
        if !is_conditional && !self.options.unconditional {
            return Err(Fault::new(NO_CONDITIONS));
        }
        let wanted = self.options.prefix.as_str();
        // Before the objects: an upload that is completed meanwhile is among those.
        let unfinished = match self.options.missing_only {
            true => Vec::new(),
            false => unfinished::under_older_keys(self.proxy, bucket, self.sample).await?,
        };
        for key in &unfinished {
            if key.starts_with(wanted) || is_reserved(key) {
                report.unfinished += 1;
                on(RewrapEvent::Unfinished { bucket, key });
            }
        }
        let (options, sample) = (self.options.clone(), Arc::clone(self.sample));
        let work = |proxy: Arc<Proxy>, object: ListedObject| {
            let (options, sample) = (options.clone(), Arc::clone(&sample));
            let job = Job { proxy, options, sample, object, is_conditional };
            async move { job.outcome().await.unwrap_or_else(Outcome::Failed) }
        };
        objects::each(self.proxy, (bucket, wanted), self.options.jobs, work, |key, outcome| {
            report.count(&outcome);
            on(RewrapEvent::Object { bucket, key, outcome: &outcome });
        })
        .await?;
        Ok(())
    }
}

/// Job that processes one object.
struct Job {
    proxy: Arc<Proxy>,
    options: Rewrap,
    sample: Arc<Wrapped>,
    object: ListedObject,
    is_conditional: bool,
}

impl Job {
    async fn outcome(&self) -> Result<Outcome, Fault> {
        let proxy = &*self.proxy;
        let object_ref = ObjectRef {
            signer: proxy.own_signer(),
            bucket: &self.object.bucket,
            key: &self.object.key,
            version: None,
            is_stored: self.object.is_stored,
        };
        let head = match ask(proxy, &Method::HEAD, &object_ref.target(), HeaderMap::new()).await {
            Ok(head) => head,
            Err(fault) if fault.status() == StatusCode::NOT_FOUND => return Ok(Outcome::Gone),
            Err(fault) => return Err(fault),
        };
        let header = headers::text(head.headers(), headers::OBJECT_HEADER);
        let header = header.and_then(|it| Header::parse(it).ok());
        if header.is_some_and(|header| self.is_newest(&header)) && !self.options.missing_only {
            return Ok(Outcome::Newest);
        }
        let sealed_len = object_len(&head)?;
        let object = match proxy.examine(&object_ref, head.headers(), sealed_len).await {
            Ok(Inspected::Sealed(object)) => object,
            Ok(Inspected::Plain) => return Ok(Outcome::Plaintext),
            Err(error) if error == S3Error::plaintext() => return Ok(Outcome::Plaintext),
            Err(error) if error.kind() == Some(CHANGED) => return Ok(Outcome::Changed),
            Err(error) => return Err(error.into()),
        };
        // Metadata that are sealed and lost make the object unreadable.
        let metadata_lost = match object.sealed_metadata(head.headers()) {
            Ok(metadata) => object.is_by_copy && metadata.is_none(),
            Err(_) => true,
        };
        if self.options.missing_only && !object.is_by_copy && !metadata_lost {
            return Ok(Outcome::Newest);
        }
        if head.headers().contains_key("x-amz-missing-meta") {
            return Ok(Outcome::Skipped(Skip::HiddenMetadata));
        }
        let is_restored = object.is_by_copy || metadata_lost;
        if self.options.dry_run {
            return Ok(Outcome::Rewrapped { is_retagged: false, is_restored });
        }
        let old = object.entity_tag.as_deref();
        let old = old.ok_or_else(|| Fault::new("the server returned no entity tag"))?;
        let header = match metadata_lost && self.options.missing_only {
            true => proxy.header_for(&object.header, &object.key, object_ref.place()?).await?,
            false => proxy.rewrap(&object.header, &object.key).await?,
        };
        let repeated = match metadata_lost && header.has_sealed_metadata() {
            // What stands beside the object is the backend's word.
            true => without_metadata(head.headers(), &header, &object.key),
            false => beside(head.headers(), &header),
        };
        let headers = match repeated {
            Ok(headers) => headers,
            Err(error) if error.code() == S3Error::metadata_too_large().code() => {
                return Ok(Outcome::Skipped(Skip::NoRoom));
            }
            Err(error) => return Err(error.into()),
        };
        let examined = Examined {
            proxy,
            bucket: &self.object.bucket,
            key: &self.object.key,
            is_stored: self.object.is_stored,
            entity_tag: old,
            sealed_len,
            is_conditional: self.is_conditional,
        };
        let copied = match sealed_len > self.options.largest_copy {
            true => examined.in_parts(self.options.part, headers).await,
            false => examined.at_once(headers).await,
        };
        match copied {
            Ok(Copied::Done(new)) => {
                let [old, new] = [old, &new].map(|tag| entity_tag::to_client(tag.trim()));
                let is_retagged = old.trim_matches('"') != new.trim_matches('"');
                Ok(Outcome::Rewrapped { is_retagged, is_restored })
            }
            Ok(Copied::Changed) => Ok(Outcome::Changed),
            Ok(Copied::Gone) => Ok(Outcome::Gone),
            Err(NoCopy::Tags) => Ok(Outcome::Skipped(Skip::Tags)),
            Err(NoCopy::Fault(fault)) => Err(fault),
        }
    }

    /// Returns true if the header's key is wrapped under the provider's newest key. The header is
    /// not authenticated yet: a malicious backend could keep an object from being rewrapped, as it
    /// could also restore an old one.
    fn is_newest(&self, header: &Header) -> bool {
        self.proxy.provider.is_as_new(header.key_id(), header.wrapped_key(), &self.sample)
    }
}
