//! Server to which requests are sent.

use http::Uri;
use http::uri::PathAndQuery;

/// Server of a client: scheme, host, port, and base path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    tls: bool,
    host: Box<str>,
    port: u16,
    authority: Box<str>,
    base_path: Box<str>,
}

impl Target {
    /// Parses `http://host`, `https://host:port` or `https://host:port/base/path`.
    ///
    /// # Errors
    /// [`InvalidTarget`] with the reason.
    pub fn parse(url: &str) -> Result<Self, InvalidTarget> {
        if url.contains('#') {
            return Err(InvalidTarget::Rest);
        }
        let uri: Uri = url.parse().map_err(|_| InvalidTarget::Url)?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(InvalidTarget::Scheme),
        };
        let authority = uri.authority().ok_or(InvalidTarget::Url)?;
        if authority.as_str().contains('@') {
            return Err(InvalidTarget::Credentials);
        }
        if uri.query().is_some() {
            return Err(InvalidTarget::Rest);
        }
        let host = authority.host();
        if host.is_empty() || (authority.port().is_none() && authority.as_str() != host) {
            return Err(InvalidTarget::Url);
        }
        let default = if tls { 443 } else { 80 };
        let port = authority.port_u16().unwrap_or(default);
        if port == 0 {
            return Err(InvalidTarget::Url);
        }
        // Clients omit the default port in `Host`, and signatures cover this header.
        let shown = if port == default { host.into() } else { format!("{host}:{port}") };
        Ok(Self {
            tls,
            host: host.trim_start_matches('[').trim_end_matches(']').into(),
            port,
            authority: shown.into(),
            base_path: uri.path().trim_end_matches('/').into(),
        })
    }

    /// Returns true if connections use TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// Returns the name or address of the server. An IPv6 address has no brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port, also if it is the default of the scheme.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the value of `Host`, which signatures cover. A default port is omitted.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the base path without a trailing slash. It is empty for most servers.
    #[must_use]
    pub fn base_path(&self) -> &str {
        &self.base_path
    }

    /// Returns the URI of a request for `path_and_query`, which must start with a slash and is used
    /// unchanged.
    ///
    /// # Errors
    /// [`InvalidTarget::Url`] if it contains characters that a request line cannot contain.
    pub fn request_target(&self, path_and_query: impl Into<String>) -> Result<Uri, InvalidTarget> {
        let mut target = path_and_query.into();
        if !self.base_path.is_empty() {
            target.insert_str(0, &self.base_path);
        }
        PathAndQuery::try_from(target).map(Uri::from).map_err(|_| InvalidTarget::Url)
    }
}

/// Reason why a text is not the URL of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTarget {
    /// The URL contains a user or password. Credentials have their own settings.
    #[error("a server's URL must not contain credentials")]
    Credentials,
    /// The URL has a query or a fragment.
    #[error("a server's URL must not have a query or fragment")]
    Rest,
    /// The scheme is neither `http` nor `https`.
    #[error("a server's URL must start with http:// or https://")]
    Scheme,
    /// The text is not a URL.
    #[error("not a URL")]
    Url,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> (bool, String, u16, String, String) {
        let Target { tls, host, port, authority, base_path } = Target::parse(url).unwrap();
        (tls, host.into(), port, authority.into(), base_path.into())
    }

    #[test]
    fn urls_of_servers_are_read() {
        for (url, tls, host, port, authority, base) in [
            ("http://127.0.0.1:9000", false, "127.0.0.1", 9000, "127.0.0.1:9000", ""),
            ("https://s3.example.com", true, "s3.example.com", 443, "s3.example.com", ""),
            ("https://s3.example.com:443/", true, "s3.example.com", 443, "s3.example.com", ""),
            ("http://h:80/base/x/", false, "h", 80, "h", "/base/x"),
            ("http://h:443", false, "h", 443, "h:443", ""),
            ("http://[::1]:9000", false, "::1", 9000, "[::1]:9000", ""),
        ] {
            let expected = (tls, host.into(), port, authority.into(), base.into());
            assert_eq!(parsed(url), expected, "{url}");
        }
    }

    #[test]
    fn what_is_no_server_is_refused() {
        for (url, error) in [
            ("", InvalidTarget::Url),
            ("host:9000", InvalidTarget::Scheme),
            ("ftp://host", InvalidTarget::Scheme),
            ("http://", InvalidTarget::Url),
            ("http://:80", InvalidTarget::Url),
            ("http://h:0", InvalidTarget::Url),
            ("http://h:65536", InvalidTarget::Url),
            ("http://u:p@h", InvalidTarget::Credentials),
            ("http://h/?a", InvalidTarget::Rest),
            ("http://h/#a", InvalidTarget::Rest),
            ("http://h h", InvalidTarget::Url),
        ] {
            assert_eq!(Target::parse(url), Err(error), "{url}");
        }
    }

    #[test]
    fn paths_are_kept_as_they_are() {
        let plain = Target::parse("http://h").unwrap();
        let based = Target::parse("http://h/base/").unwrap();
        for path in ["/", "/b/a//b/../c", "/b/%2F%20+?list-type=2&prefix=a%2Fb", "/b/k?uploads"] {
            assert_eq!(plain.request_target(path).unwrap().to_string(), path);
            assert_eq!(based.request_target(path).unwrap().to_string(), format!("/base{path}"));
        }
        assert_eq!(plain.request_target("/a b"), Err(InvalidTarget::Url));
        assert_eq!(plain.request_target("/a\r\nb"), Err(InvalidTarget::Url));
    }
}
