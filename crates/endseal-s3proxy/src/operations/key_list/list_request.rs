//! List requests of clients, and the elements of lists that repeat them.

use endseal_s3_protocol::Query;
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::Leaf;

/// Maximum number of entries on a page in S3.
pub(super) const MAX_KEYS: usize = 1_000;

/// Parameters about the size of a page and its position in the list.
const PAGING: [&str; 8] = [
    "continuation-token",
    "key-marker",
    "marker",
    "max-keys",
    "max-uploads",
    "start-after",
    "upload-id-marker",
    "version-id-marker",
];

/// Kind of list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::operations) enum ListKind {
    /// Objects with `ListObjects`.
    Objects1,
    /// Objects with `ListObjectsV2`.
    Objects2,
    /// Versions with `ListObjectVersions`.
    Versions,
    /// Uploads with `ListMultipartUploads`.
    Uploads,
}

/// Parsed request for a list. Parameters without a value are as if they were missing.
pub(super) struct ListRequest {
    pub(super) kind: ListKind,
    pub(super) prefix: String,
    pub(super) delimiter: Option<String>,
    /// Maximum number of entries on a page, at most [`MAX_KEYS`].
    pub(super) max: usize,
    /// Value of `marker`, `start-after` or `key-marker`.
    pub(super) after: Option<String>,
    /// Value of `version-id-marker` or `upload-id-marker`.
    pub(super) after_id: Option<String>,
    /// Value of `continuation-token`.
    pub(super) token: Option<String>,
}

/// Start of the next page, in terms of clients.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NextPage {
    /// Key or common prefix after which the next page begins.
    pub(super) key: Option<String>,
    /// Version or upload of that key after which it begins.
    pub(super) id: Option<String>,
    /// Continuation token, for [`ListKind::Objects2`].
    pub(super) token: Option<String>,
}

impl ListKind {
    /// Returns the name of the parameter with the maximum number of entries.
    pub(super) const fn max(self) -> &'static str {
        if matches!(self, Self::Uploads) { "max-uploads" } else { "max-keys" }
    }

    /// Returns the name of the parameter with the key after which the list begins.
    pub(super) const fn marker(self) -> &'static str {
        match self {
            Self::Objects1 => "marker",
            Self::Objects2 => "start-after",
            Self::Versions | Self::Uploads => "key-marker",
        }
    }

    /// Returns the name of the parameter with the version or upload after which it begins.
    pub(super) const fn id_marker(self) -> Option<&'static str> {
        match self {
            Self::Objects1 | Self::Objects2 => None,
            Self::Versions => Some("version-id-marker"),
            Self::Uploads => Some("upload-id-marker"),
        }
    }
}

