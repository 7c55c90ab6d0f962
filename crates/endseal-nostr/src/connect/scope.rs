//! Scopes of signed events that give access: to a relay, or to one request over HTTP.

use core::fmt;

use endseal_crypto::sha256::Digest;

use crate::event::Template;
use crate::json::{Piece, Text};
use crate::output::Sink as _;

/// Kind of a log-in to a relay (NIP-42).
pub const RELAY_AUTH: u16 = 22_242;
/// Kind of a bearer token for a request over HTTP (NIP-98).
pub const HTTP_AUTH: u16 = 27_235;

/// The place that a signed event gives access to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "two kinds have a scope")]
pub enum Scope<'a> {
    /// A relay, of kind 22242.
    Relay(Text<'a>),
    /// A request over HTTP, of kind 27235.
    Http {
        /// HTTP method of the request that is authorized.
        method: Text<'a>,
        /// Absolute URL of the request that is authorized.
        url: Text<'a>,
    },
}

impl<'a> Scope<'a> {
    /// The scope of a template; nothing for other kinds.
    ///
    /// # Errors
    /// [`ScopeError`], for one that two readers could understand differently.
    pub fn of(template: &Template<'a>) -> Result<Option<Self>, ScopeError> {
        let value = |name| single(template, name);
        let scope = match template.kind {
            RELAY_AUTH => {
                value("challenge")?;
                Self::Relay(value("relay")?)
            }
            HTTP_AUTH => Self::Http { method: value("method")?, url: value("u")? },
            _ => return Ok(None),
        };
        scope.checked().map(Some)
    }

    /// Parses a relay, or `METHOD URL`.
    ///
    /// # Errors
    /// [`ScopeError`].
    pub fn parse(kind: u16, text: &'a str) -> Result<Self, ScopeError> {
        let scope = match kind {
            RELAY_AUTH => Self::Relay(text.into()),
            HTTP_AUTH => {
                let (method, url) = text.split_once(' ').ok_or(ScopeError::Text)?;
                Self::Http { method: method.into(), url: url.into() }
            }
            _ => return Err(ScopeError::Tags),
        };
        scope.checked()
    }

    /// SHA-256 of the relay, or of `METHOD URL`.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Digest::new();
        let mut put = |text: &Text<'_>| {
            for piece in text.pieces() {
                match piece {
                    Piece::Run(run) => digest.put(run.as_bytes()),
                    Piece::Char(single) => digest.put(single.encode_utf8(&mut [0; 4]).as_bytes()),
                }
            }
        };
        match self {
            Self::Relay(relay) => put(relay),
            Self::Http { method, url } => {
                put(method);
                put(&Text::Plain(" "));
                put(url);
            }
        }
        digest.finish()
    }

    /// Refuses empty texts, and characters other than visible ASCII: a space separates.
    fn checked(self) -> Result<Self, ScopeError> {
        let is_visible =
            |text: &Text<'_>| !text.is("") && text.chars().all(|c| c.is_ascii_graphic());
        let is_valid = match &self {
            Self::Relay(relay) => is_visible(relay),
            Self::Http { method, url } => is_visible(method) && is_visible(url),
        };
        if is_valid { Ok(self) } else { Err(ScopeError::Text) }
    }
}

/// Value of the only tag of a name.
fn single<'a>(template: &Template<'a>, name: &str) -> Result<Text<'a>, ScopeError> {
    let mut named = template.tags.iter().filter(|tag| tag.is(name));
    let value = named.next().and_then(|tag| tag.values().nth(1));
    match (value, named.next()) {
        (Some(value), None) => Ok(value),
        _ => Err(ScopeError::Tags),
    }
}

/// The scope as its digest has it. A person is shown it sanitised, as all of a request.
impl fmt::Display for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relay(relay) => relay.fmt(f),
            Self::Http { method, url } => write!(f, "{method} {url}"),
        }
    }
}

/// Cause why a scope is not clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScopeError {
    /// A tag is absent, has no value, or is there twice; or the kind has no scope.
    Tags,
    /// A text is empty or has other characters than visible ASCII.
    Text,
    /// The event is of another time, so that it would be valid at another one than now.
    Time,
}

impl fmt::Display for ScopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time => "the log-in or token is more than ten minutes old or new",
            Self::Tags => "a tag that says where the event is valid is absent or twice",
            Self::Text => {
                "a tag that says where the event is valid has other characters than ASCII"
            }
        })
    }
}

impl core::error::Error for ScopeError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: u16, tags: &str) -> Result<Option<String>, ScopeError> {
        let json = format!("{{\"created_at\":1,\"kind\":{kind},\"tags\":{tags},\"content\":\"\"}}");
        let template = Template::parse(json.as_bytes()).unwrap();
        let scope = Scope::of(&template)?;
        if let Some(scope) = scope {
            let text = scope.to_string();
            assert_eq!(scope.digest(), endseal_crypto::sha256::digest(text.as_bytes()));
            assert_eq!(Scope::parse(kind, &text), Ok(scope));
        }
        Ok(scope.map(|scope| scope.to_string()))
    }

    #[test]
    fn scopes_are_read_without_escapes() {
        let relay = r#"[["challenge","x"],["\u0072elay","wss:\/\/r.x"]]"#;
        assert_eq!(of(RELAY_AUTH, relay), Ok(Some("wss://r.x".into())));
        let http = r#"[["u","https://x/?a,b","more"],["method","GET"],["payload","00"]]"#;
        assert_eq!(of(HTTP_AUTH, http), Ok(Some("GET https://x/?a,b".into())));
        assert_eq!(of(1, http), Ok(None));
        assert_eq!(Scope::parse(1, "GET https://x"), Err(ScopeError::Tags));
    }

    #[test]
    fn scopes_that_are_not_clear_are_refused() {
        for (kind, tags, error) in [
            (RELAY_AUTH, r#"[]"#, ScopeError::Tags),
            (RELAY_AUTH, r#"[["relay","wss://r.x"]]"#, ScopeError::Tags),
            (RELAY_AUTH, r#"[["challenge","x"]]"#, ScopeError::Tags),
            (RELAY_AUTH, r#"[["challenge"],["relay","a"]]"#, ScopeError::Tags),
            (RELAY_AUTH, r#"[["challenge","x"],["relay","a"],["relay","a"]]"#, ScopeError::Tags),
            (RELAY_AUTH, r#"[["challenge","x"],["relay","a"],["relay"]]"#, ScopeError::Tags),
            (RELAY_AUTH, r#"[["challenge","x"],["relay",""]]"#, ScopeError::Text),
            (RELAY_AUTH, r#"[["challenge","x"],["relay","a b"]]"#, ScopeError::Text),
            (HTTP_AUTH, r#"[["u","https://x"]]"#, ScopeError::Tags),
            (HTTP_AUTH, r#"[["u","a"],["method","GET"],["method","PUT"]]"#, ScopeError::Tags),
            (HTTP_AUTH, r#"[["u","a"],["u","b"],["method","GET"]]"#, ScopeError::Tags),
            (HTTP_AUTH, r#"[["u","b"],["method","GET a"]]"#, ScopeError::Text),
            (HTTP_AUTH, r#"[["u","é"],["method","GET"]]"#, ScopeError::Text),
            (HTTP_AUTH, r#"[["u","a\n"],["method","GET"]]"#, ScopeError::Text),
        ] {
            assert_eq!(of(kind, tags), Err(error), "{tags}");
        }
    }
}
