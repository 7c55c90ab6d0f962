//! Seals the plaintext objects of a bucket where they are.
//!
//! Each object is read, sealed and written in its own place, with its metadata, content headers,
//! tags and storage class. The write succeeds only if the object still has the entity tag that was
//! read. In a bucket with encrypted names the object is written under its encrypted name, and the
//! old one is deleted afterwards.

use core::future::poll_fn;
use std::sync::Arc;

use endseal_crypto::sha256::Digest as Sha256;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::{ChecksumKind, Digests};
use endseal_s3_protocol::content::Pieces as _;
use http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::ask::ask;
use super::conditional::{TriedWrite, heeds_conditions};
use super::copy::{is_beside, tags_of};
use super::fault::Fault;
use super::objects::{self, ListedObject};
use super::pages::versioning;
use super::rewrap::Skip;
use crate::context::Proxy;
use crate::headers::{self, USER_METADATA};
use crate::operations::{MAX_PUT, open_range, seal_in_one_request};
use crate::sealed_object::{CHANGED, Inspected, ObjectRef, object_len, pin};
use crate::transfer::{Content, ContentSource};

/// Options of [`import()`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Import {
    /// Bucket to seal.
    pub bucket: String,
    /// Prefix of the keys to process, as clients name them.
    pub prefix: String,
    /// Reports what would be sealed. Nothing is written, and no content is read.
    pub dry_run: bool,
    /// Also writes at a server that ignores `If-Match` of writes. The caller MUST make sure that no
    /// object is written meanwhile: a write during the import would be lost.
    pub unconditional: bool,
    /// Goes on in a bucket that has sealed objects. Without this the bucket is left alone, because
    /// an object that lost its metadata and its end cannot be told from plaintext.
    pub resume: bool,
    /// Maximum number of objects that are processed at the same time.
    pub jobs: usize,
}

impl Import {
    /// All objects of a bucket, four at a time.
    #[must_use]
    pub const fn new(bucket: String) -> Self {
        let prefix = String::new();
        Self { bucket, prefix, dry_run: false, unconditional: false, resume: false, jobs: 4 }
    }
}

/// Result for one object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Imported {
    /// The object was sealed, or would be in a dry run. The value is its length in bytes.
    Sealed(u64),
    /// The object was sealed before.
    Present,
    /// The object was written while it was read, and was left alone. The next run seals it.
    Changed,
    /// The object was deleted meanwhile.
    Gone,
    /// The object was left alone, for a reason that will also apply to later runs.
    Skipped(Skip),
    /// The object could not be processed.
    Failed(Fault),
}

/// Totals of a run. After a dry run they are the totals that a real run would have had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportReport {
    /// True if the bucket has versions. Older versions stay plaintext.
    pub has_versions: bool,
    /// Objects with the result [`Imported::Sealed`].
    pub sealed: u64,
    /// Bytes of content of these objects.
    pub bytes: u64,
    /// Objects with the result [`Imported::Present`].
    pub present: u64,
    /// Objects with the result [`Imported::Changed`].
    pub changed: u64,
    /// Objects with the result [`Imported::Gone`].
    pub gone: u64,
    /// Objects with the result [`Imported::Skipped`].
    pub skipped: u64,
    /// Objects with the result [`Imported::Failed`].
    pub failed: u64,
}

impl ImportReport {
    /// Returns true if the current versions of all requested objects are sealed. After a dry run,
    /// returns true if a real run would achieve this.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.changed == 0 && self.skipped == 0 && self.failed == 0
    }

    fn count(&mut self, outcome: &Imported) {
        let counter = match outcome {
            Imported::Sealed(bytes) => {
                self.bytes += bytes;
                &mut self.sealed
            }
            Imported::Present => &mut self.present,
            Imported::Changed => &mut self.changed,
            Imported::Gone => &mut self.gone,
            Imported::Skipped(_) => &mut self.skipped,
            Imported::Failed(_) => &mut self.failed,
        };
        *counter += 1;
    }
}

/// Message of the fault for a server that ignores the condition of a write.
pub const WRITES_UNCONDITIONAL: &str =
    "the server ignores If-Match on writes: an object that is written meanwhile could be lost";

/// Message of the fault for a bucket that has sealed objects.
pub const HAS_SEALED: &str = "the bucket has sealed objects";

/// Attempts to learn what an object is.
const TRIES: usize = 3;

