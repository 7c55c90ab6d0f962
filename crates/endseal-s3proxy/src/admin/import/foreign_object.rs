//! One object of another system.

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::Digests;
use http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::{Import, Imported, beside, delete_old, digest_of, digest_of_sealed};
use crate::admin::ask::ask;
use crate::admin::fault::Fault;
use crate::admin::foreign::{ForeignObject, ForeignSource, NotForeign};
use crate::admin::objects::ListedObject;
use crate::admin::rewrap::Skip;
use crate::context::Proxy;
use crate::headers;
use crate::operations::{MAX_PUT, seal_in_one_request};
use crate::sealed_object::{Inspected, ObjectRef, object_len, pin};
use crate::transfer::{Content, ContentSource, Converted};

/// Work on the objects of another system.
pub(super) struct ForeignJob<'a> {
    pub(super) proxy: &'a Proxy,
    pub(super) source: &'a ForeignSource,
    pub(super) options: &'a Import,
    /// True if the server heeds conditions of writes.
    pub(super) is_conditional: bool,
}

/// Object that was looked at.
struct Found<'a> {
    from: ObjectRef<'a>,
    to: ObjectRef<'a>,
    head: HeaderMap,
    /// Length of the object at the backend.
    stored_len: u64,
    object: ForeignObject,
}

