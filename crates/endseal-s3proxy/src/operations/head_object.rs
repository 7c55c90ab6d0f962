//! `HeadObject`: the properties of an object, with those of the content instead of the sealed
//! bytes.

use endseal_s3_protocol::S3Error;
use http::header::HeaderValue;
use http::{Method, Response};

use super::conditions;
use super::get_object::{ReadRequest, answer_head, asking, content, plaintext, set_checksum};
use crate::context::{Proxy, RequestContext};
use crate::headers;
use crate::sealed_object::{Inspected, ObjectRef, object_len};
use crate::transfer::Outgoing;

/// Responds with the headers that `GetObject` would have.
pub(super) async fn head_object(
    proxy: &Proxy,
    call: &RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let object_ref = ObjectRef::of(&call.signer, &call.target)?;
    let mut wanted = ReadRequest::of(call)?;
    let headers = asking(proxy, call, &object_ref);
    let target = call.target.without(|name| name == "partNumber");
    let response = proxy.ask(&call.signer, &Method::HEAD, &target, headers.clone()).await?;
    if !conditions::range_applies(&call.headers, response.headers()) {
        wanted.range = None;
    }
    let sealed_len = object_len(&response)?;
    let Inspected::Sealed(object) =
        proxy.examine(&object_ref, response.headers(), sealed_len).await?
    else {
        if wanted.range.is_some() || wanted.part.is_some() {
            let mut headers = headers::forwarded(&call.headers);
            conditions::to_backend(&mut headers);
            let response = proxy.ask(&call.signer, &Method::HEAD, &call.target, headers).await?;
            return Ok(plaintext(response));
        }
        return Ok(plaintext(response));
    };
    let is_whole = wanted.range.is_none() && wanted.part.is_none();
    let needs_record =
        (wanted.checksum && is_whole) || (wanted.part.is_some() && object.is_multipart());
    let record = if needs_record { Some(proxy.record(&object_ref, &object).await?) } else { None };
    let range = content(&wanted, &object, record.as_ref())?;
    let mut answer = answer_head(response.headers(), &object, &range, &wanted)?;
    if let Some(record) = &record {
        if wanted.part.is_some() {
            let count = HeaderValue::from(record.entries().len());
            answer.headers_mut().insert("x-amz-mp-parts-count", count);
        } else {
            set_checksum(answer.headers_mut(), record)?;
        }
    }
    Ok(answer.map(|()| Outgoing::empty()))
}
