//! Seals the plaintext objects of a bucket where they are.
//!
//! Each object is read, sealed and written in its own place, with its metadata, content headers,
//! tags and storage class. The write succeeds only if the object still has the entity tag that was
//! read. In a bucket with encrypted names the object is written under its encrypted name, and the
//! old one is deleted afterwards.
//!
//! Objects of another system are opened while they are read, and sealed in their bucket or in
//! another one.

mod foreign_object;

use core::future::poll_fn;
use std::sync::Arc;

use endseal_crypto::sha256::{self, Digest as Sha256};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::{ChecksumKind, Digests};
use endseal_s3_protocol::content::Pieces as _;
use http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

use self::foreign_object::ForeignJob;
use super::ask::ask;
use super::conditional::{TriedWrite, heeds_conditions};
use super::copy::{is_beside, tags_of};
use super::fault::Fault;
use super::foreign::ForeignSource;
use super::objects::{self, ListedObject};
use super::pages::versioning;
use super::rewrap::Skip;
use crate::context::Proxy;
use crate::headers::{self, USER_METADATA};
use crate::operations::{MAX_PUT, open_range, seal_in_one_request};
use crate::sealed_object::{CHANGED, Inspected, ObjectRef, object_len, pin};
use crate::transfer::{Content, ContentSource};
use crate::upstream::ResponseBody;

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
    /// The same, of an object of another system whose content nothing authenticates: anyone who
    /// could write to the server may have chosen it.
    Unauthenticated(u64),
    /// The object was sealed before.
    Present,
    /// The object was written while it was read, and was left alone. The next run seals it.
    Changed,
    /// The object was deleted meanwhile.
    Gone,
    /// The object of another system is damaged, cut, or of another key. It was left alone.
    NotAuthentic,
    /// The key of an object of another system is not there. The value is its id.
    UnknownKey(String),
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
    /// Objects with the result [`Imported::Sealed`] or [`Imported::Unauthenticated`].
    pub sealed: u64,
    /// Bytes of content of these objects.
    pub bytes: u64,
    /// Objects with the result [`Imported::Unauthenticated`].
    pub unauthenticated: u64,
    /// Objects with the result [`Imported::NotAuthentic`].
    pub not_authentic: u64,
    /// Objects with the result [`Imported::Present`].
    pub present: u64,
    /// Objects with the result [`Imported::Changed`].
    pub changed: u64,
    /// Objects with the result [`Imported::Gone`].
    pub gone: u64,
    /// Objects with the result [`Imported::Skipped`].
    pub skipped: u64,
    /// Objects with the result [`Imported::Failed`] or [`Imported::UnknownKey`].
    pub failed: u64,
}

