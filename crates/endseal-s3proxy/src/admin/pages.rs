//! Lists of the backend, read page by page.
//!
//! A page is returned after the next one has been fetched. So the entry after which the list
//! continues is never removed before, which some servers do not support.

use endseal_s3_format::names::Names;
use endseal_s3_protocol::xml::{self, Listed, Next, Page};
use endseal_s3_protocol::{Query, Target};
use http::HeaderMap;

use super::ask::document;
use super::fault::Fault;
use crate::context::Proxy;

/// Kind of list to read.
#[derive(Clone, Copy)]
pub(super) enum List<'a> {
    /// Objects of a bucket whose keys start with `prefix` and come after the key `after`.
    Objects { bucket: &'a str, prefix: &'a str, after: Option<&'a str> },
    /// Versions and delete markers of a bucket whose keys start with `prefix`.
    Versions { bucket: &'a str, prefix: &'a str },
    /// Uploads of a bucket that were started and neither completed nor aborted.
    Uploads { bucket: &'a str },
}

impl List<'_> {
    fn target(&self, next: Option<&Next>) -> Target {
        let (bucket, mut query) = match *self {
            Self::Objects { bucket, prefix, after } => {
                let query = Query::new().with("list-type", "2").with("prefix", prefix);
                let after = after.filter(|_| next.is_none());
                (bucket, after.into_iter().fold(query, |query, key| query.with("start-after", key)))
            }
            Self::Versions { bucket, prefix } => {
                (bucket, Query::new().with("versions", "").with("prefix", prefix))
            }
            Self::Uploads { bucket } => (bucket, Query::new().with("uploads", "")),
        };
        query = query.with("encoding-type", "url");
        if let Some(Next { marker, id }) = next {
            let (name, id_name) = match self {
                Self::Objects { .. } => ("continuation-token", ""),
                Self::Versions { .. } => ("key-marker", "version-id-marker"),
                Self::Uploads { .. } => ("key-marker", "upload-id-marker"),
            };
            query = query.with(name, marker);
            if let Some(id) = id {
                query = query.with(id_name, id);
            }
        }
        Target::of(bucket, None, query)
    }

    fn read(&self, xml: &[u8]) -> Result<Page<Listed>, Fault> {
        Ok(match self {
            Self::Objects { .. } => xml::read_objects(xml)?,
            Self::Versions { .. } => xml::read_versions(xml)?,
            Self::Uploads { .. } => xml::read_uploads(xml)?,
        })
    }
}

/// Iterator over the pages of a list.
pub(super) struct Pages<'a> {
    proxy: &'a Proxy,
    list: List<'a>,
    ahead: Option<Result<Page<Listed>, Fault>>,
}

impl<'a> Pages<'a> {
    /// Starts a list and requests its first page.
    pub(super) async fn of(proxy: &'a Proxy, list: List<'a>) -> Self {
        let mut own = Self { proxy, list, ahead: None };
        own.ahead = Some(own.fetch(None).await);
        own
    }

    /// Returns the entries of the next page, or `None` at the end.
    ///
    /// # Errors
    /// The backend's fault, or one if the list repeats the same position.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Listed>>, Fault> {
        let Some(page) = self.ahead.take() else { return Ok(None) };
        let Page { entries, next } = page?;
        if let Some(next) = next {
            let following = match self.fetch(Some(&next)).await {
                Ok(page) if page.next.as_ref() == Some(&next) => {
                    Err(Fault::new("the server's list repeats the same position"))
                }
                page => page,
            };
            self.ahead = Some(following);
        }
        Ok(Some(entries))
    }

    async fn fetch(&self, next: Option<&Next>) -> Result<Page<Listed>, Fault> {
        let (_, xml) = document(self.proxy, &self.list.target(next)).await?;
        self.list.read(&xml)
    }
}

/// Returns the client's name of a backend key and false, or the backend key and true.
///
/// A key that no client can name was written before names were encrypted, or not through the proxy.
/// Its content key is bound to the backend key.
pub(super) fn client_key(names: Option<&Names>, stored: &str) -> (String, bool) {
    let opened = names.and_then(|names| names.open_key(stored).ok());
    let is_stored = names.is_some() && opened.is_none();
    (opened.unwrap_or_else(|| stored.to_owned()), is_stored)
}

/// Returns the buckets to process: `only`, or all that the backend lists.
///
/// # Errors
/// The backend's fault if it does not list its buckets.
pub(super) async fn buckets(proxy: &Proxy, only: Option<&str>) -> Result<Vec<String>, Fault> {
    if let Some(bucket) = only {
        return Ok(vec![bucket.to_owned()]);
    }
    let mut names = Vec::new();
    let mut next: Option<Next> = None;
    loop {
        let query = match &next {
            Some(next) => Query::new().with("continuation-token", &next.marker),
            None => Query::new(),
        };
        let (_, xml) = document(proxy, &Target::of_service(query)).await?;
        let page = xml::read_buckets(&xml)?;
        names.extend(page.entries);
        if page.next.is_none() || page.next == next {
            return Ok(names);
        }
        next = page.next;
    }
}

/// Returns true if a bucket has versions, and the headers of the backend's response. A server that
/// does not support the request has no versions.
///
/// # Errors
/// The fault if the bucket does not exist or its settings cannot be read.
pub(super) async fn versioning(proxy: &Proxy, bucket: &str) -> Result<(bool, HeaderMap), Fault> {
    let target = Target::of(bucket, None, Query::new().with("versioning", ""));
    match document(proxy, &target).await {
        Ok((headers, xml)) => Ok((xml::read_versioning(&xml)?, headers)),
        Err(fault) if matches!(fault.status().as_u16(), 400 | 405 | 501) => {
            Ok((false, HeaderMap::new()))
        }
        Err(fault) => Err(fault),
    }
}
