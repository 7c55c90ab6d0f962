//! Translation of object names between clients and the backend, in buckets with encrypted names
//! (docs/spec/s3-object.md, "Names").
//!
//! All code of the proxy uses the keys of clients. `forward` encrypts the names of requests to the
//! backend. Names in responses are decrypted by the code that parses them.

pub(crate) mod bucket_settings;
mod client_key;

use core::future::poll_fn;
use core::pin::Pin;
use std::borrow::Cow;
use std::sync::Arc;

use bytes::BytesMut;
use endseal_s3_format::RESERVED_PREFIX;
use endseal_s3_format::names::Names;
use endseal_s3_protocol::Operation;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::Target;
use endseal_s3_protocol::sigv4::uri;
use endseal_s3_protocol::xml;
use http::header::{CONTENT_LENGTH, HeaderName, REFERER};
use http::{HeaderMap, HeaderValue, Response, Uri};
use http_body::Body as _;

use crate::context::AccessLog;
use crate::transfer::Outgoing;

use crate::context::Proxy;
use crate::headers;
pub(crate) use client_key::{check_key, is_reserved, name_error, parse_target};

/// Header with the website redirect of an object: `/` and a key, or a URL.
const REDIRECT: HeaderName = HeaderName::from_static("x-amz-website-redirect-location");

/// Maximum size in bytes of a document about one object.
const MAX_DOCUMENT: usize = 64 * 1024;

impl Proxy {
    /// Returns the name encryption of a bucket, or `None` if its names are not encrypted.
    pub(crate) fn names(&self, bucket: &str) -> Option<Arc<Names>> {
        let rule = self.rule(bucket);
        let bucket = rule.sealed_as.as_deref().unwrap_or(bucket);
        rule.names.as_ref().map(|names| names.of(bucket))
    }

    /// Translates a target into the one that the backend knows.
    ///
    /// # Errors
    /// `KeyTooLongError` if the encrypted key is too long.
    pub(crate) fn stored<'t>(&self, target: &'t Target) -> Result<Cow<'t, Target>, S3Error> {
        let (Some(bucket), Some(key)) = (target.bucket(), target.key()) else {
            return Ok(Cow::Borrowed(target));
        };
        // Clients cannot name the proxy's own keys, and no encrypted name starts like one.
        if target.is_stored() || key.starts_with(RESERVED_PREFIX) {
            return Ok(Cow::Borrowed(target));
        }
        let Some(names) = self.names(bucket) else { return Ok(Cow::Borrowed(target)) };
        let key = names.seal_key(key).map_err(name_error)?;
        Ok(Cow::Owned(Target::of_stored(bucket, &key, target.query().clone())))
    }

    /// Translates a key into the one that the backend knows.
    ///
    /// # Errors
    /// `KeyTooLongError` if the encrypted key is too long.
    pub(crate) fn stored_key<'k>(
        &self,
        bucket: &str,
        key: &'k str,
    ) -> Result<Cow<'k, str>, S3Error> {
        match self.names(bucket) {
            Some(names) => Ok(Cow::Owned(names.seal_key(key).map_err(name_error)?)),
            None => Ok(Cow::Borrowed(key)),
        }
    }

    /// Returns the client's name of the backend's key, or `None` if no client can name it.
    pub(crate) fn opened_key<'k>(&self, bucket: &str, key: &'k str) -> Option<Cow<'k, str>> {
        match self.names(bucket) {
            Some(names) => names.open_key(key).ok().map(Cow::Owned),
            None => Some(Cow::Borrowed(key)),
        }
    }

    /// Returns the value of `x-amz-copy-source` that names this target at the backend.
    ///
    /// # Errors
    /// `KeyTooLongError` if the encrypted key is too long.
    pub(crate) fn copy_source(&self, target: &Target) -> Result<String, S3Error> {
        let target = self.stored(target)?;
        let (path, query) = (target.path(), target.query().encode());
        Ok(if query.is_empty() { path } else { format!("{path}?{query}") })
    }

    /// Replaces the backend's names by those of clients in a response about one object. This
    /// concerns the documents of uploads and copies.
    pub(crate) async fn with_clients_names(
        &self,
        seen: &AccessLog,
        response: Response<Outgoing>,
    ) -> Response<Outgoing> {
        let tells = matches!(
            seen.operation,
            Operation::CopyObject
                | Operation::CreateMultipartUpload
                | Operation::CompleteMultipartUpload
                | Operation::UploadPartCopy
        );
        if !tells {
            return response;
        }
        let known = self.translated(seen);
        if known.is_empty() || response.body().is_end_stream() {
            return response;
        }
        let (mut head, body) = response.into_parts();
        // A document that cannot be read is dropped, because it may contain other names.
        let document = collect(body).await.unwrap_or_default();
        head.headers.remove(CONTENT_LENGTH);
        Response::from_parts(head, Outgoing::full(renamed(&document, &known)))
    }

    /// Replaces the backend's names by those of clients in an error message.
    pub(crate) fn error_with_clients_names(&self, seen: &AccessLog, error: S3Error) -> S3Error {
        let known = self.translated(seen);
        if !known.iter().any(|(sealed, _)| error.message().contains(sealed)) {
            return error;
        }
        let message = error.message().to_owned();
        let rename = |text: String, (sealed, key): &(String, String)| text.replace(sealed, key);
        error.with_message(known.iter().fold(message, rename))
    }

    /// Returns the pairs of backend key and client key that a request is about.
    fn translated(&self, seen: &AccessLog) -> Vec<(String, String)> {
        let mut known = Vec::new();
        let mut add = |target: &Target| {
            let (Some(bucket), Some(key)) = (target.bucket(), target.key()) else { return };
            let sealed = self.names(bucket).and_then(|names| names.seal_key(key).ok());
            if let Some(sealed) = sealed.filter(|sealed| sealed != key) {
                known.push((sealed, key.to_owned()));
            }
        };
        seen.target.iter().for_each(&mut add);
        seen.copy_source.iter().filter_map(source).for_each(|source| add(&source));
        // Longer names are replaced first, because a name can be the prefix of another.
        known.sort_by_key(|(sealed, _)| core::cmp::Reverse(sealed.len()));
        known
    }
}

