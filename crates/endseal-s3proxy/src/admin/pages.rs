//! Lists of the backend, page by page.
//!
//! A page is given out after the next one was fetched: what is removed from a page is never the
//! entry behind which the list goes on, which some servers want to find.

use endseal_s3_format::names::Names;
use endseal_s3_protocol::xml::{self, Listed, Next, Page};
use endseal_s3_protocol::{Query, Target};
use http::HeaderMap;

use super::ask::document;
use super::fault::Fault;
use crate::context::Proxy;

/// Which list.
#[derive(Clone, Copy)]
pub(super) enum List<'a> {
    /// The objects of a bucket whose keys begin with `prefix`, behind the key `after`.
    Objects { bucket: &'a str, prefix: &'a str, after: Option<&'a str> },
    /// Their versions, and markers of deletion.
    Versions { bucket: &'a str, prefix: &'a str },
    /// The uploads of a bucket that were begun and not ended.
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

/// The pages of a list.
pub(super) struct Pages<'a> {
    proxy: &'a Proxy,
    list: List<'a>,
    ahead: Option<Result<Page<Listed>, Fault>>,
}

impl<'a> Pages<'a> {
    /// A list from its beginning. Asks for the first page.
    pub(super) async fn of(proxy: &'a Proxy, list: List<'a>) -> Self {
        let mut own = Self { proxy, list, ahead: None };
        own.ahead = Some(own.fetch(None).await);
        own
    }

    /// The entries of the next page; `None` at the end.
    ///
    /// # Errors
    /// What the backend says, or that the list stands still.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Listed>>, Fault> {
        let Some(page) = self.ahead.take() else { return Ok(None) };
        let Page { entries, next } = page?;
        if let Some(next) = next {
            let following = match self.fetch(Some(&next)).await {
                Ok(page) if page.next.as_ref() == Some(&next) => {
                    Err(Fault::new("the server's list does not go on"))
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

/// The key by which the proxy speaks of an object, and true if that is the backend's.
///
/// A key that no client can name was written before names were encrypted, or past the proxy: its
/// content key is bound to the name that it has.
pub(super) fn client_key(names: Option<&Names>, stored: &str) -> (String, bool) {
    let opened = names.and_then(|names| names.open_key(stored).ok());
    let is_stored = names.is_some() && opened.is_none();
    (opened.unwrap_or_else(|| stored.to_owned()), is_stored)
}

/// The buckets to go through: this one, or all that the backend shows the proxy.
///
/// # Errors
/// What the backend says to the request for its buckets.
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

/// Returns true if a bucket has versions, and the headers of the backend's answer to that. A server
/// that knows none does not know the question either.
///
/// # Errors
/// If the bucket is not there, or may not be asked after.
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
