//! Copies of an object onto itself with another header. The content does not pass through the
//! proxy.
//!
//! Both ways of copying require that the source and the destination still have the entity tag that
//! was examined. An object that was written meanwhile is not replaced.

use endseal_crypto::random::OsRandom;
use endseal_s3_format::user_metadata::{self, CONTENT_HEADERS, UserMetadata};
use endseal_s3_format::{self as object, ContentKey, Header};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3_protocol::xml::{CompletedPart, Fields, read_tags, write_complete};
use endseal_s3_protocol::{Query, Target};
use http::header::{ETAG, IF_MATCH};
use http::{HeaderMap, HeaderName, Method, Response, StatusCode};

use super::ask::{ask, document};
use super::fault::Fault;
use crate::context::Proxy;
use crate::forward::{late_error, read};
use crate::headers::{self, USER_METADATA};
use crate::sealed_object::ObjectRef;
use crate::upstream::{Body, ResponseBody};

/// Maximum size in bytes of an answer with one entity tag.
const MAX_ANSWER: usize = 64 * 1024;

/// Maximum number of parts of an upload in S3.
const MAX_PARTS: u64 = 10_000;

/// Headers of an object that a copy with replaced metadata loses unless the request repeats them.
/// Tags are copied by the server.
const BESIDE: [&str; 14] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
    "x-amz-object-lock-legal-hold",
    "x-amz-object-lock-mode",
    "x-amz-object-lock-retain-until-date",
    "x-amz-server-side-encryption",
    "x-amz-server-side-encryption-aws-kms-key-id",
    "x-amz-server-side-encryption-bucket-key-enabled",
    "x-amz-storage-class",
    "x-amz-website-redirect-location",
];

/// Object that was examined and is to be copied onto itself.
pub(super) struct Examined<'a> {
    pub(super) proxy: &'a Proxy,
    pub(super) bucket: &'a str,
    pub(super) key: &'a str,
    /// True if `key` is the backend's key, not a client's name.
    pub(super) is_stored: bool,
    /// Entity tag of the object at the backend.
    pub(super) entity_tag: &'a str,
    pub(super) sealed_len: u64,
    /// True if the backend supports the condition that keeps a copy from replacing another object.
    pub(super) is_conditional: bool,
}

/// Result of a copy that was attempted.
pub(super) enum Copied {
    /// The copy succeeded; the value is its entity tag at the backend.
    Done(String),
    /// The object was replaced since it was examined.
    Changed,
    Gone,
}

/// Reason why no copy was attempted or completed.
pub(super) enum NoCopy {
    /// The tags cannot be read, so the copy would lose them.
    Tags,
    Fault(Fault),
}

impl From<Fault> for NoCopy {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<S3Error> for NoCopy {
    fn from(error: S3Error) -> Self {
        Self::Fault(error.into())
    }
}

/// Returns the headers of the object that a copy must repeat, with the new header of the format.
///
/// # Errors
/// `MetadataTooLarge` if the new header is longer and the metadata leave no room for it.
pub(super) fn beside(head: &HeaderMap, header: &Header) -> Result<HeaderMap, S3Error> {
    let own = format!("{USER_METADATA}{}", object::HEADER_METADATA);
    let mut out = HeaderMap::new();
    let mut user = 0;
    for (name, value) in &headers::returned(head) {
        let entry = name.as_str().strip_prefix(USER_METADATA);
        if name.as_str() == own || !(entry.is_some() || BESIDE.contains(&name.as_str())) {
            continue;
        }
        user += entry.map_or(0, |entry| entry.len() + value.len());
        out.append(name.clone(), value.clone());
    }
    headers::set_header(&mut out, header.encode(), user)?;
    Ok(out)
}

/// Returns the headers of an object whose metadata are lost, with an empty set of sealed ones.
///
/// # Errors
/// If the source of randomness fails.
pub(super) fn without_metadata(
    head: &HeaderMap,
    header: &Header,
    key: &ContentKey,
) -> Result<HeaderMap, S3Error> {
    let mut out = HeaderMap::new();
    for (name, value) in &headers::returned(head) {
        if is_beside(name) && !CONTENT_HEADERS.contains(&name.as_str()) {
            out.append(name.clone(), value.clone());
        }
    }
    let empty = UserMetadata::new();
    let sealed = user_metadata::seal(header, key, &empty, &mut OsRandom);
    let sealed = sealed.map_err(|_| S3Error::internal())?;
    headers::insert(&mut out, headers::SEALED_METADATA, &sealed)?;
    headers::set_header(&mut out, header.encode(), object::USER_METADATA.len() + sealed.len())?;
    Ok(out)
}

/// Returns true if a header of an object must be repeated when the object is written anew.
pub(super) fn is_beside(name: &HeaderName) -> bool {
    BESIDE.contains(&name.as_str())
}

/// Returns the tags of an object in the form of the `x-amz-tagging` header.
///
/// # Errors
/// The backend's fault.
pub(super) async fn tags_of(
    proxy: &Proxy,
    object_ref: &ObjectRef<'_>,
) -> Result<Option<String>, Fault> {
    let (bucket, key) = (object_ref.bucket, object_ref.key);
    let query = Query::new().with("tagging", "");
    let target = match object_ref.is_stored {
        true => Target::of_stored(bucket, key, query),
        false => Target::of(bucket, Some(key), query),
    };
    tags_at(proxy, &target).await
}

async fn tags_at(proxy: &Proxy, target: &Target) -> Result<Option<String>, Fault> {
    match document(proxy, target).await {
        Ok((_, xml)) => {
            let tags = read_tags(&xml)?;
            let query = tags.iter().fold(Query::new(), |query, (k, v)| query.with(k, v));
            Ok(Some(query.encode()).filter(|text| !text.is_empty()))
        }
        // The object has no tags, or the server does not support tags.
        Err(fault) if matches!(fault.status().as_u16(), 404 | 405 | 501) => Ok(None),
        Err(fault) => Err(fault),
    }
}

impl Examined<'_> {
    fn target(&self, query: Query) -> Target {
        match self.is_stored {
            true => Target::of_stored(self.bucket, self.key, query),
            false => Target::of(self.bucket, Some(self.key), query),
        }
    }