/// Returns the source of a copy request, if its header names a key.
fn source(header: &HeaderValue) -> Option<Target> {
    let (path, _) = headers::copied_path(header.to_str().ok()?);
    parse_target(&path.parse::<Uri>().ok()?, None, &[]).ok()
}

/// Reads a document completely. Returns `None` if it is too long or breaks off.
async fn collect(mut body: Outgoing) -> Option<BytesMut> {
    let mut all = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let Ok(data) = frame.ok()?.into_data() else { continue };
        if all.len() + data.len() > MAX_DOCUMENT {
            return None;
        }
        all.extend_from_slice(&data);
    }
    Some(all)
}

/// Replaces the backend's names in a document by those of clients. An encrypted name has at least
/// 16 bytes, so it matches nothing else, and no character that XML or URLs escape.
fn renamed(document: &[u8], known: &[(String, String)]) -> Vec<u8> {
    let Ok(text) = core::str::from_utf8(document) else { return Vec::new() };
    let replace = |text: &str, write: &dyn Fn(&str) -> String| {
        known.iter().fold(text.to_owned(), |text, (sealed, key)| text.replace(sealed, &write(key)))
    };
    let plain = |key: &str| xml::escape(key);
    let in_url = |key: &str| uri::encode_path(key.as_bytes());
    let (open, close) = ("<Location>", "</Location>");
    let location = text.split_once(open).and_then(|(before, rest)| {
        let (location, behind) = rest.split_once(close)?;
        Some((before, location, behind))
    });
    let out = match location {
        Some((before, location, behind)) => {
            let (before, behind) = (replace(before, &plain), replace(behind, &plain));
            format!("{before}{open}{}{close}{behind}", replace(location, &in_url))
        }
        None => replace(text, &plain),
    };
    out.into_bytes()
}

/// Prepares the headers of a request for the backend. A key in a redirect is encrypted, and
/// `Referer` is removed.
///
/// # Errors
/// `KeyTooLongError` if the encrypted key is too long, `InvalidArgument` if the header is not
/// UTF-8.
pub(crate) fn seal_headers(names: &Names, headers: &mut HeaderMap) -> Result<(), S3Error> {
    headers.remove(REFERER);
    let Some(value) = headers.get(&REDIRECT) else { return Ok(()) };
    let text = core::str::from_utf8(value.as_bytes())
        .map_err(|_| S3Error::invalid_argument("The redirect location is not UTF-8."))?;
    if let Some(key) = text.strip_prefix('/') {
        let sealed = format!("/{}", names.seal_key(key).map_err(name_error)?);
        headers::insert(headers, REDIRECT, &sealed)?;
    }
    Ok(())
}

/// Decrypts a key in the redirect header of a response.
pub(crate) fn open_headers(names: &Names, headers: &mut HeaderMap) {
    let key = headers::text(headers, REDIRECT).and_then(|text| text.strip_prefix('/'));
    let Some(key) = key.and_then(|key| names.open_key(key).ok()) else { return };
    if let Ok(value) = HeaderValue::from_str(&format!("/{key}"))
        .or_else(|_| HeaderValue::from_bytes(format!("/{key}").as_bytes()))
    {
        headers.insert(REDIRECT, value);
    }
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn names_in_documents_are_those_of_clients() {
        let known = [
            ("c2VhbGVk/bmFtZQ".to_owned(), "a&b/c d".to_owned()),
            ("c2VhbGVk".to_owned(), "source".to_owned()),
        ];
        let document = "<Error><Key>c2VhbGVk/bmFtZQ</Key><Resource>/b/c2VhbGVk</Resource></Error>";
        assert_eq!(
            renamed(document.as_bytes(), &known),
            b"<Error><Key>a&amp;b/c d</Key><Resource>/b/source</Resource></Error>"
        );
        let document = "<R><Location>http://h/b/c2VhbGVk/bmFtZQ</Location><Key>c2VhbGVk</Key></R>";
        assert_eq!(
            renamed(document.as_bytes(), &known),
            b"<R><Location>http://h/b/a%26b/c%20d</Location><Key>source</Key></R>"
        );
        assert_eq!(renamed(b"\xff", &known), b"");
    }
}
