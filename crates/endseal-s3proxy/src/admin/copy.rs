//! An object copied onto itself with another header: the backend moves the bytes, if it moves any.
//!
//! Both ways name the entity tag that was examined, of the source and of what is replaced: an
//! object that was written meanwhile stays as it was written.

use endseal_s3_format::{self as object, Header};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3_protocol::xml::{CompletedPart, Fields, read_tags, write_complete};
use endseal_s3_protocol::{Query, Target};
use http::header::{ETAG, IF_MATCH};
use http::{HeaderMap, Method, Response, StatusCode};

use super::ask::{ask, document};
use super::fault::Fault;
use crate::context::Proxy;
use crate::forward::{late_error, read};
use crate::headers::{self, USER_METADATA};
use crate::upstream::{Body, ResponseBody};

/// An answer with one entity tag.
const MAX_ANSWER: usize = 64 * 1024;

/// S3's limit.
const MAX_PARTS: u64 = 10_000;

/// Headers beside an object that a copy which replaces metadata loses unless they are named again.
/// Tags go along by themselves.
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

/// An object as it was examined.
pub(super) struct Examined<'a> {
    pub(super) proxy: &'a Proxy,
    pub(super) bucket: &'a str,
    pub(super) key: &'a str,
    /// True if the backend has the key as it is here.
    pub(super) is_stored: bool,
    /// The backend's entity tag.
    pub(super) entity_tag: &'a str,
    pub(super) sealed_len: u64,
    /// True if the backend supports the condition that keeps a copy from overwriting.
    pub(super) is_conditional: bool,
}

/// Result of a copy.
pub(super) enum Copied {
    /// The backend's entity tag of the copy.
    Done(String),
    /// The object is another one now.
    Changed,
    Gone,
}

/// Why there was none.
pub(super) enum NoCopy {
    /// The tags cannot be read, and would be lost.
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

/// Returns the headers beside the object, and the new header.
///
/// # Errors
/// `MetadataTooLarge` if a longer header has no room.
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

    /// Copies in one request.
    pub(super) async fn at_once(&self, mut headers: HeaderMap) -> Result<Copied, NoCopy> {
        self.name_source(&mut headers)?;
        self.name_destination(&mut headers)?;
        headers::insert(&mut headers, "x-amz-metadata-directive", "REPLACE")?;
        let target = self.target(Query::new());
        let response = ask(self.proxy, &Method::PUT, &target, headers).await;
        self.judge(response, "CopyObjectResult").await
    }

    /// Copies piece by piece into an upload, for objects beyond what one copy takes.
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
            // What stays is an unfinished upload, which `clean` removes.
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
            match self.judge(response, "CopyPartResult").await? {
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
        self.judge(response.map_err(Fault::from), "CompleteMultipartUploadResult").await
    }

    /// The object's tags as a header has them.
    async fn tags(&self) -> Result<Option<String>, NoCopy> {
        match document(self.proxy, &self.target(Query::new().with("tagging", ""))).await {
            Ok((_, xml)) => {
                let tags = read_tags(&xml).map_err(Fault::from)?;
                let query = tags.iter().fold(Query::new(), |query, (k, v)| query.with(k, v));
                Ok(Some(query.encode()).filter(|text| !text.is_empty()))
            }
            // Without tags, or without any.
            Err(fault) if matches!(fault.status().as_u16(), 404 | 405 | 501) => Ok(None),
            Err(fault) if fault.status() == StatusCode::FORBIDDEN => Err(NoCopy::Tags),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Judges an answer. S3 may find out that it cannot copy after it has begun to answer: then the
    /// document says so, and not the status.
    async fn judge(
        &self,
        response: Result<Response<ResponseBody>, Fault>,
        root: &str,
    ) -> Result<Copied, NoCopy> {
        let response = match response {
            Ok(response) => response,
            Err(fault) => return failed(fault),
        };
        let header = headers::text(response.headers(), ETAG).map(str::to_owned);
        let answer = read(response.into_body(), MAX_ANSWER).await?;
        let fields = Fields::read(&answer).map_err(Fault::from)?;
        if fields.root != root {
            return failed(late_error(fields).into());
        }
        let etag = fields.etag.or(header);
        let etag = etag.ok_or_else(|| Fault::new("the server's answer has no entity tag"))?;
        Ok(Copied::Done(etag.trim().to_owned()))
    }
}

/// The outcome of a copy that failed.
fn failed(fault: Fault) -> Result<Copied, NoCopy> {
    match fault.status() {
        // The second is S3's for two who write at once.
        StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT => Ok(Copied::Changed),
        StatusCode::NOT_FOUND => Ok(Copied::Gone),
        _ => Err(fault.into()),
    }
}
