//! Spelling of the keys of a bucket at the backend.

use endseal_s3_format::names::Names;
use endseal_s3_protocol::S3Error;

use super::position::Position;
use crate::names::name_error;

/// Spelling of clients' keys at the backend.
#[derive(Clone, Copy)]
pub(in crate::operations) enum KeyCodec<'a> {
    /// Encrypted.
    Encrypted(&'a Names),
    /// As they are.
    Plain,
}

impl KeyCodec<'_> {
    /// [`Names::seal_key`].
    ///
    /// # Errors
    /// `KeyTooLongError`.
    pub(super) fn seal_key(self, key: &str) -> Result<String, S3Error> {
        match self {
            Self::Encrypted(names) => names.seal_key(key).map_err(name_error),
            Self::Plain => Ok(key.to_owned()),
        }
    }

    /// [`Names::seal_prefix`].
    ///
    /// # Errors
    /// `KeyTooLongError`.
    pub(super) fn seal_prefix(self, prefix: &str) -> Result<(String, &str), S3Error> {
        match self {
            Self::Encrypted(names) => names.seal_prefix(prefix).map_err(name_error),
            Self::Plain => Ok((prefix.to_owned(), "")),
        }
    }

    /// Returns the client's name of a key of the backend; `None` if no client can name it.
    pub(super) fn open_key(self, stored: &str) -> Option<String> {
        match self {
            Self::Encrypted(names) => names.open_key(stored).ok(),
            Self::Plain => Some(stored.to_owned()),
        }
    }

    /// Returns true if a list can be asked for with this delimiter.
    pub(super) fn knows_delimiter(self, delimiter: Option<&str>) -> bool {
        matches!(self, Self::Plain) || matches!(delimiter, None | Some("" | "/"))
    }

    /// The client's token for what the backend has behind a page.
    pub(super) fn token_of(self, backend: &str) -> String {
        match self {
            Self::Encrypted(_) => Position::token_of(backend),
            Self::Plain => backend.to_owned(),
        }
    }

    /// Where the list goes on that a client has a token for.
    pub(super) fn position_of(self, token: &str) -> Option<Position> {
        match self {
            Self::Encrypted(_) => Position::of_token(token),
            Self::Plain => Some(Position::behind_token(token)),
        }
    }
}
