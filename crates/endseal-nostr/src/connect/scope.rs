//! Scopes of signed events that give access: to a relay, or to one request over HTTP.

use core::fmt::{self, Write as _};

use endseal_crypto::sha256::Digest;

use super::canonical_url;
use crate::event::Template;
use crate::json::Text;
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
    /// All requests over HTTP to one host, in the text of a rule alone: `https://host`.
    Site(Text<'a>),
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

    /// Parses a relay, `METHOD URL`, or the URL of a site.
    ///
    /// # Errors
    /// [`ScopeError`].
    pub fn parse(kind: u16, text: &'a str) -> Result<Self, ScopeError> {
        let scope = match kind {
            RELAY_AUTH => Self::Relay(text.into()),
            HTTP_AUTH => match text.split_once(' ') {
                Some((method, url)) => Self::Http { method: method.into(), url: url.into() },
                None => Self::Site(text.into()),
            },
            _ => return Err(ScopeError::Tags),
        };
        scope.checked()
    }

    /// SHA-256 of the text that [`fmt::Display`] writes.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut digest = Digested(Digest::new());
        // Writing into a digest cannot fail.
        let _ = write!(digest, "{self}");
        digest.0.finish()
    }

    /// SHA-256 of the site of a request over HTTP: the digest of its [`Self::Site`].
    #[must_use]
    pub fn site_digest(&self) -> Option<[u8; 32]> {
        let Self::Http { url, .. } = self else { return None };
        let mut digest = Digested(Digest::new());
        canonical_url::site(url, |single| digest.put(single))?;
        Some(digest.0.finish())
    }

    /// Refuses empty texts, and characters other than visible ASCII: a space separates.
    fn checked(self) -> Result<Self, ScopeError> {
        let is_visible =
            |text: &Text<'_>| !text.is("") && text.chars().all(|c| c.is_ascii_graphic());
        let is_valid = match &self {
            Self::Relay(relay) => is_visible(relay),
            Self::Http { method, url } => is_visible(method) && is_visible(url),
            Self::Site(url) => is_visible(url) && canonical_url::is_site(url),
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

/// The scope as its digest has it, with its URL in canonical form. A person is shown it sanitised,
/// as all of a request.
impl fmt::Display for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = match self {
            Self::Relay(url) | Self::Site(url) => url,
            Self::Http { method, url } => {
                write!(f, "{method} ")?;
                url
            }
        };
        canonical_url::whole(url, |single| f.write_char(single))
    }
}

/// Digest of characters.
struct Digested(Digest);

impl Digested {
    fn put(&mut self, single: char) {
        self.0.put(single.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

impl fmt::Write for Digested {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.put(text.as_bytes());
        Ok(())
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
            assert_eq!(Scope::parse(kind, &text).unwrap().to_string(), text);
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
        let same = r#"[["u","HTTPS://X:443"],["method","GET"]]"#;
        assert_eq!(of(HTTP_AUTH, same), Ok(Some("GET https://x".into())));
        assert_eq!(Scope::parse(1, "GET https://x"), Err(ScopeError::Tags));
    }

    #[test]
    fn a_site_is_that_of_its_requests() {
        let site = Scope::parse(HTTP_AUTH, "https://x").unwrap();
        for url in ["https://X/", "https://x:443/a?b", "HTTPS://x#c"] {
            let request = Scope::Http { method: "GET".into(), url: url.into() };
            assert_eq!(request.site_digest(), Some(site.digest()), "{url}");
        }
        for url in ["https://x.y/", "http://x/", "https://x:444/", "https://x@y/", "https:/x", "x"]
        {
            let request = Scope::Http { method: "GET".into(), url: url.into() };
            assert_ne!(request.site_digest(), Some(site.digest()), "{url}");
        }
        for text in ["", "x", "https://", "https://x/a", "https://x/?a", "https://x y", "wss://x"] {
            assert_eq!(
                Scope::parse(HTTP_AUTH, text).ok().filter(|it| matches!(it, Scope::Site(_))),
                None,
                "{text}"
            );
        }
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