impl ForeignJob<'_> {
    /// Processes one object. Returns its name, if it opens, and the result. `None` if the object
    /// was not asked for.
    pub(super) async fn outcome(
        &self,
        listed: &ListedObject,
    ) -> Option<(Option<String>, Imported)> {
        let key = listed.key.strip_prefix(self.source.prefix.as_str())?;
        let from = self.object_ref(&listed.bucket, &listed.key, listed.is_stored);
        let head = match ask(self.proxy, &Method::HEAD, &from.target(), HeaderMap::new()).await {
            Ok(head) => head,
            Err(fault) if fault.status() == StatusCode::NOT_FOUND => {
                // A list can have names that no request can say.
                let opens = self.source.format.client_key(key, None).is_some();
                let skipped = Imported::Skipped(Skip::ForeignName);
                return Some((None, if opens { Imported::Gone } else { skipped }));
            }
            Err(fault) => return Some((None, Imported::Failed(fault))),
        };
        let len = match object_len(&head) {
            Ok(len) => len,
            Err(error) => return Some((None, Imported::Failed(error.into()))),
        };
        let head = head.headers().clone();
        let name = self.source.format.client_key(key, Some(len));
        // An object that was sealed in its own bucket by an earlier run.
        if head.contains_key(headers::OBJECT_HEADER) {
            let is_asked_for = listed.key.starts_with(&self.options.prefix);
            return is_asked_for.then_some((None, Imported::Present));
        }
        let Some(name) = name else {
            return Some((None, Imported::Skipped(Skip::ForeignName)));
        };
        if !name.starts_with(&self.options.prefix) {
            return None;
        }
        let target = format!("{}{name}", self.source.into);
        let outcome = self.found(from, &target, (head, len)).await;
        Some((Some(target), outcome.unwrap_or_else(Imported::Failed)))
    }

    fn object_ref<'b>(&'b self, bucket: &'b str, key: &'b str, is_stored: bool) -> ObjectRef<'b> {
        let signer = self.proxy.own_signer();
        ObjectRef { signer, bucket, key, version: None, is_stored }
    }

    async fn found(
        &self,
        from: ObjectRef<'_>,
        target: &str,
        (head, len): (HeaderMap, u64),
    ) -> Result<Imported, Fault> {
        let object = match self.source.format.look(from.key, &head, len).await {
            Ok(object) => object,
            Err(NotForeign::Other) => return Ok(Imported::Skipped(Skip::NotForeign)),
            Err(NotForeign::NotAuthentic) => return Ok(Imported::NotAuthentic),
            Err(NotForeign::UnknownKey(id)) => return Ok(Imported::UnknownKey(id)),
            Err(NotForeign::TooLong) => return Ok(Imported::Skipped(Skip::TooLongToAuthenticate)),
        };
        if !object.is_authenticated && self.source.authentic_only {
            return Ok(Imported::Skipped(Skip::Unauthenticated));
        }
        if object.content_len > MAX_PUT {
            return Ok(Imported::Skipped(Skip::TooLarge));
        }
        if head.contains_key("x-amz-missing-meta") {
            return Ok(Imported::Skipped(Skip::HiddenMetadata));
        }
        let to = self.object_ref(&self.options.bucket, target, false);
        let found = Found { from, to, head, stored_len: len, object };
        let is_here = found.from.target() == found.to.target();
        if !is_here && let Some(outcome) = self.compare(&found).await? {
            return Ok(outcome);
        }
        let (len, is_authenticated) = (found.object.content_len, found.object.is_authenticated);
        let done = match is_authenticated {
            true => Imported::Sealed(len),
            false => Imported::Unauthenticated(len),
        };
        if self.options.dry_run {
            return Ok(done);
        }
        match self.seal(found, is_here).await {
            Ok(()) => Ok(done),
            Err(fault) => match fault.status() {
                StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT => Ok(Imported::Changed),
                StatusCode::NOT_FOUND => Ok(Imported::Gone),
                _ if fault.code() == S3Error::metadata_too_large().code() => {
                    Ok(Imported::Skipped(Skip::NoRoom))
                }
                _ if fault.code() == S3Error::not_authentic().code() => Ok(Imported::NotAuthentic),
                _ => Err(fault),
            },
        }
    }

    /// True if the object is to be deleted once it is sealed under its other name.
    fn replaces(&self) -> bool {
        self.source.bucket == self.options.bucket
    }

    /// Looks at the place of an object under its new name. Returns the result if there is one
    /// already, and `None` if the object is to be sealed.
    async fn compare(&self, found: &Found<'_>) -> Result<Option<Imported>, Fault> {
        let (proxy, to, len) = (self.proxy, &found.to, found.object.content_len);
        let there = match ask(proxy, &Method::HEAD, &to.target(), HeaderMap::new()).await {
            Ok(there) => there,
            Err(fault) if fault.status() == StatusCode::NOT_FOUND => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let taken = Some(Imported::Skipped(Skip::PlaceTaken));
        if !self.replaces() || self.options.dry_run {
            let sealed_len = object_len(&there)?;
            return Ok(match proxy.examine(to, there.headers(), sealed_len).await {
                Ok(Inspected::Sealed(object)) if object.content_len == len => {
                    Some(Imported::Present)
                }
                _ => taken,
            });
        }
        let Some(sealed) = digest_of_sealed(proxy, to, &there, len).await? else {
            return Ok(taken);
        };
        let mut pinned = HeaderMap::new();
        pin(&mut pinned, &found.head)?;
        // The content is opened once more, and the converter is used up.
        let look = self.source.format.look(found.from.key, &found.head, found.stored_len).await;
        let Ok(object) = look else {
            return Ok(Some(Imported::NotAuthentic));
        };
        let response = ask(proxy, &Method::GET, &found.from.target(), pinned).await?;
        let old = ContentSource::Converted(Converted::new(response.into_body(), object.converter));
        match digest_of(old).await {
            Ok(old) if old == sealed => {
                delete_old(proxy, &found.from, &found.head).await?;
                Ok(Some(match found.object.is_authenticated {
                    true => Imported::Sealed(len),
                    false => Imported::Unauthenticated(len),
                }))
            }
            Ok(_) => Ok(taken),
            Err(fault) if fault.code() == S3Error::not_authentic().code() => {
                Ok(Some(Imported::NotAuthentic))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Opens and seals an object.
    async fn seal(&self, found: Found<'_>, is_here: bool) -> Result<(), Fault> {
        let Found { from, to, head, object, .. } = found;
        let proxy = self.proxy;
        let format = &self.source.format;
        let mut headers = beside(proxy, &from, &head, |name| !format.is_own_metadata(name)).await?;
        let tag = headers::text(&head, ETAG);
        let tag = tag.ok_or_else(|| Fault::new("the server returned no entity tag"))?;
        if !is_here {
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        } else if self.is_conditional {
            headers::insert(&mut headers, IF_MATCH, tag)?;
        }
        let mut pinned = HeaderMap::new();
        pin(&mut pinned, &head)?;
        let response = ask(proxy, &Method::GET, &from.target(), pinned).await?;
        let body = Converted::new(response.into_body(), object.converter);
        let body = ContentSource::Converted(body);
        let content = Content::plain(body, object.content_len, Digests::new());
        seal_in_one_request(proxy, &to, headers, content).await?;
        if !is_here && self.replaces() { delete_old(proxy, &from, &head).await } else { Ok(()) }
    }
}
