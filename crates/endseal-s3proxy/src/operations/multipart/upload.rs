//! State of an upload: the content of its id, and its parts at the backend.

use core::ops::RangeInclusive;

use endseal_s3_format::{
    ContentKey, Header, PARKED_METADATA, ParkedUpload, PartNumber, UploadId, parked_folder,
    parked_key, size,
};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::checksum::ChecksumValue;
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3_protocol::xml::{self, ListedPart};
use endseal_s3_protocol::{Query, Target};
use http::{HeaderMap, Method, Response, StatusCode};

use super::announced::Announced;
use crate::context::{Proxy, RequestContext};
use crate::forward::{Connections, read};
use crate::headers::{self, USER_METADATA};
use crate::sealed_object::{ObjectRef, object_len};
use crate::upstream::{Body, ResponseBody};

/// Maximum size of a list in bytes: 1,000 parts.
const MAX_LIST: usize = 4 << 20;

/// Upload whose id was authenticated.
pub(super) struct Upload<'a> {
    pub(super) object_ref: ObjectRef<'a>,
    /// Header of the object, as the backend got it when the upload was created.
    pub(super) header: Header,
    pub(super) key: ContentKey,
    /// Checksum that the client announced when it created the upload.
    pub(super) announced: Option<Announced>,
    /// Id of the upload at the backend.
    pub(super) backend_id: String,
}

/// Converts the error of a write to a key of the proxy. A conflict there is not about the client's
/// key, and is temporary: versitygw removes folders that are just being used. SDKs repeat a request
/// after 503 only.
pub(super) fn of_own_key(error: S3Error) -> S3Error {
    if error.status() != StatusCode::CONFLICT {
        return error;
    }
    S3Error::unavailable().with_retry_after(1).because("backend_conflict", error.code())
}

/// Part that is stored at the backend.
pub(super) struct StoredPart {
    pub(super) number: PartNumber,
    /// Entity tag at the backend, without quotes.
    pub(super) entity_tag: String,
    pub(super) plaintext_len: u64,
    pub(super) last_modified: Option<String>,
    /// Checksum of the sealed bytes at the backend.
    pub(super) checksum: Option<ChecksumValue>,
    /// True if the part is stored as an object of its own.
    pub(super) parked: bool,
}

impl<'a> Upload<'a> {
    /// Authenticates the upload id of a request.
    ///
    /// # Errors
    /// `NoSuchUpload` for an id that was not issued by this proxy, or for another key.
    pub(super) async fn of(proxy: &Proxy, call: &'a RequestContext) -> Result<Self, S3Error> {
        let object_ref = ObjectRef::of(&call.signer, &call.target)?;
        Self::named(proxy, object_ref, call.target.query().get("uploadId").unwrap_or_default())
            .await
    }

    /// Authenticates an upload id for an object.
    ///
    /// # Errors
    /// The same errors as [`of`](Self::of).
    pub(super) async fn named(
        proxy: &Proxy,
        object_ref: ObjectRef<'a>,
        text: &str,
    ) -> Result<Self, S3Error> {
        let id = UploadId::parse(text).map_err(|_| S3Error::no_such_upload())?;
        let place = object_ref.place()?;
        let key = proxy.open_key(id.header(), place).await.map_err(|error| {
            let authentication = error.code() == S3Error::not_authentic().code();
            if authentication { S3Error::no_such_upload() } else { error }
        })?;
        let (checksum, backend_id) =
            id.open(&key, &place).map_err(|_| S3Error::no_such_upload())?;
        let (header, announced) = (id.header().clone(), checksum.map(Announced::opened));
        Ok(Self { object_ref, header, key, announced, backend_id })
    }

    /// Returns the target of a request about the upload.
    pub(super) fn target(&self, query: Query) -> Target {
        let query = query.with("uploadId", &self.backend_id);
        Target::of(self.object_ref.bucket, Some(self.object_ref.key), query)
    }

    /// Returns the target at which part `number` is parked.
    pub(super) fn parked(&self, number: PartNumber) -> Target {
        let key = parked_key(&self.backend_id, number);
        Target::of(self.object_ref.bucket, Some(&key), Query::new())
    }

    /// Returns the headers for parked parts and records. They name the upload, which `clean` needs.
    ///
    /// # Errors
    /// `KeyTooLongError` if the encrypted key is too long.
    pub(super) fn owner_headers(&self, proxy: &Proxy) -> Result<HeaderMap, S3Error> {
        let mut headers = HeaderMap::new();
        let key = proxy.stored_key(self.object_ref.bucket, self.object_ref.key)?.into_owned();
        let owner = ParkedUpload { key, backend_id: self.backend_id.clone() };
        if let Some(value) = owner.encode() {
            let name = format!("{USER_METADATA}{PARKED_METADATA}");
            headers::insert(&mut headers, &name, &value)?;
        }
        Ok(headers)
    }

