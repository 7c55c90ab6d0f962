//! Translation of keys between clients and the backend in lists.

use endseal_s3_format::names::Names;
use endseal_s3_protocol::S3Error;

use super::position::Position;
use crate::names::name_error;

/// Form of the keys of a bucket at the backend.
#[derive(Clone, Copy)]
pub(in crate::operations) enum KeyCodec<'a> {
    /// Keys are encrypted.
    Encrypted(&'a Names),
    /// Keys are the same as those of clients.
    Plain,
}

impl KeyCodec<'_> {
    /// Encrypts a key, like [`Names::seal_key`].
    ///
    /// # Errors
    /// `KeyTooLongError` if the encrypted key is too long.
    pub(super) fn seal_key(self, key: &str) -> Result<String, S3Error> {
        match self {
            Self::Encrypted(names) => names.seal_key(key).map_err(name_error),
            Self::Plain => Ok(key.to_owned()),
        }
    }

    /// Encrypts a prefix up to its last `/`, like [`Names::seal_prefix`]. Returns the rest of it,
    /// too.
    ///
    /// # Errors
    /// `KeyTooLongError` if the encrypted prefix is too long.
    pub(super) fn seal_prefix(self, prefix: &str) -> Result<(String, &str), S3Error> {
        match self {
            Self::Encrypted(names) => names.seal_prefix(prefix).map_err(name_error),
            Self::Plain => Ok((prefix.to_owned(), "")),
        }
    }

    /// Returns the client's name of a backend key, or `None` if no client can name it.
    pub(super) fn open_key(self, stored: &str) -> Option<String> {
        match self {
            Self::Encrypted(names) => names.open_key(stored).ok(),
            Self::Plain => Some(stored.to_owned()),
        }
    }

    /// Returns true if lists support this delimiter.
    pub(super) fn knows_delimiter(self, delimiter: Option<&str>) -> bool {
        matches!(self, Self::Plain) || matches!(delimiter, None | Some("" | "/"))
    }

    /// Returns the client's continuation token for a token of the backend.
    pub(super) fn token_of(self, backend: &str) -> String {
        match self {
            Self::Encrypted(_) => Position::token_of(backend),
            Self::Plain => backend.to_owned(),
        }
    }

    /// Returns the position that a client's continuation token stands for.
    pub(super) fn position_of(self, token: &str) -> Option<Position> {
        match self {
            Self::Encrypted(_) => Position::of_token(token),
            Self::Plain => Some(Position::behind_token(token)),
        }
    }
}