impl ListRequest {
    /// Parses a request.
    ///
    /// # Errors
    /// `InvalidArgument` for a malformed number.
    pub(super) fn of(query: &Query, kind: ListKind) -> Result<Self, S3Error> {
        let text = |name| query.get(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let max = match text(kind.max()) {
            None => MAX_KEYS,
            Some(number) => {
                let number = number.parse::<u32>().map_err(|_| {
                    S3Error::invalid_argument(format!("{} is not a number.", kind.max()))
                })?;
                usize::try_from(number).unwrap_or(MAX_KEYS).min(MAX_KEYS)
            }
        };
        Ok(Self {
            kind,
            prefix: text("prefix").unwrap_or_default(),
            delimiter: text("delimiter"),
            max,
            after: text(kind.marker()),
            after_id: kind.id_marker().and_then(text),
            token: text("continuation-token").filter(|_| kind == ListKind::Objects2),
        })
    }

    /// Returns the common prefix that stands for a key in the list, or `None` for a key that the
    /// list shows itself. The key must begin with the request's prefix.
    pub(super) fn common_prefix<'k>(&self, key: &'k str) -> Option<&'k str> {
        let delimiter = self.delimiter.as_deref()?;
        let at = key.get(self.prefix.len()..)?.find(delimiter)?;
        key.get(..self.prefix.len() + at + delimiter.len())
    }

    /// Returns true if a marker is a common prefix of this list.
    pub(super) fn is_common_prefix(&self, marker: &str) -> bool {
        marker.starts_with(&self.prefix) && self.common_prefix(marker) == Some(marker)
    }

    /// Returns the client's query without the parameters about pages.
    pub(super) fn unpaged(client: &Query) -> Query {
        client.clone().without(|name| PAGING.contains(&name))
    }

    /// Returns the elements of a list that repeat the request, and those about its next page.
    /// `shown` is the number of entries on the page, and `next` is missing on the last page.
    pub(super) fn leaves(&self, shown: usize, next: Option<&NextPage>) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        let mut leaf = |name, text: &str, is_key| {
            leaves.push(Leaf { name, text: text.to_owned(), is_key });
        };
        leaf("Prefix", &self.prefix, true);
        let (key, id) = (self.after.as_deref(), self.after_id.as_deref());
        let next_key = next.and_then(|next| next.key.as_deref());
        let next_id = next.and_then(|next| next.id.as_deref());
        match self.kind {
            ListKind::Objects1 => {
                leaf("Marker", key.unwrap_or_default(), true);
                next_key.iter().for_each(|next| leaf("NextMarker", next, true));
            }
            ListKind::Objects2 => {
                self.token.iter().for_each(|token| leaf("ContinuationToken", token, false));
                key.iter().for_each(|key| leaf("StartAfter", key, true));
                let token = next.and_then(|next| next.token.as_deref());
                token.iter().for_each(|token| leaf("NextContinuationToken", token, false));
                leaf("KeyCount", &shown.to_string(), false);
            }
            ListKind::Versions | ListKind::Uploads => {
                let (marker, next_marker) = match self.kind {
                    ListKind::Versions => ("VersionIdMarker", "NextVersionIdMarker"),
                    _ => ("UploadIdMarker", "NextUploadIdMarker"),
                };
                leaf("KeyMarker", key.unwrap_or_default(), true);
                leaf(marker, id.unwrap_or_default(), false);
                next_key.iter().for_each(|next| leaf("NextKeyMarker", next, true));
                next_id.iter().for_each(|next| leaf(next_marker, next, false));
            }
        }
        let max = if self.kind == ListKind::Uploads { "MaxUploads" } else { "MaxKeys" };
        leaf(max, &self.max.to_string(), false);
        leaf("IsTruncated", if next.is_some() { "true" } else { "false" }, false);
        leaves
    }
}

#[cfg(test)]
mod tests {
    use endseal_s3_protocol::Query;

    use super::{ListKind, ListRequest};

    #[test]
    fn a_page_has_at_most_1000_entries() {
        for (max, expected) in [("", 1_000), ("0", 0), ("7", 7), ("1001", 1_000)] {
            let query = Query::new().with("max-keys", max);
            assert_eq!(ListRequest::of(&query, ListKind::Objects1).unwrap().max, expected);
        }
        for max in ["many", "-1"] {
            let query = Query::new().with("max-uploads", max);
            let refused = ListRequest::of(&query, ListKind::Uploads).err().unwrap();
            assert_eq!(refused.code(), "InvalidArgument", "{max}");
        }
    }

    #[test]
    fn keys_are_grouped_behind_the_prefix() {
        for (prefix, delimiter, key, expected) in [
            ("", "/", "a/b/c", Some("a/")),
            ("a/", "/", "a/b/c", Some("a/b/")),
            ("a/b", "/", "a/bc/d", Some("a/bc/")),
            ("a/", "/", "a/", None),
            ("", "", "a/b", None),
            ("", "bc", "abcd", Some("abc")),
            ("a\u{e9}", "\u{e9}", "a\u{e9}b\u{e9}c", Some("a\u{e9}b\u{e9}")),
        ] {
            let query = Query::new().with("prefix", prefix).with("delimiter", delimiter);
            let asked = ListRequest::of(&query, ListKind::Objects2).unwrap();
            assert_eq!(asked.common_prefix(key), expected, "{prefix} {key}");
            assert!(expected.is_none_or(|it| asked.is_common_prefix(it)), "{prefix} {key}");
            assert!(!asked.is_common_prefix(key), "{prefix} {key}");
        }
    }
}