    fn name_source(&self, headers: &mut HeaderMap) -> Result<(), S3Error> {
        let source = self.proxy.copy_source(&self.target(Query::new()))?;
        headers::insert(headers, "x-amz-copy-source", &source)?;
        headers::insert(headers, "x-amz-copy-source-if-match", self.entity_tag)
    }

    fn name_destination(&self, headers: &mut HeaderMap) -> Result<(), S3Error> {
        if !self.is_conditional {
            return Ok(());
        }
        headers::insert(headers, IF_MATCH.as_str(), self.entity_tag)
    }

    /// Copies the object in one request.
    pub(super) async fn at_once(&self, mut headers: HeaderMap) -> Result<Copied, NoCopy> {
        self.name_source(&mut headers)?;
        self.name_destination(&mut headers)?;
        headers::insert(&mut headers, "x-amz-metadata-directive", "REPLACE")?;
        let target = self.target(Query::new());
        let response = ask(self.proxy, &Method::PUT, &target, headers).await;
        self.judge(response).await
    }

    /// Copies the object in parts, for objects that exceed the size limit of a single copy.
    pub(super) async fn in_parts(
        &self,
        part_len: u64,
        mut headers: HeaderMap,
    ) -> Result<Copied, NoCopy> {
        if let Some(tags) = self.tags().await? {
            headers::insert(&mut headers, "x-amz-tagging", &tags)?;
        }
        let target = self.target(Query::new().with("uploads", ""));
        let response = ask(self.proxy, &Method::POST, &target, headers).await?;
        let answer = read(response.into_body(), MAX_ANSWER).await?;
        let id = Fields::read(&answer).map_err(Fault::from)?.upload_id;
        let id = id.ok_or_else(|| Fault::new("the server began an upload without an id"))?;
        let outcome = self.fill_and_complete(&id, part_len).await;
        if !matches!(outcome, Ok(Copied::Done(_))) {
            let target = self.target(Query::new().with("uploadId", &id));
            // If this fails, an unfinished upload remains, which `clean` removes.
            let _ = ask(self.proxy, &Method::DELETE, &target, HeaderMap::new()).await;
        }
        outcome
    }

    async fn fill_and_complete(&self, id: &str, part_len: u64) -> Result<Copied, NoCopy> {
        let part_len = part_len.max(self.sealed_len.div_ceil(MAX_PARTS)).max(1);
        let mut parts = Vec::new();
        let mut start = 0;
        for number in 1_u16.. {
            let end = start + part_len.min(self.sealed_len - start);
            let mut headers = HeaderMap::new();
            self.name_source(&mut headers)?;
            let range = format!("bytes={start}-{}", end - 1);
            headers::insert(&mut headers, "x-amz-copy-source-range", &range)?;
            let query = Query::new().with("partNumber", &number.to_string());
            let target = self.target(query.with("uploadId", id));
            let response = ask(self.proxy, &Method::PUT, &target, headers).await;
            match self.judge(response).await? {
                Copied::Done(etag) => parts.push(CompletedPart { number, etag, checksum: None }),
                other => return Ok(other),
            }
            start = end;
            if start == self.sealed_len {
                break;
            }
        }
        let request = write_complete(&parts);
        let hash = PayloadHash::Sha256(endseal_crypto::sha256::digest(&request));
        let mut headers = HeaderMap::new();
        self.name_destination(&mut headers)?;
        let target = self.target(Query::new().with("uploadId", id));
        let (signer, body) = (self.proxy.own_signer(), Body::full(request.into()));
        let response = self.proxy.send(signer, &Method::POST, &target, headers, body, hash).await;
        self.judge(response.map_err(Fault::from)).await
    }

    async fn tags(&self) -> Result<Option<String>, NoCopy> {
        let target = self.target(Query::new().with("tagging", ""));
        match tags_at(self.proxy, &target).await {
            Err(fault) if fault.status() == StatusCode::FORBIDDEN => Err(NoCopy::Tags),
            tags => Ok(tags?),
        }
    }

    /// Evaluates the response to a copy. S3 can report an error in the document after it has sent
    /// status 200.
    async fn judge(
        &self,
        response: Result<Response<ResponseBody>, Fault>,
    ) -> Result<Copied, NoCopy> {
        let response = match response {
            Ok(response) => response,
            Err(fault) => return failed(fault),
        };
        let header = headers::text(response.headers(), ETAG).map(str::to_owned);
        let answer = read(response.into_body(), MAX_ANSWER).await?;
        let fields = Fields::read(&answer).map_err(Fault::from)?;
        if fields.root == "Error" {
            return failed(late_error(fields).into());
        }
        let etag = fields.etag.or(header);
        let etag = etag.ok_or_else(|| Fault::new("the server's answer has no entity tag"))?;
        Ok(Copied::Done(etag.trim().to_owned()))
    }
}

/// Translates the fault of a copy into its result.
fn failed(fault: Fault) -> Result<Copied, NoCopy> {
    match fault.status() {
        // S3 returns the second one for concurrent writes.
        StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT => Ok(Copied::Changed),
        StatusCode::NOT_FOUND => Ok(Copied::Gone),
        _ => Err(fault.into()),
    }
}
