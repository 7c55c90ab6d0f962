//! Conditions in buckets where entity tags are the MD5 of the content (`entity_tags = "md5"`).
//!
//! Before a request is executed, each MD5 in its conditions is replaced by the tag that the object
//! has elsewhere: the backend's tag with `-0`. The object is requested to find that tag. After this
//! step no code handles MD5s, and the backend evaluates the conditions. An MD5 that the object does
//! not have is not replaced; no object has it as a tag.

use std::collections::HashMap;

use endseal_s3_format::entity_tag::{Named, names_md5};
use endseal_s3_protocol::Operation;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::DeletedObject;
use endseal_s3_protocol::{Query, Target};
use http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::conditions;
use super::copy_object::Source;
use crate::bucket::EntityTags;
use crate::context::{Proxy, RequestContext};
use crate::headers;
use crate::sealed_object::{Inspected, ObjectRef, object_len};

/// Conditions on the object of a request, and on the source of a copy.
const OWN: [&str; 3] = ["if-match", "if-none-match", "if-range"];
const OF_SOURCE: [&str; 2] = ["x-amz-copy-source-if-match", "x-amz-copy-source-if-none-match"];

/// Replaces the MD5s in the conditions of a request. Returns the tags of its object, if it was
/// requested.
///
/// # Errors
/// `AccessDenied` if the client may not read the object, `ObjectNotAuthentic` if its sealed MD5
/// does not authenticate, or the error of the backend.
pub(super) async fn translate(
    proxy: &Proxy,
    call: &mut RequestContext,
) -> Result<Option<Named>, S3Error> {
    if !conditions::are_any(&call.headers) {
        return Ok(None);
    }
    if names_any(&call.headers, &OF_SOURCE) {
        let source = Source::of(call)?;
        let object_ref = ObjectRef::of(&call.signer, &source.target)?;
        if is_in_use(proxy, &object_ref) {
            let found = ask(proxy, &object_ref).await?;
            replace(&mut call.headers, &OF_SOURCE, found.as_ref());
        }
    }
    if !names_any(&call.headers, &OWN) || call.target.key().is_none() {
        return Ok(None);
    }
    let object_ref = ObjectRef::of(&call.signer, &call.target)?;
    if !is_in_use(proxy, &object_ref) {
        return Ok(None);
    }
    // The response reveals if the content is the one that the client expects.
    call.client
        .check(Operation::HeadObject, &Method::HEAD, &call.target)
        .map_err(|error| proxy.refused(error))?;
    let found = ask(proxy, &object_ref).await?;
    if !matches!(call.method, Method::GET | Method::HEAD) {
        hold_to_what_was_found(&mut call.headers, found.as_ref())?;
    }
    replace(&mut call.headers, &OWN, found.as_ref());
    Ok(found)
}

/// Returns the error of a read with the MD5 as entity tag. Responses with status 304 or 412 have no
/// metadata, so the tags of the object are requested if they are not known.
pub(super) async fn name(
    proxy: &Proxy,
    call: &RequestContext,
    known: Option<Named>,
    error: S3Error,
) -> S3Error {
    if !matches!(error.status(), StatusCode::NOT_MODIFIED | StatusCode::PRECONDITION_FAILED) {
        return error;
    }
    let Ok(object_ref) = ObjectRef::of(&call.signer, &call.target) else { return error };
    let Some(told) = error.headers().filter(|_| is_in_use(proxy, &object_ref)) else {
        return error;
    };
    let Some(tag) = headers::text(told, ETAG) else { return error };
    let found = match known.filter(|known| known.is(tag)) {
        None => match ask(proxy, &object_ref).await {
            Ok(found) => found.filter(|found| found.is(tag)),
            Err(error) => return error,
        },
        known => known,
    };
    let Some(found) = found else { return error };
    let mut told = told.clone();
    match headers::insert(&mut told, ETAG, found.shown()) {
        Ok(()) => error.with_headers(told),
        Err(error) => error,
    }
}

fn is_in_use(proxy: &Proxy, object_ref: &ObjectRef<'_>) -> bool {
    proxy.rule(object_ref.bucket).entity_tags == EntityTags::Md5
}

