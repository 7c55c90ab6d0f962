//! The URL of a relay, and the network addresses that a client may connect to.

mod public;

use core::fmt;
use core::net::IpAddr;

use http::Uri;

pub use public::is_public;

/// Maximum length of a URL in bytes.
pub const MAX_LEN: usize = 512;

/// The URL of a relay: `wss://` or `ws://`, a host, a port and a path.
///
/// Scheme and host are stored in lower case, and a default port or a path of only `/` is omitted,
/// so that equal URLs of a relay compare equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    uri: Uri,
    host: Host,
    port: u16,
    is_tls: bool,
}

/// The host of a relay: a name or an IP address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Host {
    /// A host name that is resolved.
    Name(String),
    /// An IPv4 or IPv6 address.
    Ip(IpAddr),
}

/// The network addresses that a client may connect to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// Any address, because the user chose the relay.
    #[default]
    Any,
    /// Only addresses of the public Internet. This is for relays that an unknown sender chose: they
    /// must not lead to machines behind the user's firewall. The address is checked after names are
    /// resolved, and the connection is made to the checked address. If a SOCKS5 proxy resolves the
    /// names, the proxy has to check the address.
    Public,
}

impl Address {
    /// Parses a URL. `ws://` is accepted only for loopback addresses, `localhost` and `.onion`
    /// names: elsewhere others could read and change messages on the way.
    ///
    /// # Errors
    /// [`AddressError`] if the text is not the URL of a relay, or is a `ws://` URL of another host.
    pub fn parse(url: &str) -> Result<Self, AddressError> {
        let address = Self::parse_insecure(url)?;
        if address.is_tls || address.is_local() || address.is_onion() {
            Ok(address)
        } else {
            Err(AddressError::Plain)
        }
    }

    /// Parses a URL. `ws://` is accepted for every host.
    ///
    /// # Errors
    /// [`AddressError`] if the text is not the URL of a relay.
    pub fn parse_insecure(url: &str) -> Result<Self, AddressError> {
        if url.len() > MAX_LEN {
            return Err(AddressError::Length);
        }
        let (scheme, rest) = url.split_once("://").ok_or(AddressError::Scheme)?;
        let is_tls = scheme.eq_ignore_ascii_case("wss");
        if !is_tls && !scheme.eq_ignore_ascii_case("ws") {
            return Err(AddressError::Scheme);
        }
        let (authority, path) =
            rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
        if path.contains(['#', '\\']) {
            return Err(AddressError::Path);
        }
        let default_port = if is_tls { 443 } else { 80 };
        let (host, port) = split_port(authority, default_port)?;
        let host = Host::parse(host)?;
        let scheme = if is_tls { "wss" } else { "ws" };
        let slash = if path.starts_with('/') { "" } else { "/" };
        let shown_port = if port == default_port { String::new() } else { format!(":{port}") };
        let uri = format!("{scheme}://{host}{shown_port}{slash}{path}").parse();
        Ok(Self { uri: uri.map_err(|_| AddressError::Path)?, host, port, is_tls })
    }

    /// Returns the host of the URL.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the port of the URL, or the default port of its scheme.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns true if the URL begins with `wss://`.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Returns true for a host in `.onion`, which can only be reached through a proxy.
    #[must_use]
    pub fn is_onion(&self) -> bool {
        matches!(&self.host, Host::Name(name) if name.ends_with(".onion"))
    }

    /// Returns true for a loopback address and for `localhost`.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match &self.host {
            Host::Name(name) => name == "localhost",
            Host::Ip(ip) => ip.is_loopback(),
        }
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.uri.path_and_query().map_or("", |path| path.as_str());
        let (scheme, authority) = (self.uri.scheme_str(), self.uri.authority());
        write!(f, "{}://", scheme.unwrap_or_default())?;
        f.write_str(authority.map_or("", |authority| authority.as_str()))?;
        f.write_str(if path == "/" { "" } else { path })
    }
}

impl Host {
    fn parse(text: &str) -> Result<Self, AddressError> {
        if let Some(inside) = text.strip_prefix('[') {
            let inside = inside.strip_suffix(']').ok_or(AddressError::Host)?;
            return inside.parse().map(IpAddr::V6).map(Self::Ip).map_err(|_| AddressError::Host);
        }
        if let Ok(ip) = text.parse() {
            return Ok(Self::Ip(IpAddr::V4(ip)));
        }
        let text = text.to_ascii_lowercase();
        let is_label = |label: &str| {
            let byte =
                |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
            (1..=63).contains(&label.len()) && label.bytes().all(byte)
        };
        // Resolvers read a last label of digits (and `0x…`) as a number in an IPv4 address.
        let last = text.rsplit('.').next().unwrap_or_default();
        let is_number = last.starts_with(|c: char| c.is_ascii_digit());
        if text.len() > 253 || !text.split('.').all(is_label) || is_number {
            return Err(AddressError::Host);
        }
        Ok(Self::Name(text))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Ip(IpAddr::V4(ip)) => ip.fmt(f),
            Self::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
        }
    }
}

/// Splits an authority into its host and port.
fn split_port(authority: &str, default: u16) -> Result<(&str, u16), AddressError> {
    let end_of_ip = authority.rfind(']').map_or(0, |at| at + 1);
    if authority.starts_with('[') && end_of_ip == 0 {
        return Err(AddressError::Host);
    }
    let Some(colon) = authority[end_of_ip..].find(':') else { return Ok((authority, default)) };
    let (host, port) = authority.split_at(end_of_ip + colon);
    let port = &port[1..];
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(AddressError::Port);
    }
    match port.parse() {
        Ok(port) if port > 0 => Ok((host, port)),
        _ => Err(AddressError::Port),
    }
}

/// The reason why a text is not the URL of a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The URL is longer than [`MAX_LEN`] bytes.
    #[error("the URL of the relay is too long")]
    Length,
    /// The scheme is neither `wss` nor `ws`.
    #[error("the URL of the relay starts with neither 'wss://' nor 'ws://'")]
    Scheme,
    /// The host is neither a name of ASCII letters nor an address, or a user name precedes it.
    #[error("the host of the relay is invalid")]
    Host,
    /// The port is not a number from 1 to 65535.
    #[error("the port of the relay is invalid")]
    Port,
    /// The path contains characters that a URL cannot contain, or the URL has a fragment.
    #[error("the path of the relay is invalid")]
    Path,
    /// The scheme is `ws://`, and the host is neither local nor in `.onion`.
    #[error("a relay without TLS must be on this machine or have a .onion name")]
    Plain,
}
