//! `CopyObject`: the backend copies the sealed bytes, and the proxy wraps the content key for the
//! new place. The content does not pass through the proxy.

use endseal_s3_format::{self as object, entity_tag};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::Digests;
use endseal_s3_protocol::xml::{self, ChecksumChange, ResultChange};
use endseal_s3_protocol::{Query, Target};
use http::header::{CONTENT_LENGTH, ETAG, RANGE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri};

use super::get_object::open_range;
use super::put_object::set_metadata;
use super::{conditions, copied_tags, put_object};
use crate::bucket::Plaintext;
use crate::context::{Proxy, RequestContext};
use crate::forward::{expect_etag, late_error, read, with_document};
use crate::headers::{self, USER_METADATA};
use crate::names::parse_target;
use crate::sealed_object::{
    Inspected, ObjectRef, SealedObject, changed, changed_if_pinned, object_len, pin,
};
use crate::transfer::{Content, ContentSource, Outgoing};

/// Maximum size in bytes of an answer with one entity tag and a date.
const MAX_ANSWER: usize = 64 * 1024;

/// Headers of an object that a copy takes over.
const BESIDE: [&str; 8] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-type",
    "expires",
    "x-amz-website-redirect-location",
    "x-amz-storage-class",
];

/// Source of a copy.
pub(super) struct Source {
    pub(super) target: Target,
}

impl Source {
    /// Parses `x-amz-copy-source`.
    ///
    /// # Errors
    /// If it names no object, an object of the proxy, or one that the client may not read.
    pub(super) fn of(call: &RequestContext) -> Result<Self, S3Error> {
        let value = headers::text(&call.headers, "x-amz-copy-source");
        let value = value.ok_or_else(S3Error::internal)?;
        let (path, query) = headers::copied_path(value);
        let uri = path.parse::<Uri>().map_err(|_| no_source())?;
        let target = parse_target(&uri, None, &[])?;
        let (Some(bucket), Some(key)) = (target.bucket(), target.key()) else {
            return Err(no_source());
        };
        if !call.client.may_use(Some(bucket)) {
            return Err(S3Error::access_denied());
        }
        let version = query.split('&').find_map(|parameter| parameter.strip_prefix("versionId="));
        let query = match version {
            Some(version) => Query::new().with("versionId", version),
            None => Query::new(),
        };
        Ok(Self { target: Target::of(bucket, Some(key), query) })
    }
}

fn no_source() -> S3Error {
    S3Error::invalid_argument(
        "Copy Source must mention the source bucket and key: sourcebucket/sourcekey",
    )
}

/// Copies an object, and seals it if the source is plaintext and the target must be sealed.
pub(super) async fn copy_object(
    proxy: &Proxy,
    call: &RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let source = Source::of(call)?;
    let from = ObjectRef::of(&call.signer, &source.target)?;
    let to = ObjectRef::of(&call.signer, &call.target)?;
    let replaces = directive(&call.headers)?;
    let has_changes = replaces
        || from.version.is_some()
        || [
            "x-amz-storage-class",
            "x-amz-website-redirect-location",
            "x-amz-server-side-encryption",
        ]
        .iter()
        .any(|name| call.headers.contains_key(*name));
    if (from.bucket, from.key) == (to.bucket, to.key) && !has_changes {
        return Err(S3Error::illegal_copy());
    }
    // Conditions are checked here, because the copy has a condition of its own, and servers ignore
    // other conditions next to it.
    let head = match proxy.head(&from, conditions::of_source(&call.headers)).await {
        Ok(head) => head,
        Err(error) => return Err(not_there(proxy, &from, error).await),
    };
    let sealed_len = object_len(&head)?;
    let found = proxy.examine(&from, head.headers(), sealed_len).await?;
    match found {
        Inspected::Sealed(object) => {
            let headers = sealed_headers(proxy, call, &to, &head, &object, replaces).await?;
            if object.content_len == 0 && (object.sealed_len == 0) != to.key.ends_with('/') {
                // The content is the same, but only one of the two is stored with a body.
                return seal_empty(proxy, call, &from, &to, &head, (&object, replaces)).await;
            }
            match copy_sealed(proxy, call, &source, headers, &object).await {
                Err(error) if error.status() == StatusCode::PRECONDITION_FAILED => {
                    Err(cause_of_refusal(proxy, &from, &object, error).await)
                }
                copied => copied,
            }
        }
        Inspected::Plain if proxy.rule(to.bucket).plaintext == Plaintext::Allow => {
            headers::check_user_metadata(&call.headers)?;
            let mut headers = headers::forwarded(&call.headers);
            conditions::to_backend(&mut headers);
            name_source(proxy, &source, &mut headers)?;
            pin_source(&mut headers, head.headers())?;
            let response = proxy.ask(&call.signer, &Method::PUT, &call.target, headers).await;
            let response = response.map_err(|error| match conditions::are_any(&call.headers) {
                true => error,
                false => changed_if_pinned(error),
            })?;
            rewrite_answer(response, ResultChange::default()).await
        }
        Inspected::Plain => seal_copy(proxy, call, &from, &to, &head, replaces).await,
    }
}

