//! `ListParts`.

use std::collections::HashMap;

use endseal_s3_format::entity_tag::PartTag;
use endseal_s3_format::{PartNumber, size};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::ChecksumValue;
use endseal_s3_protocol::xml::{
    self, AlgorithmChange, Change, Entry, ListedPart, Name, Replacement, Rules,
};
use http::response::Parts;
use http::{HeaderMap, Method, Response};

use super::announced::Announced;
use super::part::is_plain;
use super::upload::{StoredPart, Upload};
use crate::context::{Proxy, RequestContext};
use crate::forward::{read, relay, with_document};
use crate::headers;
use crate::transfer::Outgoing;

const MAX_LIST: usize = 4 << 20;

/// Lists the parts of an upload: those of the backend's upload and those that are parked.
pub(in crate::operations) async fn list_parts(
    proxy: &Proxy,
    call: &RequestContext,
) -> Result<Response<Outgoing>, S3Error> {
    if is_plain(proxy, call) {
        let headers = headers::forwarded(&call.headers);
        let response = proxy.ask(&call.signer, &Method::GET, &call.target, headers).await?;
        let has_names = call.target.bucket().is_some_and(|bucket| proxy.names(bucket).is_some());
        if !has_names {
            return Ok(relay(response));
        }
        let (head, body) = response.into_parts();
        let list = read(body, MAX_LIST).await?;
        return rewritten(head, &list, Named { key: call.target.key() });
    }
    let upload = Upload::of(proxy, call).await?;
    let query = call.target.query().clone().without(|name| name == "uploadId");
    let target = upload.target(query);
    let response = proxy.ask(&call.signer, &Method::GET, &target, HeaderMap::new()).await?;
    let (head, body) = response.into_parts();
    let list = read(body, MAX_LIST).await?;
    let page = xml::read_parts(&list).map_err(|error| S3Error::unreadable(&error))?;
    let marker = call.target.query().get("part-number-marker");
    let marker = marker.and_then(|marker| marker.parse().ok()).unwrap_or(0_u64);
    let mut parked = upload.parked_parts(proxy).await?;
    // Only the parked parts in the range of this page are kept.
    parked.retain(|part| {
        let number = u64::from(part.number.get());
        number > marker && page.next.is_none_or(|next| number <= next)
    });
    let listed: Vec<StoredPart> = page.parts.iter().filter_map(StoredPart::of).collect();
    let parts: Vec<_> =
        listed.iter().chain(&parked).map(|part| (part.number, part.entity_tag.as_str())).collect();
    // Boxed because the future is large and would enlarge the future of every request.
    let checksums = Box::pin(upload.checksums(proxy, &parts)).await?;
    let id = call.target.query().get("uploadId").unwrap_or_default();
    let announced = upload.announced;
    let key = call.target.key();
    rewritten(head, &list, Shown { upload_id: id, key, announced, parked, checksums })
}

/// Rewrites a list with `rules` and returns it as response.
fn rewritten(head: Parts, list: &[u8], rules: impl Rules) -> Result<Response<Outgoing>, S3Error> {
    let document = xml::rewrite(list, rules).map_err(|error| S3Error::unreadable(&error))?;
    Ok(with_document(head, document))
}

/// Rules for a list of the backend's own upload: only the key is translated.
struct Named<'a> {
    key: Option<&'a str>,
}

impl Rules for Named<'_> {
    fn entry(&mut self, _: &Entry<'_>) -> Change {
        Change::Keep
    }

    fn name(&mut self, name: Name, _: &str) -> Option<String> {
        self.key.filter(|_| name == Name::Key).map(str::to_owned)
    }
}

struct Shown<'a> {
    upload_id: &'a str,
    key: Option<&'a str>,
    announced: Option<Announced>,
    parked: Vec<StoredPart>,
    checksums: HashMap<PartNumber, ChecksumValue>,
}

impl Shown<'_> {
    fn checksum(&self, number: u64) -> Option<ChecksumValue> {
        let number = u16::try_from(number).ok().and_then(PartNumber::new)?;
        self.checksums.get(&number).copied()
    }
}

impl Rules for Shown<'_> {
    fn entry(&mut self, entry: &Entry<'_>) -> Change {
        let number = entry.part_number.unwrap_or(0);
        if self.parked.iter().any(|part| u64::from(part.number.get()) == number) {
            // The part was uploaded again as a short part, which is parked.
            return Change::Drop;
        }
        Change::Set(Replacement {
            size: entry.size.and_then(size::part_plaintext_len),
            etag: entry.etag.as_deref().map(|tag| PartTag::new(tag, None).encode()),
            checksum: match self.checksum(number) {
                Some(value) => xml::ChecksumChange::Set { value, kind: None, parts: None },
                None => xml::ChecksumChange::Drop,
            },
            ..Replacement::default()
        })
    }

    fn name(&mut self, name: Name, _: &str) -> Option<String> {
        match name {
            Name::UploadId => Some(self.upload_id.to_owned()),
            Name::Key => self.key.map(str::to_owned),
            _ => None,
        }
    }

    fn more_parts(&mut self) -> Vec<ListedPart> {
        self.parked
            .iter()
            .map(|part| ListedPart {
                number: part.number.get(),
                etag: PartTag::new(&part.entity_tag, None).encode(),
                size: part.plaintext_len,
                last_modified: part.last_modified.clone(),
                checksum: self.checksums.get(&part.number).copied(),
            })
            .collect()
    }

    fn algorithm(&mut self) -> AlgorithmChange {
        if let Some(Announced { algorithm, checksum_type }) = self.announced {
            return AlgorithmChange::Set(algorithm, Some(checksum_type));
        }
        let mut kinds = self.checksums.values().map(ChecksumValue::kind);
        match kinds.next() {
            Some(kind) if kinds.all(|other| other == kind) => AlgorithmChange::Set(kind, None),
            _ => AlgorithmChange::Drop,
        }
    }
}
