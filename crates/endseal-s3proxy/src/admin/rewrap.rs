//! Content keys wrapped anew under the provider's newest key; sealed bytes stay as they are.
//!
//! Each object is asked after, its content key is opened and wrapped, and the object is copied onto
//! itself with the new header: metadata, content headers, tags, storage class and server-side
//! encryption of the backend go along; an access control list of a single object does not, as S3
//! copies none. The copy holds only for the entity tag that was examined, at a server that heeds
//! such conditions; whether it does is tried before, and one that does not is left alone. What is
//! larger than one copy takes is copied in parts, which the format allows: the header says what
//! form an object has, and not its entity tag.

use std::sync::Arc;

use endseal_crypto::random::{OsRandom, Random as _};
use endseal_kms::Wrapped;
use endseal_s3_format::{self as object, ContentKey, Header, entity_tag};
use endseal_s3_protocol::S3Error;
use http::{HeaderMap, Method, StatusCode};
use tokio::task::JoinSet;

use super::ask::ask;
use super::conditional::heeds_conditions;
use super::copy::{Copied, Examined, NoCopy, beside};
use super::fault::Fault;
use super::pages::{List, Pages, buckets, client_key, versioning};
use crate::context::Proxy;
use crate::headers::{self, USER_METADATA};
use crate::names::is_reserved;
use crate::names::name_error;
use crate::sealed_object::{Inspected, ObjectRef, object_len};

/// Options of a run that wraps keys anew.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rewrap {
    /// The bucket; all that the backend shows, if there is none.
    pub bucket: Option<String>,
    /// Prefix of the keys of the objects.
    pub prefix: String,
    /// Only tells what would be wrapped: keys are opened, nothing is written.
    pub dry_run: bool,
    /// Wraps also where the server does not heed the condition of a copy. The caller MUST see to it
    /// that nobody writes meanwhile: what is written at the moment of a copy would be lost.
    pub unconditional: bool,
    /// Objects at once.
    pub jobs: usize,
    /// Largest object in bytes that the backend copies in one request: S3's 5 GiB.
    pub largest_copy: u64,
    /// Bytes of a part of a copy in parts; 5 MiB to 5 GiB.
    pub part: u64,
}

impl Default for Rewrap {
    /// All objects of all buckets.
    fn default() -> Self {
        Self {
            bucket: None,
            prefix: String::new(),
            dry_run: false,
            unconditional: false,
            jobs: 8,
            largest_copy: 5 << 30,
            part: 1 << 30,
        }
    }
}

/// Message of the fault of a bucket whose server ignores the condition of a copy.
pub const NO_CONDITIONS: &str =
    "the server does not heed If-Match of copies: what is written meanwhile could be lost";

/// Result of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Its content key is wrapped under the newest key now, or would be.
    Rewrapped {
        /// True if clients see another entity tag from now on: the backend computes its own anew,
        /// and a copy of what was uploaded in parts has another one.
        is_retagged: bool,
    },
    /// It was before.
    Newest,
    /// It is not sealed.
    Plaintext,
    /// It was written while it was examined, and stays as it was written. The next run finds under
    /// which key.
    Changed,
    /// It was deleted meanwhile.
    Gone,
    /// It was left as it is, for a reason that another run meets again.
    Skipped(Skip),
    /// It could not be done.
    Failed(Fault),
}

/// Why an object was left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Skip {
    /// The backend holds back metadata that no header can carry: a copy would lose them.
    HiddenMetadata,
    /// The new header is longer than the old one, and metadata leave no room for it.
    NoRoom,
    /// It needs a copy in parts, and its tags may not be read: the copy would lose them.
    Tags,
}

impl Skip {
    /// In words.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::HiddenMetadata => "the server hides metadata, which a copy would lose",
            Self::NoRoom => "its metadata leave no room for the longer header",
            Self::Tags => "its tags may not be read, and a copy in parts would lose them",
        }
    }
}

/// Step of a run, reported as it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RewrapEvent<'a> {
    /// A bucket is begun.
    Bucket {
        /// Its name.
        bucket: &'a str,
        /// True if it has versions: older ones keep their keys.
        has_versions: bool,
    },
    /// An object was seen to.
    Object {
        /// Its bucket.
        bucket: &'a str,
        /// Its key.
        key: &'a str,
        /// Result of the object.
        outcome: &'a Outcome,
    },
    /// A bucket could not be gone through to its end.
    Failed {
        /// The bucket.
        bucket: &'a str,
        /// Why.
        fault: &'a Fault,
    },
}

/// Totals of a run. After a dry run, the totals that a run would have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RewrapReport {
    /// The key that wraps.
    pub key_id: String,
    /// Buckets that were gone through.
    pub buckets: u64,
    /// Buckets among them that have versions, of which the current ones alone were seen to.
    pub versioned_buckets: Vec<String>,
    /// Objects of which clients see another entity tag from now on.
    pub retagged: u64,
    /// Objects by [`Outcome`].
    pub rewrapped: u64,
    /// As above.
    pub newest: u64,
    /// As above.
    pub plaintext: u64,
    /// As above.
    pub changed: u64,
    /// As above.
    pub gone: u64,
    /// As above.
    pub skipped: u64,
    /// As above, and buckets that were not gone through to their ends.
    pub failed: u64,
}

