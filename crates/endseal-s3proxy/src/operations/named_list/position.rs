//! Positions in the lists of the backend, and their tokens and markers.

use base64ct::{Base64UrlUnpadded, Encoding as _};
use endseal_s3_format::RESERVED_PREFIX;
use endseal_s3_protocol::xml::EntryKind;

/// Behind everything that lies in a folder. No encrypted name has it.
const END: char = char::MAX;

/// Start of the proxy's own markers, behind the prefix of everything that is its own.
const NEXT: &str = "next/";

/// Where a page of the backend begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) key: Option<String>,
    pub(super) id: Option<String>,
    pub(super) token: Option<String>,
    /// A common prefix that was shown before.
    pub(super) done: Option<String>,
}

impl Position {
    /// The token for what the backend has behind a page.
    pub(super) fn token_of(backend: &str) -> String {
        format!("0{backend}")
    }

    /// The token for what is behind an entry of a page.
    pub(super) fn token_behind(kind: EntryKind, stored: &str) -> String {
        let kind = if kind == EntryKind::CommonPrefix { '2' } else { '1' };
        format!("{kind}{}", Base64UrlUnpadded::encode_string(stored.as_bytes()))
    }

    /// The marker for a key of the backend that no client can name: not a key of a client's either.
    pub(super) fn marker_of(stored: &str) -> String {
        format!("{RESERVED_PREFIX}{NEXT}{}", Base64UrlUnpadded::encode_string(stored.as_bytes()))
    }

    /// The key of the backend that such a marker names.
    pub(super) fn of_marker(marker: &str) -> Option<String> {
        let text = marker.strip_prefix(RESERVED_PREFIX)?.strip_prefix(NEXT)?;
        String::from_utf8(Base64UrlUnpadded::decode_vec(text).ok()?).ok()
    }

    /// Where the backend's token says.
    pub(super) fn behind_token(token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..Self::default() }
    }

    /// Behind all that a common prefix of the backend's stands for.
    pub(super) fn behind_prefix(stored: &str) -> Self {
        let (key, done) = (Some(format!("{stored}{END}")), Some(stored.to_owned()));
        Self { key, done, ..Self::default() }
    }

    /// Behind all that is the proxy's own.
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
