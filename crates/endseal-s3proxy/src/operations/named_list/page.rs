//! Page of the backend's list, and the selection of entries that a client may see.

use bytes::Bytes;
use endseal_s3_format::RESERVED_PREFIX;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::{self, EntryKind, ListHead};

use super::KeyCodec;
use super::list_request::ListRequest;
use super::position::Position;
use crate::names::is_reserved;

/// Entry of a page.
pub(super) struct Item {
    pub(super) kind: EntryKind,
    /// Key at the backend.
    pub(super) stored: String,
    /// Id of the version or upload at the backend.
    pub(super) id: Option<String>,
    /// Id of an upload that the client got.
    pub(super) given: Option<String>,
    /// Client's name of the key; `None` if no client can name it.
    pub(super) client: Option<String>,
    is_visible: bool,
}

impl Item {
    /// Returns the id of the version or upload that clients see.
    pub(super) fn shown_id(&self) -> Option<&str> {
        self.given.as_deref().or(self.id.as_deref())
    }
}

/// Page with its entries in the order of the document.
pub(super) struct Page {
    pub(super) document: Bytes,
    pub(super) head: ListHead,
    pub(super) items: Vec<Item>,
    /// Indexes of the entries in the order of the backend's keys. Common prefixes are sorted among
    /// the objects.
    order: Vec<usize>,
    /// Number of entries whose names cannot be decrypted.
    pub(super) foreign: u64,
    kind: super::Kind,
}

impl Page {
    /// Parses a page.
    ///
    /// # Errors
    /// `InternalError` if the document is not a list.
    pub(super) fn read(
        document: Bytes,
        asked: &ListRequest,
        position: &Position,
        key_codec: KeyCodec<'_>,
    ) -> Result<Self, S3Error> {
        let wrong = |_| S3Error::internal();
        let head = ListHead::read(&document).map_err(wrong)?;
        let (mut items, mut foreign) = (Vec::new(), 0);
        xml::entries(&document, |entry| {
            let stored = entry.key.as_deref().unwrap_or_default().to_owned();
            let is_own = is_reserved(&stored);
            let client = key_codec.open_key(&stored).filter(|_| !is_own && !stored.is_empty());
            foreign += u64::from(client.is_none() && !is_own);
            let is_wanted = client.as_deref().is_some_and(|key| key.starts_with(&asked.prefix));
            let is_visible = is_wanted && position.done.as_deref() != Some(stored.as_str());
            let id = entry.version_id.as_deref().or(entry.upload_id.as_deref());
            let id = id.map(str::to_owned);
            items.push(Item { kind: entry.kind, stored, id, given: None, client, is_visible });
        })
        .map_err(wrong)?;
        let mut order: Vec<usize> = (0..items.len()).collect();
        // The sort is stable, so versions of one key stay in their order.
        order.sort_by(|a, b| items[*a].stored.cmp(&items[*b].stored));
        Ok(Self { document, head, items, order, foreign, kind: asked.kind })
    }

    /// Returns the number of entries that the client may see.
    pub(super) fn visible(&self) -> usize {
        self.items.iter().filter(|item| item.is_visible).count()
    }

    /// Returns true if the client may see no entry of this page and more pages follow.
    pub(super) fn shows_nothing(&self) -> bool {
        self.head.is_truncated && self.visible() == 0
    }

    /// Returns the indexes of the first `max` visible entries, in the order of the backend's keys.
    pub(super) fn shown(&self, max: usize) -> Vec<usize> {
        let visible = self.order.iter().copied().filter(|at| self.items[*at].is_visible);
        visible.take(max).collect()
    }

    /// Returns the backend's next position in terms of clients, if a client can name it: a key, and
    /// a version or upload.
    pub(super) fn next_opened(&self, key_codec: KeyCodec<'_>) -> Option<(String, Option<String>)> {
        let key = self.head.next_key.as_deref().filter(|key| !is_reserved(key))?;
        let id = self.head.next_id.as_deref();
        let item = self.items.iter().find(|item| item.stored == key && item.id.as_deref() == id);
        let id = item.map_or(id, Item::shown_id);
        Some((key_codec.open_key(key)?, id.map(str::to_owned)))
    }

