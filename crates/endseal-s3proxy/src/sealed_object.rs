//! Examination of an object of the backend: its form, content key, length and record.

use core::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use endseal_s3_format::user_metadata::{self, CONTENT_HEADERS, UserMetadata};
use endseal_s3_format::{
    ContentKey, Form, Header, Place, Record, WholeOpener, entity_tag, marker, size,
};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3_protocol::{Query, Target};
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_MATCH, RANGE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

use crate::bucket::Plaintext;
use crate::context::Proxy;
use crate::credentials::BackendSigner;
use crate::forward::{self, Connections};
use crate::headers::{self, USER_METADATA};
use crate::upstream::{Body, ResponseBody};

/// Reference to an object in a request to the backend.
pub(crate) struct ObjectRef<'a> {
    pub(crate) signer: &'a BackendSigner,
    pub(crate) bucket: &'a str,
    pub(crate) key: &'a str,
    pub(crate) version: Option<&'a str>,
    /// True if `key` is the backend's key, even though names of this bucket are encrypted.
    pub(crate) is_stored: bool,
}

impl<'a> ObjectRef<'a> {
    /// Returns the object that a request names.
    ///
    /// # Errors
    /// If the target has no key.
    pub(crate) fn of(signer: &'a BackendSigner, target: &'a Target) -> Result<Self, S3Error> {
        let (Some(bucket), Some(key)) = (target.bucket(), target.key()) else {
            return Err(S3Error::internal());
        };
        let version = target.query().get("versionId");
        Ok(Self { signer, bucket, key, version, is_stored: target.is_stored() })
    }

    /// Returns the place that the content key is bound to.
    ///
    /// # Errors
    /// If the names are too long for a place.
    pub(crate) fn place(&self) -> Result<Place<'a>, S3Error> {
        Place::new(self.bucket, self.key).ok_or_else(S3Error::invalid_uri)
    }

    /// Returns the target of the object at the backend.
    pub(crate) fn target(&self) -> Target {
        let query = match self.version {
            Some(version) => Query::new().with("versionId", version),
            None => Query::new(),
        };
        match self.is_stored {
            true => Target::of_stored(self.bucket, self.key, query),
            false => Target::of(self.bucket, Some(self.key), query),
        }
    }
}

/// Result of examining an object.
pub(crate) enum Inspected {
    /// The object is sealed, and its content key was unwrapped.
    Sealed(Box<SealedObject>),
    /// The object is plaintext, and the rule of the bucket allows to read it.
    Plain,
}

/// Sealed object whose header was authenticated.
pub(crate) struct SealedObject {
    pub(crate) header: Header,
    pub(crate) key: ContentKey,
    /// Length of the content. For a multipart object it is only derived from the length of the
    /// object.
    pub(crate) content_len: u64,
    pub(crate) sealed_len: u64,
    /// Entity tag at the backend.
    pub(crate) entity_tag: Option<String>,
    /// Opener of an object that was not uploaded in parts. It is created when the commitment is
    /// checked, and is taken by the code that reads the whole object.
    pub(crate) opener: Option<Box<WholeOpener>>,
    /// True if the header in the metadata is missing or does not open, and its copy was used.
    pub(crate) is_by_copy: bool,
    /// True if the rule of the bucket seals metadata: what the backend returns beside an object
    /// that was opened by the copy of its header is not shown then.
    seals_metadata: bool,
}

fn is_not_authentic(error: &S3Error) -> bool {
    error.code() == S3Error::not_authentic().code()
}

/// Header, content key, opener of a whole object, and length of the content.
type Found = (Header, ContentKey, Option<Box<WholeOpener>>, u64);

fn sealed(
    found: Found,
    response: &HeaderMap,
    sealed_len: u64,
    (is_by_copy, seals_metadata): (bool, bool),
) -> Inspected {
    let (header, key, opener, content_len) = found;
    let entity_tag = headers::text(response, ETAG).map(str::to_owned);
    Inspected::Sealed(Box::new(SealedObject {
        header,
        key,
        content_len,
        sealed_len,
        entity_tag,
        opener,
        is_by_copy,
        seals_metadata,
    }))
}

