//! Positions in the backend's lists.

use endseal_s3_format::RESERVED_PREFIX;
use endseal_s3_protocol::xml::ListHead;
use endseal_s3_protocol::{Query, S3Error};

use super::list_request::ListKind;

/// Character that sorts behind everything in a folder.
const END: char = char::MAX;

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

    /// Returns the position behind a page that started at this one. `last` is the greatest key on
    /// the page.
    ///
    /// # Errors
    /// If the backend does not state the next position, or states this one again.
    pub(super) fn next(
        &self,
        kind: ListKind,
        head: &ListHead,
        last: Option<&str>,
    ) -> Result<Self, S3Error> {
        let done = self.done.clone();
        // The reserved prefix is skipped as a whole, because it can contain 10,000 parts of each of
        // many uploads.
        let behind = Self { done: done.clone(), ..Self::behind_reserved() };
        if last.is_some_and(|key| key.starts_with(RESERVED_PREFIX)) && *self != behind {
            return Ok(behind);
        }
        let next = match kind {
            ListKind::Objects2 => {
                let token = Some(head.next_token.clone().ok_or_else(S3Error::internal)?);
                Self { token, done, ..Self::default() }
            }
            _ => {
                // Without a delimiter, S3 expects the caller to continue after the last key.
                let last = || last.map(str::to_owned);
                let key = head.next_key.clone().or_else(last).ok_or_else(S3Error::internal)?;
                Self { key: Some(key), id: head.next_id.clone(), done, ..Self::default() }
            }
        };
        if next == *self { Err(S3Error::internal()) } else { Ok(next) }
    }

    /// Adds the parameters of the position to a query for the backend.
    pub(super) fn add_to(&self, mut query: Query, kind: ListKind) -> Query {
        if let Some(token) = &self.token {
            return query.with("continuation-token", token);
        }
        if let Some(key) = &self.key {
            query = query.with(kind.marker(), key);
        }
        match (kind.id_marker(), &self.id) {
            (Some(name), Some(id)) => query.with(name, id),
            _ => query,
        }
    }
}