    /// Returns the last entry that a client can name.
    pub(super) fn last_opened(&self) -> Option<&Item> {
        let items = self.order.iter().rev().map(|at| &self.items[*at]);
        items.into_iter().find(|item| item.client.is_some())
    }

    /// Returns the position at which the next page starts.
    ///
    /// # Errors
    /// If the backend does not state it, or states the position of this page again.
    pub(super) fn next(&self, position: &Position) -> Result<Position, S3Error> {
        let head = &self.head;
        let done = position.done.clone();
        // The reserved prefix is skipped as a whole, because it can contain 10,000 parts of each of
        // many uploads.
        let last = self.order.last().map(|at| self.items[*at].stored.as_str());
        let behind = Position { done: done.clone(), ..Position::behind_reserved() };
        if last.is_some_and(|key| key.starts_with(RESERVED_PREFIX)) && *position != behind {
            return Ok(behind);
        }
        let next = match self.kind {
            super::Kind::Objects2 => {
                let token = Some(head.next_token.clone().ok_or_else(S3Error::internal)?);
                Position { token, done, ..Position::default() }
            }
            _ => {
                // Without a delimiter, S3 expects the caller to continue after the last key.
                let last = || last.map(str::to_owned);
                let key = head.next_key.clone().or_else(last).ok_or_else(S3Error::internal)?;
                Position { key: Some(key), id: head.next_id.clone(), done, ..Position::default() }
            }
        };
        if next == *position { Err(S3Error::internal()) } else { Ok(next) }
    }
}

#[cfg(test)]
mod tests {
    use endseal_s3_format::names::{NameSecret, Names};
    use endseal_s3_protocol::Query;

    use super::super::KeyCodec;
    use super::super::list_request::{Kind, ListRequest};
    use super::super::position::Position;
    use super::Page;

    fn names() -> Names {
        Names::new(&NameSecret::from_bytes(&[7; 32]), "bucket")
    }

    fn page(kind: Kind, query: &Query, position: &Position, document: &str) -> Page {
        let names = names();
        let asked = ListRequest::of(query, kind, KeyCodec::Encrypted(&names)).unwrap();
        let document = document.as_bytes().to_vec().into();
        Page::read(document, &asked, position, KeyCodec::Encrypted(&names)).unwrap()
    }

    #[test]
    fn common_prefixes_are_in_their_place_among_objects() {
        let names = names();
        let mut sealed: Vec<(String, &str)> =
            ["a", "b", "c/", "d", "e/", "f"].map(|key| (names.seal_key(key).unwrap(), key)).into();
        let folders = sealed.iter().filter(|(_, key)| key.ends_with('/'));
        let folders: String = folders
            .map(|(key, _)| format!("<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>"))
            .collect();
        sealed.sort();
        let objects = sealed.iter().filter(|(_, key)| !key.ends_with('/'));
        let objects: String =
            objects.map(|(key, _)| format!("<Contents><Key>{key}</Key></Contents>")).collect();
        let document = format!(
            "<ListBucketResult><IsTruncated>true</IsTruncated>{objects}{folders}\
             <Contents><Key>foreign</Key></Contents></ListBucketResult>"
        );
        let page = page(Kind::Objects1, &Query::new(), &Position::default(), &document);
        let shown = |max| -> Vec<&str> {
            let shown = page.shown(max);
            shown.iter().map(|at| page.items[*at].client.as_deref().unwrap()).collect()
        };
        let expected: Vec<&str> = sealed.iter().map(|(_, key)| *key).collect();
        assert_eq!(shown(1_000), expected);
        assert_eq!(shown(3), expected[..3]);
        assert_eq!((page.visible(), page.foreign, page.shows_nothing()), (6, 1, false));
        assert_eq!(page.last_opened().unwrap().client.as_deref(), expected.last().copied());
    }