impl Proxy {
    /// Examines an object by the headers of the backend's response to `HEAD` or `GET`. If the
    /// header of the object is missing or does not open, its copy at the end of the object is read.
    ///
    /// # Errors
    /// `ObjectNotAuthentic` if the header does not authenticate, `InvalidObjectState` for plaintext
    /// where the rule of the bucket forbids it, and for a sealed object without a header whose copy
    /// does not open.
    pub(crate) async fn examine(
        &self,
        object_ref: &ObjectRef<'_>,
        response: &HeaderMap,
        sealed_len: u64,
    ) -> Result<Inspected, S3Error> {
        let seals = self.rule(object_ref.bucket).seal_metadata;
        let value = response.get(headers::OBJECT_HEADER);
        if let Some(value) = value {
            let header = value.to_str().ok().and_then(|text| Header::parse(text).ok());
            match self.open(object_ref, header, sealed_len).await {
                Ok(found) => return Ok(sealed(found, response, sealed_len, (false, seals))),
                Err(error) if is_not_authentic(&error) => {}
                Err(error) => return Err(error),
            }
        }
        match self.open_by_copy(object_ref, response, sealed_len).await {
            Ok(Some(found)) => Ok(sealed(found, response, sealed_len, (true, seals))),
            Ok(None) if value.is_none() => self.plain(object_ref),
            Err(error) if !is_not_authentic(&error) => Err(error),
            Err(_) if value.is_none() => {
                self.metrics.authentication.fetch_add(1, Relaxed);
                Err(S3Error::header_missing())
            }
            Ok(None) | Err(_) => Err(self.metrics.not_authentic()),
        }
    }

    /// Decides about an object that was never sealed.
    fn plain(&self, object_ref: &ObjectRef<'_>) -> Result<Inspected, S3Error> {
        if self.rule(object_ref.bucket).plaintext == Plaintext::Forbid {
            self.metrics.plaintext.fetch_add(1, Relaxed);
            return Err(S3Error::plaintext());
        }
        Ok(Inspected::Plain)
    }

    async fn open(
        &self,
        object_ref: &ObjectRef<'_>,
        header: Option<Header>,
        sealed_len: u64,
    ) -> Result<Found, S3Error> {
        let header = header.ok_or_else(S3Error::not_authentic)?;
        if sealed_len == 0 {
            let key = self.unwrap_key(&header, object_ref.place()?).await?;
            marker::open(&header, &key, object_ref.key).map_err(|_| S3Error::not_authentic())?;
            return Ok((header, key, None, 0));
        }
        let content_len = size::plaintext_len(sealed_len).ok_or_else(S3Error::not_authentic)?;
        if header.plaintext_len().is_some_and(|announced| announced != content_len) {
            return Err(S3Error::not_authentic());
        }
        let key = self.unwrap_key(&header, object_ref.place()?).await?;
        let opener = match header.form() {
            Form::Whole => WholeOpener::new(&header, &key).map(|opener| Some(Box::new(opener))),
            Form::Multipart => header.verify(&key).map(|()| None),
        };
        let opener = opener.map_err(|_| S3Error::not_authentic())?;
        Ok((header, key, opener, content_len))
    }

    /// Opens an object by the copy of its header. Returns `None` if it has none.
    ///
    /// # Errors
    /// `ObjectNotAuthentic` if the copy does not open here, [`changed`] if the object was replaced
    /// since its headers were seen.
    async fn open_by_copy(
        &self,
        object_ref: &ObjectRef<'_>,
        seen: &HeaderMap,
        sealed_len: u64,
    ) -> Result<Option<Found>, S3Error> {
        if sealed_len < size::HEADER_COPY_LEN as u64 {
            return Ok(None);
        }
        let mut headers = HeaderMap::new();
        let range = format!("bytes=-{}", size::HEADER_COPY_LEN);
        headers::insert(&mut headers, RANGE, &range)?;
        pin(&mut headers, seen)?;
        let target = object_ref.target();
        let response = self.ask_beside(object_ref.signer, &Method::GET, &target, headers).await;
        let response = response.map_err(changed_if_pinned)?;
        if response.status() != StatusCode::PARTIAL_CONTENT {
            return Err(S3Error::bad_gateway("the backend returned a whole object for a range"));
        }
        let end = forward::read(response.into_body(), size::HEADER_COPY_LEN).await?;
        if end.len() != size::HEADER_COPY_LEN {
            return Err(S3Error::bad_gateway("the backend returned another range"));
        }
        if !Header::has_copy(&end) {
            return Ok(None);
        }
        let found = self.open(object_ref, Header::parse_copy(&end).ok(), sealed_len).await?;
        self.metrics.headers_missing.fetch_add(1, Relaxed);
        Ok(Some(found))
    }