/// Makes a copy conditional on the source that was examined: it must not be sealed meanwhile.
///
/// # Errors
/// `BadGateway` if the tag of the response is no header.
pub(super) fn pin_source(headers: &mut HeaderMap, seen: &HeaderMap) -> Result<(), S3Error> {
    match headers::text(seen, ETAG) {
        Some(tag) => headers::insert(headers, "x-amz-copy-source-if-match", tag),
        None => Ok(()),
    }
}

/// Sets the header that names the source to the backend.
///
/// # Errors
/// `KeyTooLongError` if the encrypted key is too long.
pub(super) fn name_source(
    proxy: &Proxy,
    source: &Source,
    headers: &mut HeaderMap,
) -> Result<(), S3Error> {
    headers::insert(headers, "x-amz-copy-source", &proxy.copy_source(&source.target)?)
}

/// Returns true if the metadata are replaced by those of the request.
fn directive(headers: &HeaderMap) -> Result<bool, S3Error> {
    match headers::text(headers, "x-amz-metadata-directive") {
        None => Ok(false),
        Some(word) if word.eq_ignore_ascii_case("COPY") => Ok(false),
        Some(word) if word.eq_ignore_ascii_case("REPLACE") => Ok(true),
        Some(word) => Err(S3Error::invalid_argument("Unknown metadata directive.")
            .about_argument("x-amz-metadata-directive", word)),
    }
}

/// Returns the error for a source whose `HEAD` request failed. Responses to `HEAD` give no reason,
/// so the reason is requested with `GET`.
pub(super) async fn not_there(proxy: &Proxy, from: &ObjectRef<'_>, error: S3Error) -> S3Error {
    match error.status() {
        StatusCode::NOT_MODIFIED | StatusCode::PRECONDITION_FAILED => {
            return S3Error::precondition_failed();
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            return S3Error::invalid_request(
                "The source of a copy request may not specifically refer to a delete marker by version id.",
            );
        }
        status if status.is_client_error() => {}
        _ => return error,
    }
    let mut headers = HeaderMap::new();
    headers.insert(RANGE, HeaderValue::from_static("bytes=0-0"));
    let reason = proxy.ask(from.signer, &Method::GET, &from.target(), headers).await;
    reason.err().unwrap_or_else(|| match error.status() {
        StatusCode::NOT_FOUND if from.version.is_none() => changed(),
        // versitygw sends version `null` to those who ask for its content, and to no others.
        _ => error,
    })
}

/// Returns the headers of the copy: those of the source or of the request, and the object's header
/// with its key wrapped for the new place.
async fn sealed_headers(
    proxy: &Proxy,
    call: &RequestContext,
    to: &ObjectRef<'_>,
    head: &Response<crate::upstream::ResponseBody>,
    object: &SealedObject,
    replaces: bool,
) -> Result<HeaderMap, S3Error> {
    let header = proxy.header_for(&object.header, &object.key, to.place()?).await?;
    let mut headers = beside(call, head, object, replaces)?;
    set_metadata(&mut headers, &header, &object.key)?;
    headers::insert(&mut headers, "x-amz-metadata-directive", "REPLACE")?;
    Ok(headers)
}

/// Returns the headers that the copy takes over from the source or from the request.
fn beside(
    call: &RequestContext,
    head: &Response<crate::upstream::ResponseBody>,
    object: &SealedObject,
    replaces: bool,
) -> Result<HeaderMap, S3Error> {
    let mut headers = headers::about_sealed(&call.headers);
    if !replaces {
        copy_beside(head.headers(), &mut headers);
        let own = format!("{USER_METADATA}{}", object::HEADER_METADATA);
        headers.remove(&own);
        headers.remove(headers::SEALED_METADATA);
        // They are sealed again if the rule of the bucket requires it.
        object.restore_metadata(head.headers(), &mut headers)?;
    }
    Ok(headers)
}

/// Replaces the user metadata of the request by the headers and metadata of the source.
fn copy_beside(source: &HeaderMap, headers: &mut HeaderMap) {
    headers::remove(headers, |name| name.as_str().starts_with(USER_METADATA));
    for (name, value) in &headers::returned(source) {
        let beside = BESIDE.contains(&name.as_str()) && name.as_str() != "x-amz-storage-class";
        if beside || name.as_str().starts_with(USER_METADATA) {
            headers.insert(name.clone(), value.clone());
        }
    }
}

/// Finds out why the backend refused a copy: the source was replaced since it was examined, or a
/// condition of the client does not hold.
async fn cause_of_refusal(
    proxy: &Proxy,
    from: &ObjectRef<'_>,
    object: &SealedObject,
    error: S3Error,
) -> S3Error {
    match proxy.head(from, HeaderMap::new()).await {
        Ok(head) if headers::text(head.headers(), ETAG) == object.entity_tag.as_deref() => error,
        Ok(_) => changed(),
        Err(error) if error.status().is_client_error() => changed(),
        Err(error) => error,
    }
}