/// Seals all objects of a bucket that are not sealed. `on` gets the key and the result of each
/// object. Must be called in a tokio runtime. The bucket's rule need not allow plaintext.
///
/// # Errors
/// The fault if the bucket cannot be listed to its end, the server ignores conditions and
/// `unconditional` is not set, or the bucket has sealed objects and `resume` is not set.
pub async fn import(
    proxy: &Arc<Proxy>,
    options: &Import,
    mut on: impl FnMut(&str, &Imported),
) -> Result<ImportReport, Fault> {
    if !options.dry_run && !options.resume {
        let look = Import { dry_run: true, ..options.clone() };
        let found = run(proxy, &look, &mut |_, _| {}).await?;
        if found.present > 0 {
            return Err(Fault::new(HAS_SEALED));
        }
    }
    run(proxy, options, &mut on).await
}

async fn run(
    proxy: &Arc<Proxy>,
    options: &Import,
    on: &mut dyn FnMut(&str, &Imported),
) -> Result<ImportReport, Fault> {
    let bucket = options.bucket.as_str();
    let (has_versions, _) = versioning(proxy, bucket).await?;
    let mut report = ImportReport { has_versions, ..ImportReport::default() };
    let dry_run = options.dry_run;
    let is_conditional = dry_run || heeds_conditions(proxy, bucket, TriedWrite::Put).await?;
    if !is_conditional && !options.unconditional {
        return Err(Fault::new(WRITES_UNCONDITIONAL));
    }
    let prefix: Arc<str> = options.prefix.as_str().into();
    let work = |proxy: Arc<Proxy>, object: ListedObject| {
        let prefix = Arc::clone(&prefix);
        async move {
            if !object.key.starts_with(&*prefix) {
                return None;
            }
            let job = Job { proxy: &proxy, object: &object, dry_run, is_conditional };
            Some(job.outcome().await.unwrap_or_else(Imported::Failed))
        }
    };
    // Objects that are not sealed lie under their plain names, also where names are encrypted.
    let is_named = proxy.names(bucket).is_some();
    let within = (bucket, if is_named { "" } else { options.prefix.as_str() });
    objects::each(proxy, within, options.jobs, work, |key, outcome| {
        if let Some(outcome) = outcome {
            report.count(&outcome);
            on(key, &outcome);
        }
    })
    .await?;
    Ok(report)
}

struct Job<'a> {
    proxy: &'a Proxy,
    object: &'a ListedObject,
    dry_run: bool,
    is_conditional: bool,
}