    /// Reads and authenticates the record at the end of the object.
    ///
    /// # Errors
    /// `ObjectNotAuthentic` if it does not authenticate, [`changed`] if the object was replaced
    /// since it was examined.
    pub(crate) async fn record(
        &self,
        object_ref: &ObjectRef<'_>,
        object: &SealedObject,
    ) -> Result<Record, S3Error> {
        if object.sealed_len == 0 {
            return marker::open(&object.header, &object.key, object_ref.key)
                .map_err(|_| self.metrics.not_authentic());
        }
        let wanted = size::tail_len_max(object.content_len).min(object.sealed_len);
        let range = object.sealed_len - wanted..object.sealed_len;
        let response = self.range(object_ref, object, &range, Connections::Second).await?;
        let limit = usize::try_from(wanted).map_err(|_| S3Error::internal())?;
        let tail = forward::read(response.into_body(), limit).await?;
        if tail.len() != limit {
            return Err(S3Error::unavailable());
        }
        let record = Record::open_tail(&object.header, &object.key, object.sealed_len, &tail);
        record.map_err(|_| {
            self.metrics.authentication.fetch_add(1, Relaxed);
            S3Error::not_authentic()
        })
    }

    /// Requests bytes of the sealed object, on condition that it is still the one that was
    /// examined.
    ///
    /// # Errors
    /// [`changed`] if the object was replaced, `BadGateway` if the backend returns another range.
    pub(crate) async fn range(
        &self,
        object_ref: &ObjectRef<'_>,
        object: &SealedObject,
        range: &Range<u64>,
        connections: Connections,
    ) -> Result<Response<ResponseBody>, S3Error> {
        let mut headers = HeaderMap::new();
        let last = range.end.saturating_sub(1);
        headers::insert(&mut headers, RANGE, &format!("bytes={}-{last}", range.start))?;
        if let Some(tag) = &object.entity_tag {
            headers::insert(&mut headers, IF_MATCH, tag)?;
        }
        let target = object_ref.target();
        let (request, none) = ((&Method::GET, &target), (Body::empty(), PayloadHash::Unsigned));
        let response = self.send_by(connections, object_ref.signer, request, headers, none).await;
        let response = response.map_err(|error| match error.status() {
            StatusCode::PRECONDITION_FAILED => changed(),
            StatusCode::NOT_FOUND => S3Error::no_such_key(),
            _ => error,
        })?;
        let whole = *range == (0..object.sealed_len);
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {
                let (start, total) = content_range(response.headers()).unwrap_or((0, None));
                if total.is_some_and(|total| total != object.sealed_len) {
                    // A server that does not know the condition.
                    return Err(changed());
                }
                if start != range.start || total.is_none() {
                    return Err(S3Error::bad_gateway("the backend returned another range"));
                }
                Ok(response)
            }
            _ if whole => Ok(response),
            _ => Err(S3Error::bad_gateway("the backend returned a whole object for a range")),
        }
    }

    /// Requests the headers of an object with `HEAD`.
    ///
    /// # Errors
    /// The same errors as [`ask`](Self::ask).
    pub(crate) async fn head(
        &self,
        object_ref: &ObjectRef<'_>,
        headers: HeaderMap,
    ) -> Result<Response<ResponseBody>, S3Error> {
        self.ask(object_ref.signer, &Method::HEAD, &object_ref.target(), headers).await
    }
}

/// Kind of the error for an object that was replaced between two requests to the backend.
pub(crate) const CHANGED: &str = "changed_meanwhile";

/// Returns the error for an object that was replaced between two requests to the backend. The
/// operation begins again, and its client gets it if that does not end.
pub(crate) fn changed() -> S3Error {
    S3Error::unavailable().with_retry_after(1).because(CHANGED, "the object was replaced meanwhile")
}