impl RewrapReport {
    /// Returns true if the current versions of all sealed objects that were looked for are under
    /// the newest key. After a dry run, true if they will be.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.changed == 0 && self.skipped == 0 && self.failed == 0
    }

    fn count(&mut self, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Rewrapped { is_retagged } => {
                self.retagged += u64::from(*is_retagged);
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

/// Wraps the content keys of objects anew. Called in a tokio runtime.
///
/// Every proxy that serves MUST have the newest key before: a proxy that has not cannot open what
/// was wrapped anew. No key may be removed before a run ended complete with nothing rewrapped, and
/// versions that are still wanted were seen to.
///
/// # Errors
/// If the provider does not wrap, or the backend does not tell its buckets. What fails later is
/// counted and told.
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

/// Wraps a content key under the newest key, for comparison.
async fn sample(proxy: &Proxy) -> Result<Wrapped, Fault> {
    let key = ContentKey::try_init_with(|out| OsRandom.fill(out))
        .map_err(|_| Fault::from(S3Error::internal()))?;
    proxy.provider.wrap(b"sample", &key).await.map_err(|error| Fault::new(error.to_string()))
}

/// One bucket.
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
        let is_conditional = dry_run || heeds_conditions(self.proxy, bucket).await?;
        if !is_conditional && !self.options.unconditional {
            return Err(Fault::new(NO_CONDITIONS));
        }
        let wanted = self.options.prefix.as_str();
        let names = self.proxy.names(bucket);
        let folder = match &names {
            Some(names) => names.seal_prefix(wanted).map_err(name_error)?.0,
            None => wanted.to_owned(),
        };
        let list = List::Objects { bucket, prefix: &folder, after: None };
        let mut pages = Pages::of(self.proxy, list).await;
        let mut jobs = JoinSet::new();
        let mut tell = |done: Result<(String, Outcome), _>| {
            // A job is neither aborted nor does it panic; if it did, its object would be unknown.
            let (key, outcome) = done.unwrap_or_else(|_: tokio::task::JoinError| {
                (String::new(), Outcome::Failed(Fault::new("the work at an object broke off")))
            });
            report.count(&outcome);
            on(RewrapEvent::Object { bucket, key: &key, outcome: &outcome });
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
                    jobs.join_next().await.into_iter().for_each(&mut tell);
                }
                let job = Job {
                    proxy: Arc::clone(self.proxy),
                    options: self.options.clone(),
                    sample: Arc::clone(self.sample),
                    bucket: bucket.to_owned(),
                    key,
                    is_stored,
                    is_conditional,
                };
                jobs.spawn(job.run());
            }
        };
        while let Some(done) = jobs.join_next().await {
            tell(done);
        }
        ended
    }
}

/// One object.
struct Job {
    proxy: Arc<Proxy>,
    options: Rewrap,
    sample: Arc<Wrapped>,
    bucket: String,
    key: String,
    is_stored: bool,
    is_conditional: bool,
}

impl Job {
    async fn run(self) -> (String, Outcome) {
        let outcome = self.outcome().await.unwrap_or_else(Outcome::Failed);
        (self.key, outcome)
    }

    async fn outcome(&self) -> Result<Outcome, Fault> {
        let proxy = &*self.proxy;
        let object_ref = ObjectRef {
            signer: proxy.own_signer(),
            bucket: &self.bucket,
            key: &self.key,
            version: None,
            is_stored: self.is_stored,
        };
        let head = match ask(proxy, &Method::HEAD, &object_ref.target(), HeaderMap::new()).await {
            Ok(head) => head,
            Err(fault) if fault.status() == StatusCode::NOT_FOUND => return Ok(Outcome::Gone),
            Err(fault) => return Err(fault),
        };
        let name = format!("{USER_METADATA}{}", object::HEADER_METADATA);
        if !head.headers().contains_key(&name) {
            return Ok(Outcome::Plaintext);
        }
        let header = headers::text(head.headers(), &name).and_then(|it| Header::parse(it).ok());
        if header.is_some_and(|header| self.is_newest(&header)) {
            return Ok(Outcome::Newest);
        }
        if head.headers().contains_key("x-amz-missing-meta") {
            return Ok(Outcome::Skipped(Skip::HiddenMetadata));
        }
        let sealed_len = object_len(&head)?;
        let Inspected::Sealed(object) =
            proxy.examine(&object_ref, head.headers(), sealed_len).await?
        else {
            return Ok(Outcome::Plaintext);
        };
        if self.options.dry_run {
            return Ok(Outcome::Rewrapped { is_retagged: false });
        }
        let old = object.entity_tag.as_deref();
        let old = old.ok_or_else(|| Fault::new("the server tells no entity tag"))?;
        let binding = object.header.binding();
        let header =
            proxy.rewrap_bound(&object.header, &object.key, object_ref.place()?, binding).await?;
        let headers = match beside(head.headers(), &header) {
            Ok(headers) => headers,
            Err(error) if error.code() == S3Error::metadata_too_large().code() => {
                return Ok(Outcome::Skipped(Skip::NoRoom));
            }
            Err(error) => return Err(error.into()),
        };
        let examined = Examined {
            proxy,
            bucket: &self.bucket,
            key: &self.key,
            is_stored: self.is_stored,
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
                let is_retagged =
                    object.md5.is_none() && old.trim_matches('"') != new.trim_matches('"');
                Ok(Outcome::Rewrapped { is_retagged })
            }
            Ok(Copied::Changed) => Ok(Outcome::Changed),
            Ok(Copied::Gone) => Ok(Outcome::Gone),
            Err(NoCopy::Tags) => Ok(Outcome::Skipped(Skip::Tags)),
            Err(NoCopy::Fault(fault)) => Err(fault),
        }
    }

    /// Returns true if a header's key was wrapped as the provider wraps now. The header is not
    /// authentic yet: the backend can keep an object from being wrapped anew, as it can put back an
    /// old one.
    fn is_newest(&self, header: &Header) -> bool {
        self.proxy.provider.is_as_new(header.key_id(), header.wrapped_key(), &self.sample)
    }
}
