//! Tokens with which requests to Vault authenticate.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use bytes::Bytes;
use endseal_crypto::secret::{Zeroizing, constant_time_eq};
use http::header::HeaderValue;
use tokio::task::spawn_blocking;

use super::DOWN_FOR;
use crate::ProviderError;

/// Longest token in bytes. JSON web tokens are the longest.
const MAX_LEN: usize = 16_384;

/// Token that gives access to the server. Wiped when dropped.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Token(HeaderValue);

impl Token {
    /// Copies the token from `text`, which the caller MUST wipe. White space at both ends goes
    /// away.
    ///
    /// # Errors
    /// [`InvalidToken`] if nothing is left, or it holds what no header does.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        let text = text.trim_ascii();
        if text.is_empty() || text.len() > MAX_LEN || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(InvalidToken);
        }
        let owned = Zeroizing::new(text.as_bytes().to_vec());
        let mut value =
            HeaderValue::from_maybe_shared(Bytes::from_owner(owned)).map_err(|_| InvalidToken)?;
        // Its `Debug` shows nothing.
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

/// Source of the token with which requests authenticate.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[allow(clippy::exhaustive_enums, reason = "the two ways")]
pub enum TokenSource {
    /// In a file, which is read again when the server does not accept what it held.
    File(PathBuf),
    /// Here, as from an environment variable.
    Fixed(Token),
}

/// The token that requests use, with the source from which it is read again.
pub(super) struct Tokens {
    source: TokenSource,
    last: RwLock<Option<HeaderValue>>,
}

impl Tokens {
    pub(super) fn new(source: TokenSource) -> Self {
        Self { source, last: RwLock::new(None) }
    }

    pub(super) async fn current(&self) -> Result<HeaderValue, ProviderError> {
        let path = match &self.source {
            TokenSource::Fixed(Token(token)) => return Ok(token.clone()),
            TokenSource::File(path) => path,
        };
        let last = self.last.read().unwrap_or_else(PoisonError::into_inner).clone();
        match last {
            Some(token) => Ok(token),
            None => self.read(path).await,
        }
    }

    /// Another token than `refused`, if there is one meanwhile.
    pub(super) async fn renewed(
        &self,
        refused: &HeaderValue,
    ) -> Result<Option<HeaderValue>, ProviderError> {
        let TokenSource::File(path) = &self.source else { return Ok(None) };
        let token = self.read(path).await?;
        let same = constant_time_eq(token.as_bytes(), refused.as_bytes());
        Ok(if same { None } else { Some(token) })
    }

    async fn read(&self, path: &Path) -> Result<HeaderValue, ProviderError> {
        let path = path.to_owned();
        let read = spawn_blocking(move || read_file(&path)).await;
        // A file that is being replaced comes back.
        let unavailable = ProviderError::Unavailable { retry_after: DOWN_FOR };
        let Token(token) = read.ok().flatten().ok_or(unavailable)?;
        *self.last.write().unwrap_or_else(PoisonError::into_inner) = Some(token.clone());
        Ok(token)
    }
}

fn read_file(path: &Path) -> Option<Token> {
    // The capacity is that of the longest token, so that the string never moves and leaves no copy
    // behind.
    let mut text = Zeroizing::new(String::with_capacity(MAX_LEN + 64));
    File::open(path).ok()?.take(MAX_LEN as u64 + 32).read_to_string(&mut text).ok()?;
    Token::new(&text).ok()
}

/// Empty, too long, or with characters that no token has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("not a token: empty, too long, or with spaces inside")]
pub struct InvalidToken;
