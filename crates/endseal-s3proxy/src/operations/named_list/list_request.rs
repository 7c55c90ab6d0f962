//! List requests of clients, and their queries for the backend.

use endseal_s3_protocol::Query;
use endseal_s3_protocol::S3Error;

use super::key_codec::KeyCodec;
use super::position::Position;

/// Maximum number of entries on a page in S3.
const MAX_KEYS: usize = 1_000;

/// Parameters that the proxy sets itself for the backend.
const TRANSLATED: [&str; 9] = [
    "continuation-token",
    "key-marker",
    "marker",
    "max-keys",
    "max-uploads",
    "prefix",
    "start-after",
    "upload-id-marker",
    "version-id-marker",
];

/// Kind of list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::operations) enum Kind {
    /// Objects with `ListObjects`.
    Objects1,
    /// Objects with `ListObjectsV2`.
    Objects2,
    /// Versions with `ListObjectVersions`.
    Versions,
    /// Uploads with `ListMultipartUploads`.
    Uploads,
}

/// Parsed request for a list.
pub(super) struct ListRequest {
    pub(super) kind: Kind,
    /// Prefix as the client sent it.
    pub(super) prefix: String,
    /// Prefix up to its last `/`, in the form of the backend.
    folder: String,
    /// True if the client's prefix continues behind its last `/`.
    is_partial: bool,
    pub(super) max: usize,
    /// Value of `marker`, `start-after` or `key-marker`.
    pub(super) after: Option<String>,
    /// Value of `version-id-marker` or `upload-id-marker`.
    pub(super) after_id: Option<String>,
    /// Value of `continuation-token`.
    pub(super) token: Option<String>,
    delimiter: Option<String>,
}

impl Kind {
    const fn max(self) -> &'static str {
        if matches!(self, Self::Uploads) { "max-uploads" } else { "max-keys" }
    }

    const fn marker(self) -> &'static str {
        match self {
            Self::Objects1 => "marker",
            Self::Objects2 => "start-after",
            Self::Versions | Self::Uploads => "key-marker",
        }
    }

    const fn id_marker(self) -> Option<&'static str> {
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
    /// `NotImplemented` for a delimiter other than `/` with encrypted names, `KeyTooLongError`, or
    /// `InvalidArgument` for a malformed number.
    pub(super) fn of(query: &Query, kind: Kind, key_codec: KeyCodec<'_>) -> Result<Self, S3Error> {
        if !key_codec.knows_delimiter(query.get("delimiter")) {
            return Err(S3Error::not_implemented().with_message(
                "Names in this bucket are encrypted: the only possible delimiter is /.",
            ));
        }
        let text = |name| query.get(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let prefix = text("prefix").unwrap_or_default();
        let (folder, rest) = key_codec.seal_prefix(&prefix)?;
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
            is_partial: !rest.is_empty(),
            folder,
            prefix,
            max,
            after: text(kind.marker()),
            after_id: kind.id_marker().and_then(text),
            token: text("continuation-token").filter(|_| kind == Kind::Objects2),
            delimiter: text("delimiter"),
        })
    }

    /// Returns true if a key is a common prefix of this list.
    fn is_common_prefix(&self, key: &str) -> bool {
        let delimiter = self.delimiter.as_deref();
        let rest = delimiter.zip(key.strip_prefix(&self.prefix));
        rest.is_some_and(|(delimiter, rest)| {
            rest.find(delimiter).is_some_and(|at| at + delimiter.len() == rest.len())
        })
    }

    /// Returns the position at which the first page starts.
    ///
    /// # Errors
    /// `KeyTooLongError`, or `InvalidArgument` for a token that this proxy did not issue.
    pub(super) fn begin(&self, key_codec: KeyCodec<'_>) -> Result<Position, S3Error> {
        if let Some(token) = &self.token {
            return key_codec.position_of(token).ok_or_else(|| {
                S3Error::invalid_argument("The continuation token provided is incorrect")
            });
        }
        let key = self.after.as_deref().map(|after| match Position::of_marker(after) {
            Some(stored) if matches!(key_codec, KeyCodec::Encrypted(_)) => Ok(stored),
            _ => key_codec.seal_key(after),
        });
        let key = key.transpose()?;
        // Servers differ in whether a marker that is a common prefix includes everything under it.
        if let Some(prefix) = &key
            && self.after.as_deref().is_some_and(|after| self.is_common_prefix(after))
        {
            return Ok(Position::behind_prefix(prefix));
        }
        Ok(Position { key, id: self.after_id.clone(), ..Position::default() })
    }

    /// Builds the query for the backend.
    pub(super) fn query(&self, client: &Query, position: &Position) -> Query {
        // Only a few entries of a folder may match a partial prefix, so whole pages are requested.
        // Pages of versions and uploads must not be cut: servers differ in whether a list continues
        // behind a marker or at it.
        let can_be_cut = matches!(self.kind, Kind::Objects1 | Kind::Objects2);
        let asks_for_more = self.is_partial && can_be_cut && self.max > 0;
        let max = if asks_for_more { MAX_KEYS } else { self.max };
        let mut query = client.clone().without(|name| TRANSLATED.contains(&name));
        if !self.folder.is_empty() {
            query = query.with("prefix", &self.folder);
        }
        query = query.with(self.kind.max(), &max.to_string());
        if let Some(token) = &position.token {
            return query.with("continuation-token", token);
        }
        if let Some(key) = &position.key {
            query = query.with(self.kind.marker(), key);
        }
        match (self.kind.id_marker(), &position.id) {
            (Some(name), Some(id)) => query.with(name, id),
            _ => query,
        }
    }
}