impl Job<'_> {
    fn object_ref(&self, is_stored: bool) -> ObjectRef<'_> {
        ObjectRef {
            signer: self.proxy.own_signer(),
            bucket: &self.object.bucket,
            key: &self.object.key,
            version: None,
            is_stored,
        }
    }

    async fn outcome(&self) -> Result<Imported, Fault> {
        let proxy = self.proxy;
        let from = self.object_ref(self.object.is_stored);
        let mut tries = TRIES;
        let (head, len, examined) = loop {
            let mut asked = HeaderMap::new();
            asked.insert("x-amz-checksum-mode", HeaderValue::from_static("ENABLED"));
            let head = match ask(proxy, &Method::HEAD, &from.target(), asked).await {
                Ok(head) => head,
                Err(fault) if fault.status() == StatusCode::NOT_FOUND => return Ok(Imported::Gone),
                Err(fault) => return Err(fault),
            };
            let len = object_len(&head)?;
            let examined = proxy.examine(&from, head.headers(), len).await;
            tries -= 1;
            match examined {
                // While an object is replaced, some servers answer with the length of one and the
                // metadata of the other.
                Err(error) if error == S3Error::not_authentic() && tries > 0 => {}
                examined => break (head, len, examined),
            }
        };
        match examined {
            Ok(Inspected::Sealed(_)) if from.is_stored => {
                return Ok(Imported::Skipped(Skip::PlainName));
            }
            Ok(Inspected::Sealed(_)) => return Ok(Imported::Present),
            Ok(Inspected::Plain) => {}
            Err(error) if error == S3Error::plaintext() => {}
            Err(error) if error.kind() == Some(CHANGED) => return Ok(Imported::Changed),
            Err(error) => return Err(error.into()),
        }
        if len > MAX_PUT {
            return Ok(Imported::Skipped(Skip::TooLarge));
        }
        if head.headers().contains_key("x-amz-missing-meta") {
            return Ok(Imported::Skipped(Skip::HiddenMetadata));
        }
        if self.dry_run {
            return Ok(Imported::Sealed(len));
        }
        match self.seal(&from, head.headers(), len).await {
            Ok(()) => Ok(Imported::Sealed(len)),
            Err(fault) => match fault.status() {
                StatusCode::PRECONDITION_FAILED if from.is_stored => {
                    self.finish_renaming(&from, head.headers(), len).await
                }
                StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT => Ok(Imported::Changed),
                StatusCode::NOT_FOUND => Ok(Imported::Gone),
                _ if fault.code() == S3Error::metadata_too_large().code() => {
                    Ok(Imported::Skipped(Skip::NoRoom))
                }
                _ => Err(fault),
            },
        }
    }

    /// Reads and seals the object, and deletes the old one if it has another name at the backend.
    async fn seal(&self, from: &ObjectRef<'_>, head: &HeaderMap, len: u64) -> Result<(), Fault> {
        let proxy = self.proxy;
        let mut headers = HeaderMap::new();
        for (name, value) in &headers::returned(head) {
            if name.as_str().starts_with(USER_METADATA) || is_beside(name) {
                headers.append(name.clone(), value.clone());
            }
        }
        if let Some(tags) = tags_of(proxy, from).await? {
            headers::insert(&mut headers, "x-amz-tagging", &tags)?;
        }
        let tag = headers::text(head, ETAG);
        let tag = tag.ok_or_else(|| Fault::new("the server returned no entity tag"))?;
        let is_renamed = from.is_stored;
        if is_renamed {
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        } else if self.is_conditional {
            headers::insert(&mut headers, IF_MATCH, tag)?;
        }
        let mut pinned = HeaderMap::new();
        pin(&mut pinned, head)?;
        let response = ask(proxy, &Method::GET, &from.target(), pinned).await?;
        let body = ContentSource::Backend(Box::new(response.into_body()));
        let content = Content::plain(body, len, stated_digests(head));
        seal_in_one_request(proxy, &self.object_ref(false), headers, content).await?;
        if is_renamed { self.delete_old(from, head).await } else { Ok(()) }
    }

    /// Ends what an interrupted run began: the object is there under its encrypted name. The old
    /// one is deleted if the content is the same.
    async fn finish_renaming(
        &self,
        from: &ObjectRef<'_>,
        head: &HeaderMap,
        len: u64,
    ) -> Result<Imported, Fault> {
        let proxy = self.proxy;
        let to = self.object_ref(false);
        let there = ask(proxy, &Method::HEAD, &to.target(), HeaderMap::new()).await?;
        let sealed_len = object_len(&there)?;
        let Inspected::Sealed(object) = proxy.examine(&to, there.headers(), sealed_len).await?
        else {
            return Ok(Imported::Skipped(Skip::NameTaken));
        };
        if object.content_len != len {
            return Ok(Imported::Skipped(Skip::NameTaken));
        }
        let record = match object.is_multipart() {
            true => Some(proxy.record(&to, &object).await?),
            false => None,
        };
        let mut opened = open_range(proxy, &to, None, &object, record.as_ref(), 0..len).await?;
        let mut sealed_digest = Sha256::new();
        while let Some(piece) = poll_fn(|cx| opened.poll_piece(cx)).await {
            sealed_digest.update(&piece?);
        }
        let mut pinned = HeaderMap::new();
        pin(&mut pinned, head)?;
        let response = ask(proxy, &Method::GET, &from.target(), pinned).await?;
        let mut old = ContentSource::Backend(Box::new(response.into_body()));
        let mut old_digest = Sha256::new();
        while let Some(piece) = poll_fn(|cx| old.poll_piece(cx)).await {
            old_digest.update(&piece?);
        }
        if sealed_digest.finish() != old_digest.finish() {
            return Ok(Imported::Skipped(Skip::NameTaken));
        }
        self.delete_old(from, head).await?;
        Ok(Imported::Sealed(len))
    }

    /// Deletes the object under its plain name, if it is still the one that was sealed.
    async fn delete_old(&self, from: &ObjectRef<'_>, head: &HeaderMap) -> Result<(), Fault> {
        let proxy = self.proxy;
        // Some servers ignore the condition of a deletion.
        let now = ask(proxy, &Method::HEAD, &from.target(), HeaderMap::new()).await?;
        if headers::text(now.headers(), ETAG) != headers::text(head, ETAG) {
            return Err(S3Error::precondition_failed().into());
        }
        let mut pinned = HeaderMap::new();
        pin(&mut pinned, head)?;
        match ask(proxy, &Method::DELETE, &from.target(), pinned).await {
            Err(fault) if fault.status() == StatusCode::NOT_IMPLEMENTED => {
                ask(proxy, &Method::DELETE, &from.target(), HeaderMap::new()).await?;
                Ok(())
            }
            answer => answer.map(drop),
        }
    }
}

/// Returns the checksum of the whole content that the server states, which the content is compared
/// with.
fn stated_digests(head: &HeaderMap) -> Digests {
    let mut digests = Digests::new();
    let is_whole = headers::text(head, "x-amz-checksum-type") == Some("FULL_OBJECT");
    for kind in ChecksumKind::ALL.into_iter().filter(|_| is_whole) {
        if let Some(text) = headers::text(head, kind.header())
            && digests.expect(kind, text).is_ok()
        {
            break;
        }
    }
    digests
}
