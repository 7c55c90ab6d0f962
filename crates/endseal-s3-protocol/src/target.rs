//! Target of a request: bucket, key and query, out of a path or a host name.

use alloc::sync::Arc;
use std::borrow::Cow;

use http::{StatusCode, Uri};

use crate::S3Error;
use crate::sigv4::uri;

/// Longest key in bytes, as S3 has it.
pub const MAX_KEY: usize = 1_024;

/// Bucket, key and query of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    // Shared, as a request has several targets of the same names.
    bucket: Option<Arc<str>>,
    key: Option<Arc<str>>,
    query: Query,
    /// True if the key is the backend's own, and not a client's.
    is_stored: bool,
}

impl Target {
    /// Reads the target of a request. Where `host` is a label before one of `domains`, the label is
    /// the bucket, otherwise the first component of the path is.
    ///
    /// # Errors
    /// `InvalidURI` for malformed escapes, escapes that are not UTF-8, or a null byte;
    /// `KeyTooLongError` for keys that are too long; `InvalidBucketName` for names that no bucket
    /// can have.
    pub fn parse(uri: &Uri, host: Option<&str>, domains: &[String]) -> Result<Self, S3Error> {
        let path = uri.path().strip_prefix('/').ok_or_else(S3Error::invalid_uri)?;
        let (bucket, key) = match virtual_bucket(host, domains) {
            Some(bucket) => (Cow::Borrowed(bucket), path),
            None => {
                let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
                (decoded(uri::decode_path(bucket))?, key)
            }
        };
        let key = decoded(uri::decode_path(key))?;
        let query = Query::parse(uri.query().unwrap_or(""))?;
        if bucket.is_empty() {
            return Ok(Self { bucket: None, key: None, query, is_stored: false });
        }
        check_bucket(&bucket)?;
        check_key_len(&key)?;
        let key = (!key.is_empty()).then(|| key.into());
        Ok(Self { bucket: Some(bucket.into()), key, query, is_stored: false })
    }

    /// The same target without some parameters; itself, if it has none of them.
    #[must_use]
    pub fn without(&self, unwanted: impl Fn(&str) -> bool) -> Cow<'_, Self> {
        if !self.query.names().any(&unwanted) {
            return Cow::Borrowed(self);
        }
        let query = self.query.clone().without(unwanted);
        Cow::Owned(Self { query, ..self.without_query() })
    }

    /// The same target without a signature in the query.
    #[must_use]
    pub fn without_signature(mut self) -> Self {
        self.query.0.retain(|(name, _)| {
            !name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("x-amz-"))
        });
        self
    }

    /// The same target with bucket and key, but without the query.
    #[must_use]
    pub fn without_query(&self) -> Self {
        Self {
            bucket: self.bucket.clone(),
            key: self.key.clone(),
            query: Query::new(),
            is_stored: self.is_stored,
        }
    }

    /// A target of the proxy's own making: a key as clients name it, or one of the proxy's own.
    #[must_use]
    pub fn of(bucket: &str, key: Option<&str>, query: Query) -> Self {
        Self { bucket: Some(bucket.into()), key: key.map(Into::into), query, is_stored: false }
    }

    /// The same with a key as the backend has it.
    #[must_use]
    pub fn of_stored(bucket: &str, key: &str, query: Query) -> Self {
        Self { is_stored: true, ..Self::of(bucket, Some(key), query) }
    }

    /// Returns true if the key is the backend's own, which nothing translates.
    #[must_use]
    pub const fn is_stored(&self) -> bool {
        self.is_stored
    }

    /// The target of a request to the service as a whole.
    #[must_use]
    pub const fn of_service(query: Query) -> Self {
        Self { bucket: None, key: None, query, is_stored: false }
    }

    /// The bucket, if the request names one.
    #[must_use]
    pub fn bucket(&self) -> Option<&str> {
        self.bucket.as_deref()
    }

    /// The key, if the request names one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The query of the target, decoded.
    #[must_use]
    pub const fn query(&self) -> &Query {
        &self.query
    }

    /// The path that names the same at the backend: `/bucket/key`, escaped as S3 signs it.
    #[must_use]
    pub fn path(&self) -> String {
        // Most names have nothing that is escaped.
        let len = |name: &Option<Arc<str>>| name.as_ref().map_or(0, |name| 1 + name.len());
        let mut path = String::with_capacity(len(&self.bucket).max(1) + len(&self.key));
        path.push('/');
        if let Some(bucket) = &self.bucket {
            uri::encode_into(bucket.as_bytes(), true, &mut path);
        }
        if let Some(key) = &self.key {
            path.push('/');
            uri::encode_into(key.as_bytes(), false, &mut path);
        }
        path
    }
}

/// A component of a path as text.
fn decoded(bytes: Result<Cow<'_, [u8]>, uri::InvalidEncoding>) -> Result<Cow<'_, str>, S3Error> {
    let text = match bytes.map_err(|_| S3Error::invalid_uri())? {
        Cow::Borrowed(bytes) => str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    };
    text.filter(|text| !text.contains('\0')).ok_or_else(S3Error::invalid_uri)
}

/// The label of a host before one of the domains.
fn virtual_bucket<'a>(host: Option<&'a str>, domains: &[String]) -> Option<&'a str> {
    let host = host?;
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    domains.iter().find_map(|domain| {
        let at = name.len().checked_sub(domain.len())?;
        let (label, rest) = (name.get(..at)?, name.get(at..)?);
        let label = label.strip_suffix('.')?;
        (rest.eq_ignore_ascii_case(domain) && !label.is_empty()).then_some(label)
    })
}

