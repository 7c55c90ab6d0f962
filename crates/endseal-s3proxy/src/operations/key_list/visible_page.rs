//! Page of the backend's list, and the selection of entries that a client may see.

use bytes::Bytes;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::{self, EntryKind, ListHead};

use super::list_request::{ListRequest, NextPage};
use super::position::Position;
use crate::names::is_reserved;

/// Entry of a page.
pub(super) struct PageEntry {
    pub(super) kind: EntryKind,
    pub(super) key: String,
    /// Id of the version or upload at the backend.
    pub(super) id: Option<String>,
    /// Id of an upload that the client got.
    pub(super) given: Option<String>,
    pub(super) is_visible: bool,
}

impl PageEntry {
    /// Returns the id of the version or upload that clients see.
    fn shown_id(&self) -> Option<&str> {
        self.given.as_deref().or(self.id.as_deref())
    }
}

/// Page with its entries in the order of the document.
pub(super) struct VisiblePage {
    pub(super) document: Bytes,
    pub(super) head: ListHead,
    pub(super) entries: Vec<PageEntry>,
}

impl VisiblePage {
    /// Parses a page.
    ///
    /// # Errors
    /// `InternalError` if the document is not a list.
    pub(super) fn read(document: Bytes, position: &Position) -> Result<Self, S3Error> {
        let wrong = |_| S3Error::internal();
        let head = ListHead::read(&document).map_err(wrong)?;
        let mut entries = Vec::new();
        xml::entries(&document, |entry| {
            let key = entry.key.as_deref().unwrap_or_default().to_owned();
            let is_shown = position.done.as_deref() == Some(key.as_str());
            let is_visible = !key.is_empty() && !is_reserved(&key) && !is_shown;
            let id = entry.version_id.as_deref().or(entry.upload_id.as_deref());
            let id = id.map(str::to_owned);
            entries.push(PageEntry { kind: entry.kind, key, id, given: None, is_visible });
        })
        .map_err(wrong)?;
        Ok(Self { document, head, entries })
    }

    /// Returns the entries that the client may see.
    pub(super) fn visible(&self) -> impl Iterator<Item = &PageEntry> {
        self.entries.iter().filter(|entry| entry.is_visible)
    }

    /// Returns true if the client may see no entry of this page and more pages follow.
    pub(super) fn shows_nothing(&self) -> bool {
        self.head.is_truncated && self.visible().next().is_none()
    }

    /// Returns the start of the next page for the client, or `None` if this page is the last one.
    pub(super) fn next_page(&self, asked: &ListRequest) -> Option<NextPage> {
        if asked.max == 0 || !self.head.is_truncated {
            return None;
        }
        let named = self.head.next_key.as_deref().filter(|key| !is_reserved(key));
        let (key, id) = match named {
            Some(key) => {
                let id = self.head.next_id.as_deref();
                let is_it = |it: &&PageEntry| it.key == key && it.id.as_deref() == id;
                let entry = self.entries.iter().find(is_it);
                (Some(key), entry.map_or(id, PageEntry::shown_id))
            }
            None => {
                let last = self.visible().max_by(|a, b| a.key.cmp(&b.key));
                (last.map(|last| last.key.as_str()), last.and_then(PageEntry::shown_id))
            }
        };
        Some(NextPage {
            key: key.map(str::to_owned),
            id: id.map(str::to_owned),
            token: self.head.next_token.clone(),
        })
    }

    /// Returns the position at which the backend's next page starts.
    ///
    /// # Errors
    /// The errors of [`Position::next`].
    pub(super) fn next(
        &self,
        asked: &ListRequest,
        position: &Position,
    ) -> Result<Position, S3Error> {
        let last = self.entries.iter().map(|entry| entry.key.as_str()).max();
        position.next(asked.kind, &self.head, last)
    }
}

#[cfg(test)]
mod tests {
    use endseal_s3_protocol::Query;

    use super::super::list_request::{ListKind, ListRequest};
    use super::super::position::Position;
    use super::VisiblePage;

    fn page(document: &str) -> VisiblePage {
        VisiblePage::read(document.as_bytes().to_vec().into(), &Position::default()).unwrap()
    }

    #[test]
    fn a_list_that_repeats_its_position_is_an_error() {
        let document = "<ListVersionsResult><IsTruncated>true</IsTruncated>\
            <NextKeyMarker>k</NextKeyMarker><NextVersionIdMarker>4</NextVersionIdMarker>\
            <Version><Key>k</Key><VersionId>4</VersionId></Version></ListVersionsResult>";
        let asked = ListRequest::of(&Query::new(), ListKind::Versions).unwrap();
        let page = page(document);
        let next = page.next(&asked, &Position::default()).unwrap();
        assert_eq!((next.key.as_deref(), next.id.as_deref()), (Some("k"), Some("4")));
        assert_eq!(page.next(&asked, &next).unwrap_err().code(), "InternalError");
    }

    #[test]
    fn the_proxys_own_objects_are_skipped_at_once() {
        let behind = Position::behind_reserved();
        let entry = |name: &str, id: &str| {
            format!("<{name}><Key>.endseal/parked/x/00001</Key><{id}>5</{id}></{name}>")
        };
        for (kind, root, entry) in [
            (ListKind::Objects1, "ListBucketResult", entry("Contents", "ETag")),
            (ListKind::Objects2, "ListBucketResult", entry("Contents", "ETag")),
            (ListKind::Versions, "ListVersionsResult", entry("Version", "VersionId")),
            (ListKind::Uploads, "ListMultipartUploadsResult", entry("Upload", "UploadId")),
        ] {
            let page = page(&format!(
                "<{root}><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>\
                 <NextVersionIdMarker>5</NextVersionIdMarker>\
                 <NextContinuationToken>t</NextContinuationToken>{entry}</{root}>"
            ));
            let asked = ListRequest::of(&Query::new(), kind).unwrap();
            assert!(page.shows_nothing(), "{kind:?}");
            assert_eq!(page.next(&asked, &Position::default()).unwrap(), behind, "{kind:?}");
            // If a server does not continue there, its next page is requested.
            let next = page.next(&asked, &behind).unwrap();
            assert_ne!(next, behind, "{kind:?}");
            assert_eq!(next.token.is_some(), kind == ListKind::Objects2);
        }
    }
}