impl ImportReport {
    /// Returns true if the current versions of all requested objects are sealed. After a dry run,
    /// returns true if a real run would achieve this.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.changed + self.skipped + self.failed + self.not_authentic == 0
    }

    fn count(&mut self, outcome: &Imported) {
        let counter = match outcome {
            Imported::Sealed(bytes) => {
                self.bytes += bytes;
                &mut self.sealed
            }
            Imported::Unauthenticated(bytes) => {
                self.bytes += bytes;
                self.unauthenticated += 1;
                &mut self.sealed
            }
            Imported::NotAuthentic => &mut self.not_authentic,
            Imported::Present => &mut self.present,
            Imported::Changed => &mut self.changed,
            Imported::Gone => &mut self.gone,
            Imported::Skipped(_) => &mut self.skipped,
            Imported::Failed(_) | Imported::UnknownKey(_) => &mut self.failed,
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

/// Opens all objects of another system, and seals them in the bucket of `options`, of which
/// `resume` is not used. `on` gets the key and the result of each object. Must be called in a tokio
/// runtime.
///
/// # Errors
/// The fault if the source cannot be listed to its end, or the server ignores conditions and
/// `unconditional` is not set.
pub async fn import_foreign(
    proxy: &Arc<Proxy>,
    options: &Import,
    source: &Arc<ForeignSource>,
    mut on: impl FnMut(&str, &Imported),
) -> Result<ImportReport, Fault> {
    let (mut report, is_conditional) = prepared(proxy, options).await?;
    let options = Arc::new(options.clone());
    let work = |proxy: Arc<Proxy>, object: ListedObject| {
        let (options, source) = (Arc::clone(&options), Arc::clone(source));
        async move {
            let job =
                ForeignJob { proxy: &proxy, source: &source, options: &options, is_conditional };
            job.outcome(&object).await
        }
    };
    // The other system's objects lie under its names, also where names are encrypted.
    let is_named = proxy.names(&source.bucket).is_some();
    let within = (source.bucket.as_str(), if is_named { "" } else { source.prefix.as_str() });
    objects::each(proxy, within, options.jobs, work, |key, outcome| {
        if let Some((name, outcome)) = outcome {
            report.count(&outcome);
            on(name.as_deref().unwrap_or(key), &outcome);
        }
    })
    .await?;
    Ok(report)
}

/// Looks at the bucket of an import. Returns the report so far, and true if writes are conditional.
async fn prepared(proxy: &Proxy, options: &Import) -> Result<(ImportReport, bool), Fault> {
    let bucket = options.bucket.as_str();
    let (has_versions, _) = versioning(proxy, bucket).await?;
    let report = ImportReport { has_versions, ..ImportReport::default() };
    let is_conditional =
        options.dry_run || heeds_conditions(proxy, bucket, TriedWrite::Put).await?;
    if !is_conditional && !options.unconditional {
        return Err(Fault::new(WRITES_UNCONDITIONAL));
    }
    Ok((report, is_conditional))
}

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
    let (mut report, is_conditional) = prepared(proxy, options).await?;
    let dry_run = options.dry_run;
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
        let mut headers = beside(proxy, from, head, |_| true).await?;
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
        if is_renamed { delete_old(proxy, from, head).await } else { Ok(()) }
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
        let Some(sealed_digest) = digest_of_sealed(proxy, &to, &there, len).await? else {
            return Ok(Imported::Skipped(Skip::NameTaken));
        };
        let mut pinned = HeaderMap::new();
        pin(&mut pinned, head)?;
        let response = ask(proxy, &Method::GET, &from.target(), pinned).await?;
        let old = ContentSource::Backend(Box::new(response.into_body()));
        if sealed_digest != digest_of(old).await? {
            return Ok(Imported::Skipped(Skip::NameTaken));
        }
        delete_old(proxy, from, head).await?;
        Ok(Imported::Sealed(len))
    }
}

/// Returns the headers with which an object is written anew: tags, headers beside it, and those
/// user metadata that `keeps` by their name behind `x-amz-meta-`.
async fn beside(
    proxy: &Proxy,
    from: &ObjectRef<'_>,
    head: &HeaderMap,
    keeps: impl Fn(&str) -> bool,
) -> Result<HeaderMap, Fault> {
    let mut headers = HeaderMap::new();
    for (name, value) in &headers::returned(head) {
        let is_kept = name.as_str().strip_prefix(USER_METADATA).map(&keeps);
        if is_kept.unwrap_or_else(|| is_beside(name)) {
            headers.append(name.clone(), value.clone());
        }
    }
    if let Some(tags) = tags_of(proxy, from).await? {
        headers::insert(&mut headers, "x-amz-tagging", &tags)?;
    }
    Ok(headers)
}

/// Returns the digest of all of a content.
async fn digest_of(mut content: ContentSource) -> Result<[u8; sha256::LEN], Fault> {
    let mut digest = Sha256::new();
    while let Some(piece) = poll_fn(|cx| content.poll_piece(cx)).await {
        digest.update(&piece?);
    }
    Ok(digest.finish())
}

/// Returns the digest of the content of a sealed object. `None` if the object is not sealed, or its
/// content is not `len` bytes long.
async fn digest_of_sealed(
    proxy: &Proxy,
    to: &ObjectRef<'_>,
    there: &Response<ResponseBody>,
    len: u64,
) -> Result<Option<[u8; sha256::LEN]>, Fault> {
    let object = match proxy.examine(to, there.headers(), object_len(there)?).await {
        Ok(Inspected::Sealed(object)) => object,
        Ok(Inspected::Plain) => return Ok(None),
        Err(error) if error == S3Error::plaintext() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if object.content_len != len {
        return Ok(None);
    }
    let record = match object.is_multipart() {
        true => Some(proxy.record(to, &object).await?),
        false => None,
    };
    let opened = open_range(proxy, to, None, &object, record.as_ref(), 0..len).await?;
    Ok(Some(digest_of(ContentSource::Opened(Box::new(opened))).await?))
}

/// Deletes an object that was sealed under another name, if it is still the one that was sealed.
async fn delete_old(proxy: &Proxy, from: &ObjectRef<'_>, head: &HeaderMap) -> Result<(), Fault> {
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