fn names_any(headers: &HeaderMap, names: &[&str]) -> bool {
    names.iter().any(|name| headers::text(headers, *name).is_some_and(names_md5))
}

/// Returns the tags of an object, or `None` if it does not exist.
async fn ask(proxy: &Proxy, object_ref: &ObjectRef<'_>) -> Result<Option<Named>, S3Error> {
    let head = match proxy.head(object_ref, HeaderMap::new()).await {
        Ok(head) => head,
        // 405 is the status of a version that is a delete marker.
        Err(error) if matches!(error.status().as_u16(), 404 | 405) => return Ok(None),
        // It is not known if the object exists. A wrong guess could let a condition pass.
        Err(error) => return Err(error),
    };
    let tag = headers::text(head.headers(), ETAG).ok_or_else(S3Error::unavailable)?;
    let is_called = [headers::OBJECT_HEADER, headers::OBJECT_MD5];
    if !is_called.iter().all(|name| head.headers().contains_key(name)) {
        return Ok(Some(Named::new(tag, None)));
    }
    let len = object_len(&head)?;
    let md5 = match proxy.examine(object_ref, head.headers(), len).await? {
        Inspected::Sealed(object) => object.md5,
        Inspected::Plain => None,
    };
    Ok(Some(Named::new(tag, md5.as_ref())))
}

/// Replaces the MD5 of the object by its other tag.
fn replace(headers: &mut HeaderMap, names: &[&'static str], found: Option<&Named>) {
    let Some(found) = found else { return };
    for name in names {
        let Some(list) = headers::text(headers, *name).filter(|list| names_md5(list)) else {
            continue;
        };
        // The list consists of characters that a header can contain.
        if let Ok(list) = found.without_md5(list).parse() {
            headers.insert(*name, list);
        }
    }
}

/// Binds a write that must not replace content with a certain MD5 to the object that was found.
/// Otherwise an object with that content could be written in between, because the backend does not
/// know MD5s.
///
/// # Errors
/// `PreconditionFailed` if a condition does not hold for the object that was found. It is evaluated
/// here because many servers support only `*` for writes.
fn hold_to_what_was_found(headers: &mut HeaderMap, found: Option<&Named>) -> Result<(), S3Error> {
    let unwanted = headers::text(headers, IF_NONE_MATCH).filter(|list| names_md5(list));
    let Some(unwanted) = unwanted else { return Ok(()) };
    let wanted = headers::text(headers, IF_MATCH);
    match found {
        None => {
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        Some(found)
            if found.is_in(unwanted) || wanted.is_some_and(|wanted| !found.is_in(wanted)) =>
        {
            return Err(S3Error::precondition_failed());
        }
        Some(found) => {
            headers.remove(IF_NONE_MATCH);
            headers::insert(headers, IF_MATCH, found.tag())?;
        }
    }
    Ok(())
}

/// Returns the tags of the objects that are to be deleted on condition of an MD5, by key and
/// version.
///
/// # Errors
/// The same errors as [`translate`].
pub(super) async fn of_deleted(
    proxy: &Proxy,
    call: &RequestContext,
    bucket: &str,
    objects: &[DeletedObject],
) -> Result<HashMap<(String, Option<String>), Named>, S3Error> {
    let mut known = HashMap::new();
    if proxy.rule(bucket).entity_tags != EntityTags::Md5 {
        return Ok(known);
    }
    for object in objects.iter().filter(|it| it.etag.as_deref().is_some_and(names_md5)) {
        let target = Target::of(bucket, Some(&object.key), Query::new());
        call.client
            .check(Operation::HeadObject, &Method::HEAD, &target)
            .map_err(|error| proxy.refused(error))?;
        let object_ref = ObjectRef {
            signer: &call.signer,
            bucket,
            key: &object.key,
            version: object.version_id.as_deref(),
            is_stored: false,
        };
        if let Some(found) = ask(proxy, &object_ref).await? {
            known.insert((object.key.clone(), object.version_id.clone()), found);
        }
    }
    Ok(known)
}
