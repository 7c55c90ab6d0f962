//! `GetObjectAttributes`, with the attributes of the content instead of the sealed bytes.

use endseal_s3_format::{Record, entity_tag};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::ChecksumType;
use endseal_s3_protocol::xml::{
    self, AttributesChange, ChecksumChange, PartAttributes, PartsAttributes,
};
use http::header::ETAG;
use http::{HeaderMap, Method, Response};

use super::conditions;
use crate::content_checksum::shown;
use crate::context::{Proxy, RequestContext};
use crate::forward::{read, with_document};
use crate::headers;
use crate::sealed_object::{Inspected, ObjectRef, object_len};
use crate::transfer::Outgoing;

/// Maximum size of an answer in bytes: 1,000 parts.
const MAX_ANSWER: usize = 4 << 20;

/// Responds with the requested attributes of an object.
pub(super) async fn get_object_attributes(
    proxy: &Proxy,
    call: &RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    let object_ref = ObjectRef::of(&call.signer, &call.target)?;
    let mut headers = headers::forwarded(&call.headers);
    conditions::to_backend(&mut headers);
    let response = proxy.ask(&call.signer, &Method::GET, &call.target, headers).await?;
    let head = proxy.head(&object_ref, HeaderMap::new()).await?;
    let sealed_len = object_len(&head)?;
    let unquoted = |tag: String| tag.trim_matches('"').to_owned();
    let change = match proxy.examine(&object_ref, head.headers(), sealed_len).await? {
        Inspected::Plain => {
            let tag = headers::text(head.headers(), ETAG).map(entity_tag::to_client);
            AttributesChange { etag: tag.map(unquoted), ..AttributesChange::default() }
        }
        Inspected::Sealed(object) => {
            let asked = ListRequest::of(&call.headers);
            let record = proxy.record(&object_ref, &object).await?;
            AttributesChange {
                etag: object.client_tag().map(unquoted),
                size: Some(object.content_len),
                checksum: if asked.checksum { checksum(&record) } else { ChecksumChange::Drop },
                parts: if asked.parts { parts(&record, &asked) } else { PartsAttributes::Drop },
            }
        }
    };
    let (parts, body) = response.into_parts();
    let document = read(body, MAX_ANSWER).await?;
    let document =
        xml::rewrite_attributes(&document, &change).map_err(|error| S3Error::unreadable(&error))?;
    Ok(with_document(parts, document))
}

/// Attributes and page of parts that a request asks for.
struct ListRequest {
    checksum: bool,
    parts: bool,
    marker: u16,
    max: u16,
}

impl ListRequest {
    fn of(headers: &HeaderMap) -> Self {
        let names: Vec<&str> = headers
            .get_all("x-amz-object-attributes")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .collect();
        let has = |name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let number = |name| headers::text(headers, name).and_then(|text| text.parse().ok());
        Self {
            checksum: has("Checksum"),
            parts: has("ObjectParts"),
            marker: number("x-amz-part-number-marker").unwrap_or(0),
            max: number("x-amz-max-parts").unwrap_or(1_000).min(1_000),
        }
    }
}

fn checksum(record: &Record) -> ChecksumChange {
    let Some(value) = record.checksum().and_then(shown) else { return ChecksumChange::Drop };
    if record.is_composite() {
        let parts = u16::try_from(record.entries().len()).ok();
        return ChecksumChange::Set { value, kind: Some(ChecksumType::Composite), parts };
    }
    ChecksumChange::Set { value, kind: Some(ChecksumType::FullObject), parts: None }
}

fn parts(record: &Record, asked: &ListRequest) -> PartsAttributes {
    let entries = record.entries();
    let Ok(total) = u16::try_from(entries.len()) else { return PartsAttributes::Drop };
    if total == 0 {
        return PartsAttributes::Drop;
    }
    let behind = entries.iter().filter(|entry| entry.number.get() > asked.marker);
    let left = behind.clone().count();
    let parts: Vec<PartAttributes> = behind
        .take(usize::from(asked.max))
        .map(|entry| PartAttributes {
            number: entry.number.get(),
            size: entry.plaintext_len,
            checksum: None,
        })
        .collect();
    let truncated = parts.len() < left;
    PartsAttributes::Set { total, marker: asked.marker, max: asked.max, parts, truncated }
}