/// Makes a request conditional on the object that a response is about.
///
/// # Errors
/// `BadGateway` if the tag of the response is no header.
pub(crate) fn pin(headers: &mut HeaderMap, seen: &HeaderMap) -> Result<(), S3Error> {
    match headers::text(seen, ETAG) {
        Some(tag) => headers::insert(headers, IF_MATCH, tag),
        None => Ok(()),
    }
}

/// Returns [`changed`] for the error of a request that [`pin`] has made conditional.
pub(crate) fn changed_if_pinned(error: S3Error) -> S3Error {
    if error.status() == StatusCode::PRECONDITION_FAILED { changed() } else { error }
}

impl SealedObject {
    /// Returns true if the object was uploaded in parts.
    pub(crate) fn is_multipart(&self) -> bool {
        self.header.form() == Form::Multipart
    }

    /// Opens the sealed metadata. `seen` are the headers with which the object was examined.
    ///
    /// # Errors
    /// `ObjectNotAuthentic` if they are missing or do not authenticate. An object that was opened
    /// by the copy of its header may have lost them.
    pub(crate) fn sealed_metadata(
        &self,
        seen: &HeaderMap,
    ) -> Result<Option<UserMetadata>, S3Error> {
        if !self.header.has_sealed_metadata() {
            return Ok(None);
        }
        let text = headers::text(seen, headers::SEALED_METADATA);
        let metadata =
            text.and_then(|text| user_metadata::open(&self.header, &self.key, text).ok());
        match metadata {
            None if !self.is_by_copy => Err(S3Error::not_authentic()),
            metadata => Ok(metadata),
        }
    }

    /// Puts the sealed content headers and user metadata in the place of those that the backend
    /// returned. An object whose metadata were sealed and are lost has none.
    ///
    /// # Errors
    /// The same errors as [`sealed_metadata`](Self::sealed_metadata).
    pub(crate) fn restore_metadata(
        &self,
        seen: &HeaderMap,
        headers: &mut HeaderMap,
    ) -> Result<(), S3Error> {
        let is_hidden = self.is_by_copy && self.seals_metadata;
        if !(self.header.has_sealed_metadata() || is_hidden) {
            return Ok(());
        }
        let metadata = self.sealed_metadata(seen)?.unwrap_or_default();
        headers::remove(headers, |name| {
            let name = name.as_str();
            name.starts_with(USER_METADATA) || CONTENT_HEADERS.contains(&name)
        });
        let user = metadata.iter().map(|(name, value)| (format!("{USER_METADATA}{name}"), value));
        let content = metadata.headers().map(|(name, value)| (name.to_owned(), value));
        for (name, value) in user.chain(content) {
            if let (Ok(name), Ok(value)) =
                (name.parse::<HeaderName>(), HeaderValue::from_bytes(value))
            {
                headers.insert(name, value);
            }
        }
        // S3 has this type for an object without one.
        let default = HeaderValue::from_static("binary/octet-stream");
        headers.entry(CONTENT_TYPE).or_insert(default);
        Ok(())
    }

    /// Returns the entity tag that clients see, if the object has one.
    pub(crate) fn client_tag(&self) -> Option<String> {
        self.entity_tag.as_deref().map(entity_tag::to_client)
    }
}

/// Returns the length of the whole object from a response, which may contain a range only.
///
/// # Errors
/// `BadGateway` if the response does not state it.
pub(crate) fn object_len<B>(response: &Response<B>) -> Result<u64, S3Error> {
    let len = match response.status() {
        StatusCode::PARTIAL_CONTENT => content_range(response.headers()).and_then(|range| range.1),
        _ => headers::text(response.headers(), CONTENT_LENGTH).and_then(|len| len.parse().ok()),
    };
    len.ok_or_else(|| S3Error::bad_gateway("the backend did not state the length of an object"))
}

/// Parses `Content-Range: bytes first-last/length`. Returns the first byte and the length of the
/// whole.
pub(crate) fn content_range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let value = headers::text(headers, CONTENT_RANGE)?;
    let (range, total) = value.strip_prefix("bytes ")?.split_once('/')?;
    let first = range.split_once('-').map_or(Some(0), |(first, _)| first.parse().ok())?;
    Some((first, total.parse().ok()))
}