    #[test]
    fn versions_of_a_key_stay_in_their_order() {
        let names = names();
        let [one, two] = ["k/one", "k/two"].map(|key| names.seal_key(key).unwrap());
        let version = |name: &str, key: &str, id: &str| {
            format!("<{name}><Key>{key}</Key><VersionId>{id}</VersionId></{name}>")
        };
        let document = format!(
            "<ListVersionsResult><IsTruncated>true</IsTruncated>\
             <NextKeyMarker>{two}</NextKeyMarker><NextVersionIdMarker>4</NextVersionIdMarker>{}{}{}{}\
             </ListVersionsResult>",
            version("DeleteMarker", &one, "9"),
            version("Version", &one, "2"),
            version("Version", &one, "5"),
            version("Version", &two, "4"),
        );
        let query = Query::new().with("prefix", "k/o");
        let position = Position::default();
        let page = page(Kind::Versions, &query, &position, &document);
        let ids: Vec<&str> =
            page.shown(9).iter().map(|at| page.items[*at].id.as_deref().unwrap()).collect();
        assert_eq!(ids, ["9", "2", "5"]);
        let next = page.next(&position).unwrap();
        assert_eq!((next.key.as_deref(), next.id.as_deref()), (Some(two.as_str()), Some("4")));
        assert!(page.next(&next).is_err(), "a list that repeats its position");
    }

    #[test]
    fn a_page_of_nothing_that_can_be_seen_shows_nothing() {
        let key = names().seal_key("folder/other").unwrap();
        let document = format!(
            "<ListBucketResult><IsTruncated>true</IsTruncated>\
             <NextContinuationToken>t</NextContinuationToken>\
             <Contents><Key>{key}</Key></Contents>\
             <Contents><Key>.endseal/parked/x</Key></Contents></ListBucketResult>"
        );
        let query = Query::new().with("prefix", "folder/k");
        let page = page(Kind::Objects2, &query, &Position::default(), &document);
        assert!(page.shows_nothing() && page.foreign == 0 && page.last_opened().is_some());
        let next = page.next(&Position::default()).unwrap();
        assert_eq!(next.token.as_deref(), Some("t"));
    }

    #[test]
    fn all_that_is_the_proxys_own_is_passed_over_at_once() {
        let behind = Position::behind_reserved();
        let entry = |name: &str, id: &str| {
            format!("<{name}><Key>.endseal/parked/x/00001</Key><{id}>5</{id}></{name}>")
        };
        for (kind, root, entry) in [
            (Kind::Objects1, "ListBucketResult", entry("Contents", "ETag")),
            (Kind::Objects2, "ListBucketResult", entry("Contents", "ETag")),
            (Kind::Versions, "ListVersionsResult", entry("Version", "VersionId")),
            (Kind::Uploads, "ListMultipartUploadsResult", entry("Upload", "UploadId")),
        ] {
            let document = format!(
                "<{root}><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>\
                 <NextVersionIdMarker>5</NextVersionIdMarker>\
                 <NextContinuationToken>t</NextContinuationToken>{entry}</{root}>"
            );
            for key_codec in [KeyCodec::Plain, KeyCodec::Encrypted(&names())] {
                let asked = ListRequest::of(&Query::new(), kind, key_codec).unwrap();
                let bytes = document.as_bytes().to_vec().into();
                let page = Page::read(bytes, &asked, &Position::default(), key_codec).unwrap();
                assert!(page.shows_nothing(), "{kind:?}");
                assert_eq!(page.next(&Position::default()).unwrap(), behind, "{kind:?}");
                // If a server does not continue there, its next page is requested.
                let next = page.next(&behind).unwrap();
                assert_ne!(next, behind, "{kind:?}");
                assert_eq!(next.token.is_some(), kind == Kind::Objects2);
            }
        }
    }
}
