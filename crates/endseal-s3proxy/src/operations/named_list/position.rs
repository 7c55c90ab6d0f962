//! Positions in the backend's lists, and their tokens and markers for clients.

use base64ct::{Base64UrlUnpadded, Encoding as _};
use endseal_s3_format::RESERVED_PREFIX;
use endseal_s3_protocol::xml::EntryKind;

/// Character that sorts behind everything in a folder. No encrypted name contains it.
const END: char = char::MAX;

/// Start of the proxy's own markers, after the reserved prefix.
const NEXT: &str = "next/";

/// Position at which a page of the backend starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) key: Option<String>,
    pub(super) id: Option<String>,
    pub(super) token: Option<String>,
    /// Common prefix that an earlier page has already returned.
    pub(super) done: Option<String>,
}

impl Position {
    /// Returns the client's token for a token of the backend.
    pub(super) fn token_of(backend: &str) -> String {
        format!("0{backend}")
    }

    /// Returns the client's token for the position behind an entry.
    pub(super) fn token_behind(kind: EntryKind, stored: &str) -> String {
        let kind = if kind == EntryKind::CommonPrefix { '2' } else { '1' };
        format!("{kind}{}", Base64UrlUnpadded::encode_string(stored.as_bytes()))
    }

    /// Returns the marker for a backend key that no client can name. No client key has this form.
    pub(super) fn marker_of(stored: &str) -> String {
        format!("{RESERVED_PREFIX}{NEXT}{}", Base64UrlUnpadded::encode_string(stored.as_bytes()))
    }

    /// Returns the backend key that such a marker stands for.
    pub(super) fn of_marker(marker: &str) -> Option<String> {
        let text = marker.strip_prefix(RESERVED_PREFIX)?.strip_prefix(NEXT)?;
        String::from_utf8(Base64UrlUnpadded::decode_vec(text).ok()?).ok()
    }

    /// Returns the position of a backend token.
    pub(super) fn behind_token(token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..Self::default() }
    }

    /// Returns the position behind everything under a common prefix of the backend.
    pub(super) fn behind_prefix(stored: &str) -> Self {
        let (key, done) = (Some(format!("{stored}{END}")), Some(stored.to_owned()));
        Self { key, done, ..Self::default() }
    }

    /// Returns the position behind the reserved prefix.
    pub(super) fn behind_reserved() -> Self {
        Self { key: Some(format!("{RESERVED_PREFIX}{END}")), ..Self::default() }
    }

    pub(super) fn of_token(token: &str) -> Option<Self> {
        let rest = token.get(1..)?;
        if token.starts_with('0') {
            return Some(Self::behind_token(rest));
        }
        let key = String::from_utf8(Base64UrlUnpadded::decode_vec(rest).ok()?).ok()?;
        match token.get(..1)? {
            "1" => Some(Self { key: Some(key), ..Self::default() }),
            "2" => Some(Self::behind_prefix(&key)),
            _ => None,
        }
    }
}
