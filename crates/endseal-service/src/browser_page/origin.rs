//! Origin of a site: scheme, host and port (RFC 6454).

use core::fmt;
use core::str::FromStr;

use http::Uri;

/// Origin of a site, in the form in which browsers write it: lower case, and no port that is the
/// scheme's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    has_tls: bool,
    /// Host, with the port unless it is the scheme's own.
    host: String,
}

/// Error of a text that is not the URL of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidOrigin;

impl fmt::Display for InvalidOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the URL of a page is http:// or https:// with a host, and has no path")
    }
}

impl core::error::Error for InvalidOrigin {}

impl FromStr for Origin {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<Self, InvalidOrigin> {
        let uri: Uri = text.parse().map_err(|_| InvalidOrigin)?;
        let has_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(InvalidOrigin),
        };
        let authority = uri.authority().ok_or(InvalidOrigin)?;
        let is_plain = !authority.as_str().contains('@') && uri.query().is_none();
        if !is_plain || !matches!(uri.path(), "" | "/") || authority.host().is_empty() {
            return Err(InvalidOrigin);
        }
        Ok(Self { has_tls, host: host(authority.as_str(), has_tls) })
    }
}

impl Origin {
    /// Returns the origin of a page at a name below `localhost`.
    pub(super) fn local(name: &str, port: u16) -> Self {
        Self { has_tls: false, host: host(&format!("{name}.localhost:{port}"), false) }
    }

    /// Returns true for `https`.
    #[must_use]
    pub const fn has_tls(&self) -> bool {
        self.has_tls
    }

    /// Returns true if a `Host` header names this origin's host and port.
    #[must_use]
    pub fn has_host(&self, header: &[u8]) -> bool {
        str::from_utf8(header).is_ok_and(|it| host(it, self.has_tls) == self.host)
    }

    /// Returns true if an `Origin` header is this one.
    #[must_use]
    pub fn is(&self, header: &[u8]) -> bool {
        str::from_utf8(header).is_ok_and(|it| it.parse().is_ok_and(|it: Self| it == *self))
    }
}

/// Returns host and port in lower case, without a port that is the scheme's own.
fn host(authority: &str, has_tls: bool) -> String {
    let lower = authority.to_ascii_lowercase();
    let port = if has_tls { ":443" } else { ":80" };
    lower.strip_suffix(port).unwrap_or(&lower).to_owned()
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.has_tls { "https" } else { "http" }, self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_site_has_one_origin() {
        for (url, origin) in [
            ("https://S.Example:443/", "https://s.example"),
            ("https://s.example", "https://s.example"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
            ("http://s.example:80", "http://s.example"),
            ("http://s.example:443", "http://s.example:443"),
        ] {
            let parsed: Origin = url.parse().unwrap();
            assert_eq!(parsed.to_string(), origin);
            assert!(
                parsed.is(origin.as_bytes()) && parsed.is(url.trim_end_matches('/').as_bytes())
            );
        }
        for url in ["", "x", "ftp://x", "https://", "https://a/b", "https://a@b", "https://a/?b"] {
            assert_eq!(url.parse::<Origin>(), Err(InvalidOrigin), "{url}");
        }
    }

    #[test]
    fn other_hosts_and_sites_are_others() {
        let origin: Origin = "https://s.example:443".parse().unwrap();
        for host in ["s.example", "s.example:443", "S.EXAMPLE"] {
            assert!(origin.has_host(host.as_bytes()), "{host}");
        }
        for host in
            ["", "evil.example", "s.example:80", "s.example:8443", "a.s.example", "s.example."]
        {
            assert!(!origin.has_host(host.as_bytes()), "{host}");
        }
        for other in
            ["null", "http://s.example", "https://s.example:8443", "https://e.example", "\u{e9}"]
        {
            assert!(!origin.is(other.as_bytes()), "{other}");
        }
    }
}