#[cfg(test)]
mod tests {
    use endseal_s3_format::names::{NameSecret, Names};
    use endseal_s3_protocol::Query;

    use super::super::KeyCodec;
    use super::{Kind, ListRequest, Position};

    fn names() -> Names {
        Names::new(&NameSecret::from_bytes(&[7; 32]), "bucket")
    }

    #[test]
    fn requests_are_translated() {
        let names = names();
        let key_codec = KeyCodec::Encrypted(&names);
        let sealed = |key| names.seal_key(key).unwrap();
        let client = Query::new()
            .with("list-type", "2")
            .with("prefix", "a/b c")
            .with("delimiter", "/")
            .with("start-after", "a/b d/")
            .with("max-keys", "7");
        let asked = ListRequest::of(&client, Kind::Objects2, key_codec).unwrap();
        let query = asked.query(&client, &asked.begin(key_codec).unwrap());
        assert_eq!(query.get("prefix"), Some(sealed("a/").as_str()));
        assert_eq!(query.get("start-after"), Some(sealed("a/b d/").as_str()));
        assert_eq!(query.get("max-keys"), Some("1000"), "few of them may be wanted");
        assert_eq!((query.get("list-type"), query.get("delimiter")), (Some("2"), Some("/")));
        let all = Query::new().with("key-marker", "k").with("version-id-marker", "v");
        let asked = ListRequest::of(&all, Kind::Versions, key_codec).unwrap();
        let query = asked.query(&all, &asked.begin(key_codec).unwrap());
        assert_eq!(query.get("key-marker"), Some(sealed("k").as_str()));
        assert_eq!((query.get("version-id-marker"), query.get("prefix")), (Some("v"), None));
    }

    #[test]
    fn a_marker_that_is_a_common_prefix_is_behind_all_of_it() {
        let names = names();
        for key_codec in [KeyCodec::Encrypted(&names), KeyCodec::Plain] {
            for (kind, marker) in [
                (Kind::Objects1, "marker"),
                (Kind::Versions, "key-marker"),
                (Kind::Uploads, "key-marker"),
            ] {
                let begin = |prefix: &str, delimiter: &str, after: &str| {
                    let query = Query::new()
                        .with("prefix", prefix)
                        .with("delimiter", delimiter)
                        .with(marker, after);
                    ListRequest::of(&query, kind, key_codec).unwrap().begin(key_codec).unwrap()
                };
                for (prefix, after) in [("", "a/"), ("a/", "a/b/"), ("a/b", "a/bc/")] {
                    let stored = key_codec.seal_key(after).unwrap();
                    let position = begin(prefix, "/", after);
                    assert_eq!(position.done.as_ref(), Some(&stored), "{prefix} {after}");
                    assert_eq!(position.key, Some(format!("{stored}\u{10ffff}")));
                    assert_eq!(begin(prefix, "", after).key, Some(stored), "without a delimiter");
                }
                for (prefix, after) in [("", "a/b/"), ("a/", "a/"), ("b/", "a/"), ("", "a")] {
                    let position = begin(prefix, "/", after);
                    assert_eq!(
                        (position.key, position.done),
                        (key_codec.seal_key(after).ok(), None)
                    );
                }
            }
        }
    }

    #[test]
    fn markers_of_the_proxys_own_are_places_of_the_backend() {
        let names = names();
        for stored in ["foreign/\u{e9}", "x", ".endseal/\u{10ffff}"] {
            let marker = Position::marker_of(stored);
            let query = Query::new().with("key-marker", &marker).with("version-id-marker", "v");
            for (key_codec, expected) in
                [(KeyCodec::Encrypted(&names), stored), (KeyCodec::Plain, marker.as_str())]
            {
                let asked = ListRequest::of(&query, Kind::Versions, key_codec).unwrap();
                let position = asked.begin(key_codec).unwrap();
                assert_eq!(position.key.as_deref(), Some(expected));
                assert_eq!(position.id.as_deref(), Some("v"));
            }
        }
        // Any other marker is an ordinary key.
        for marker in ["next/x", ".endseal/next/!"] {
            let query = Query::new().with("marker", marker);
            let asked =
                ListRequest::of(&query, Kind::Objects1, KeyCodec::Encrypted(&names)).unwrap();
            let position = asked.begin(KeyCodec::Encrypted(&names)).unwrap();
            assert_eq!(position.key, names.seal_key(marker).ok());
        }
    }

    #[test]
    fn what_cannot_be_translated_is_refused() {
        let names = names();
        let code = |query: &Query| {
            let asked = ListRequest::of(query, Kind::Objects2, KeyCodec::Encrypted(&names));
            asked
                .and_then(|asked| asked.begin(KeyCodec::Encrypted(&names)))
                .map(|_| ())
                .unwrap_err()
                .code()
                .to_owned()
        };
        for delimiter in ["a", "//", "%2F"] {
            assert_eq!(code(&Query::new().with("delimiter", delimiter)), "NotImplemented");
        }
        let long = format!("{}/", "x".repeat(900));
        assert_eq!(code(&Query::new().with("prefix", &long)), "KeyTooLongError");
        assert_eq!(code(&Query::new().with("start-after", &long)), "KeyTooLongError");
        for token in ["x", "3abc", "1!", "\u{e4}", "1_w"] {
            let query = Query::new().with("continuation-token", token);
            assert_eq!(code(&query), "InvalidArgument", "{token}");
        }
        assert_eq!(code(&Query::new().with("max-keys", "many")), "InvalidArgument");
    }

    #[test]
    fn tokens_come_back() {
        let token = Position::token_of("of the backend");
        let position = Position::of_token(&token).unwrap();
        assert_eq!(position.token.as_deref(), Some("of the backend"));
    }
}