/// A bucket's name as servers have them: letters, digits, and `.`, `-`, `_` within.
fn check_bucket(bucket: &str) -> Result<(), S3Error> {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    let bytes = bucket.as_bytes();
    let edges = [bytes.first(), bytes.last()];
    let good = (1..=255).contains(&bytes.len())
        && bytes.iter().all(|&b| inner(b))
        && edges.iter().flatten().all(|b| b.is_ascii_alphanumeric() || **b == b'_')
        && !bucket.contains("..");
    if good { Ok(()) } else { Err(S3Error::invalid_bucket()) }
}

/// Checks that a key has at most [`MAX_KEY`] bytes.
///
/// # Errors
/// `KeyTooLongError`.
pub fn check_key_len(key: &str) -> Result<(), S3Error> {
    if key.len() <= MAX_KEY {
        return Ok(());
    }
    let error = S3Error::new(StatusCode::BAD_REQUEST, "KeyTooLongError", "Your key is too long.");
    Err(error
        .with_detail("Size", key.len().to_string())
        .with_detail("MaxSizeAllowed", MAX_KEY.to_string()))
}

/// The parameters of a query, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, Option<String>)>);

impl Query {
    /// Makes a query without parameters.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Reads the part behind `?`.
    ///
    /// # Errors
    /// `InvalidURI` for malformed escapes, escapes that are not UTF-8, and a null byte.
    pub fn parse(raw: &str) -> Result<Self, S3Error> {
        let mut parameters = Vec::new();
        for parameter in raw.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = match parameter.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (parameter, None),
            };
            let name = decoded(uri::decode_component(name))?;
            let value = value.map(|value| decoded(uri::decode_component(value))).transpose()?;
            parameters.push((name.into_owned(), value.map(Cow::into_owned)));
        }
        Ok(Self(parameters))
    }

    /// The same query with one parameter more.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.0.push((name.to_owned(), Some(value.to_owned())));
        self
    }

    /// The same query without some parameters.
    #[must_use]
    pub fn without(mut self, unwanted: impl Fn(&str) -> bool) -> Self {
        self.0.retain(|(name, _)| !unwanted(name));
        self
    }

    /// Returns true if there is a parameter of that name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// The value of the first parameter of that name; empty if it has none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name)?;
        Some(found.1.as_deref().unwrap_or(""))
    }

    /// Names of the parameters, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The query as it goes to the backend, without `?`.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut out = String::new();
        for (name, value) in &self.0 {
            if !out.is_empty() {
                out.push('&');
            }
            uri::encode_into(name.as_bytes(), true, &mut out);
            if let Some(value) = value {
                out.push('=');
                uri::encode_into(value.as_bytes(), true, &mut out);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use http::Uri;

    use super::{Query, Target};

    fn parse(uri: &str, host: &str) -> Result<Target, String> {
        let uri: Uri = uri.parse().unwrap();
        let domains = ["s3.example.org".to_owned(), "localhost".to_owned()];
        Target::parse(&uri, Some(host), &domains).map_err(|error| error.code().to_owned())
    }

    #[test]
    fn paths_and_hosts_name_the_same() {
        let path = parse("/photos/a%20b/c%2Bd?uploads&prefix=x%2Fy+z", "127.0.0.1:80").unwrap();
        let host =
            parse("/a%20b/c%2Bd?uploads&prefix=x%2Fy+z", "photos.s3.example.org:80").unwrap();
        assert_eq!(path, host);
        assert_eq!((path.bucket(), path.key()), (Some("photos"), Some("a b/c+d")));
        assert_eq!(path.path(), "/photos/a%20b/c%2Bd");
        assert_eq!(path.query().get("prefix"), Some("x/y z"));
        assert_eq!(path.query().encode(), "uploads&prefix=x%2Fy%20z");
        assert_eq!(parse("/", "localhost").unwrap().bucket(), None);
        assert_eq!(parse("/b", "localhost").unwrap().key(), None);
        assert_eq!(parse("/b/", "localhost").unwrap().key(), None);
        assert_eq!(parse("/b//", "localhost").unwrap().key(), Some("/"));
    }

    #[test]
    fn what_is_no_target_is_refused() {
        for (uri, code) in [
            ("/b/%zz", "InvalidURI"),
            ("/b/%ff", "InvalidURI"),
            ("/b/%00", "InvalidURI"),
            ("/b/%2", "InvalidURI"),
            ("/../k", "InvalidBucketName"),
            ("/b%2Fc/k", "InvalidBucketName"),
            ("/-b/k", "InvalidBucketName"),
        ] {
            assert_eq!(parse(uri, "h").unwrap_err(), code, "{uri}");
        }
        let long = format!("/b/{}", "k".repeat(1025));
        assert_eq!(parse(&long, "h").unwrap_err(), "KeyTooLongError");
    }

    #[test]
    fn queries_are_edited() {
        let query = Query::new().with("uploadId", "a b").with("acl", "");
        assert_eq!(query.without(|name| name == "acl").encode(), "uploadId=a%20b");
    }
}