async fn copy_sealed(
    proxy: &Proxy,
    call: &RequestContext,
    source: &Source,
    mut headers: HeaderMap,
    object: &SealedObject,
) -> Result<Response<Outgoing>, S3Error> {
    conditions::to_backend(&mut headers);
    headers::remove(&mut headers, |name| name.as_str().starts_with("x-amz-copy-source-if-"));
    name_source(proxy, source, &mut headers)?;
    // The header belongs to the bytes with this tag only.
    if let Some(tag) = &object.entity_tag {
        headers::insert(&mut headers, "x-amz-copy-source-if-match", tag)?;
    }
    let response = proxy.ask(&call.signer, &Method::PUT, &call.target, headers).await?;
    let change = ResultChange { checksum: ChecksumChange::Drop, ..ResultChange::default() };
    let mut answer = rewrite_answer(response, change).await?;
    // The size is that of the sealed object.
    answer.headers_mut().remove(headers::OBJECT_SIZE);
    Ok(answer)
}

/// Rewrites the backend's response about a new object with the tag that clients see, and with other
/// changes.
///
/// # Errors
/// If the backend's document is an error or cannot be parsed.
pub(super) async fn rewrite_answer(
    response: Response<crate::upstream::ResponseBody>,
    change: ResultChange,
) -> Result<Response<Outgoing>, S3Error> {
    let (head, body) = response.into_parts();
    let document = read(body, MAX_ANSWER).await?;
    let fields = xml::Fields::read(&document).map_err(|error| S3Error::unreadable(&error))?;
    if fields.root == "Error" {
        return Err(late_error(fields));
    }
    expect_etag(&fields)?;
    let etag = fields.etag.as_deref().map(entity_tag::to_client);
    let document = xml::rewrite_result(&document, &ResultChange { etag, ..change });
    Ok(with_document(head, document.map_err(|error| S3Error::unreadable(&error))?))
}

/// Copies plaintext into a bucket where it is sealed. The content passes through the proxy.
async fn seal_copy(
    proxy: &Proxy,
    call: &RequestContext,
    from: &ObjectRef<'_>,
    to: &ObjectRef<'_>,
    head: &Response<crate::upstream::ResponseBody>,
    replaces: bool,
) -> Result<Response<Outgoing>, S3Error> {
    let mut headers = headers::about_sealed(&call.headers);
    if !replaces {
        copy_beside(head.headers(), &mut headers);
    }
    copied_tags::set(proxy, call, from, &mut headers).await?;
    // The conditions were checked with the metadata, which must be those of this content.
    let mut conditional = HeaderMap::new();
    pin(&mut conditional, head.headers())?;
    let response = proxy.ask(from.signer, &Method::GET, &from.target(), conditional).await;
    let response = response.map_err(changed_if_pinned)?;
    let len = object_len(&response)?;
    let content =
        Content::plain(ContentSource::Backend(Box::new(response.into_body())), len, Digests::new());
    seal_as_copy(proxy, to, headers, content).await
}

/// Copies an empty object between a key that ends in `/` and one that does not. The former is
/// stored without a body.
async fn seal_empty(
    proxy: &Proxy,
    call: &RequestContext,
    from: &ObjectRef<'_>,
    to: &ObjectRef<'_>,
    head: &Response<crate::upstream::ResponseBody>,
    (object, replaces): (&SealedObject, bool),
) -> Result<Response<Outgoing>, S3Error> {
    let record = match object.is_multipart() {
        true => Some(proxy.record(from, object).await?),
        false => None,
    };
    let opened = open_range(proxy, from, None, object, record.as_ref(), 0..0).await?;
    let mut headers = beside(call, head, object, replaces)?;
    copied_tags::set(proxy, call, from, &mut headers).await?;
    seal_as_copy(
        proxy,
        to,
        headers,
        Content::plain(ContentSource::Opened(Box::new(opened)), 0, Digests::new()),
    )
    .await
}

/// Seals content and responds like to a copy.
async fn seal_as_copy(
    proxy: &Proxy,
    to: &ObjectRef<'_>,
    mut headers: HeaderMap,
    content: Content,
) -> Result<Response<Outgoing>, S3Error> {
    headers::remove(&mut headers, |name| {
        name.as_str().starts_with("x-amz-copy-source")
            || name.as_str() == "x-amz-metadata-directive"
    });
    conditions::to_backend(&mut headers);
    let answer = put_object::seal(proxy, to, headers, content).await?;
    let (mut head, _) = answer.into_parts();
    let tag = head.headers.remove("etag");
    let tag = tag.as_ref().and_then(|tag| tag.to_str().ok()).unwrap_or_default();
    let mut document = xml::Builder::new("CopyObjectResult");
    document.leaf("ETag", tag);
    document.leaf(
        "LastModified",
        &endseal_s3_protocol::sigv4::Timestamp::of(std::time::SystemTime::now()).to_iso(),
    );
    head.headers.remove(CONTENT_LENGTH);
    Ok(Response::from_parts(head, Outgoing::full(document.finish())))
}