    /// Returns the parts with these numbers that the backend lists for the upload. Entries that
    /// cannot be sealed parts are skipped.
    ///
    /// # Errors
    /// The backend's error, `NoSuchUpload` if it does not have the upload.
    pub(super) async fn listed(
        &self,
        proxy: &Proxy,
        numbers: RangeInclusive<u16>,
    ) -> Result<Vec<StoredPart>, S3Error> {
        // The list starts at the first part, because some servers return nothing for a marker that
        // is not a part.
        let mut marker = 0;
        let mut parts = Vec::new();
        loop {
            let query = Query::new().with("max-parts", "1000");
            let query = match marker {
                0 => query,
                _ => query.with("part-number-marker", &marker.to_string()),
            };
            let response = self.list(proxy, Connections::First, query).await?;
            let document = read(response.into_body(), MAX_LIST).await?;
            let page = xml::read_parts(&document).map_err(|error| S3Error::unreadable(&error))?;
            for part in &page.parts {
                if numbers.contains(&part.number) {
                    parts.extend(StoredPart::of(part));
                }
            }
            let next = page.next.and_then(|next| u16::try_from(next).ok());
            match next.filter(|next| *next > marker && next < numbers.end()) {
                Some(next) => marker = next,
                None => return Ok(parts),
            }
        }
    }

    /// Checks that the backend has the upload.
    ///
    /// # Errors
    /// The backend's error, `NoSuchUpload` if it does not have the upload.
    pub(super) async fn check_started(
        &self,
        proxy: &Proxy,
        connections: Connections,
    ) -> Result<(), S3Error> {
        let query = Query::new().with("max-parts", "1");
        let response = self.list(proxy, connections, query).await?;
        // The body is read to its end so that the connection can be reused.
        read(response.into_body(), MAX_LIST).await.map(drop)
    }

    async fn list(
        &self,
        proxy: &Proxy,
        connections: Connections,
        query: Query,
    ) -> Result<Response<ResponseBody>, S3Error> {
        let (target, none) = (self.target(query), (Body::empty(), PayloadHash::Unsigned));
        let (signer, request) = (self.object_ref.signer, (&Method::GET, &target));
        let response = proxy.send_by(connections, signer, request, HeaderMap::new(), none).await;
        response.map_err(|error| match error.status() {
            StatusCode::NOT_FOUND => S3Error::no_such_upload(),
            _ => error,
        })
    }

    /// Returns part `number` if it is parked.
    ///
    /// # Errors
    /// If the backend does not respond, or responds with an error.
    pub(super) async fn parked_part(
        &self,
        proxy: &Proxy,
        number: PartNumber,
    ) -> Result<Option<StoredPart>, S3Error> {
        let target = self.parked(number);
        let asked =
            proxy.ask(self.object_ref.signer, &Method::HEAD, &target, HeaderMap::new()).await;
        let response = match asked {
            Ok(response) => response,
            Err(error) if error.status() == StatusCode::NOT_FOUND => return Ok(None),
            Err(error) => return Err(error),
        };
        let len = size::part_plaintext_len(object_len(&response)?);
        let tag = headers::text(response.headers(), "etag");
        let (Some(plaintext_len), Some(tag)) = (len, tag) else {
            return Err(S3Error::not_authentic());
        };
        Ok(Some(StoredPart {
            number,
            entity_tag: tag.trim_matches('"').to_owned(),
            plaintext_len,
            last_modified: None,
            checksum: None,
            parked: true,
        }))
    }

    /// Returns the parked parts of the upload.
    ///
    /// # Errors
    /// If the backend does not respond, or responds with an error.
    pub(super) async fn parked_parts(&self, proxy: &Proxy) -> Result<Vec<StoredPart>, S3Error> {
        let mut parts = Vec::new();
        for number in self.parked_numbers(proxy).await? {
            parts.extend(self.parked_part(proxy, number).await?);
        }
        Ok(parts)
    }

    /// Returns the numbers of the parked parts.
    async fn parked_numbers(&self, proxy: &Proxy) -> Result<Vec<PartNumber>, S3Error> {
        let prefix = parked_folder(&self.backend_id);
        let query = Query::new().with("list-type", "2").with("prefix", &prefix);
        let target = Target::of(self.object_ref.bucket, None, query);
        let response =
            proxy.ask(self.object_ref.signer, &Method::GET, &target, HeaderMap::new()).await?;
        let document = read(response.into_body(), MAX_LIST).await?;
        let mut numbers = Vec::new();
        xml::entries(&document, |entry| {
            let number = entry.key.as_deref().and_then(|key| key.strip_prefix(&prefix));
            numbers.extend(number.and_then(|number| number.parse().ok()).and_then(PartNumber::new));
        })
        .map_err(|error| S3Error::unreadable(&error))?;
        Ok(numbers)
    }

    /// Deletes all parked parts. Those that cannot be deleted remain sealed. A lifecycle rule of
    /// the bucket for `.endseal/parked/` removes them.
    pub(super) async fn unpark_all(&self, proxy: &Proxy) {
        for number in self.parked_numbers(proxy).await.unwrap_or_default() {
            self.unpark(proxy, number).await;
        }
    }

    /// Deletes the parked part `number`.
    async fn unpark(&self, proxy: &Proxy, number: PartNumber) {
        let target = self.parked(number);
        let _ = proxy.ask(self.object_ref.signer, &Method::DELETE, &target, HeaderMap::new()).await;
    }
}

impl StoredPart {
    /// Returns `None` for an entry that cannot be a sealed part because of its length. MinIO lists
    /// parts that it is removing, without bytes and tag. A parked part that was uploaded with a
    /// tail can also have such a length; the parked one still exists then.
    pub(super) fn of(part: &ListedPart) -> Option<Self> {
        Some(Self {
            number: PartNumber::new(part.number)?,
            entity_tag: part.etag.trim_matches('"').to_owned(),
            plaintext_len: size::part_plaintext_len(part.size)?,
            last_modified: part.last_modified.clone(),
            checksum: part.checksum,
            parked: false,
        })
    }
}
