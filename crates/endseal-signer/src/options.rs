//! Options of a signer that serves.

use core::net::SocketAddr;

/// Options of a signer that serves.
#[derive(Clone, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Options {
    /// Relays, which are kept as those of new apps; if there are none, those that were kept.
    pub relays: Vec<String>,
    /// Address for `/metrics`, `/healthz` and `/readyz`.
    pub metrics: Option<SocketAddr>,
    /// Address of the page where a person decides.
    pub page: Option<SocketAddr>,
    /// URL of that page for browsers, if it is another one than its address: scheme and host,
    /// without a path.
    pub page_url: Option<String>,
    /// SOCKS5 proxy to all relays.
    pub proxy: Option<SocketAddr>,
    /// True if relays of clients may have private addresses.
    pub allow_private: bool,
    /// True if `nip17_unwrap_batch` is answered.
    pub unwrap_batch: bool,
}

/// Addresses of a signer that serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listening {
    /// For operators.
    pub metrics: Option<SocketAddr>,
    /// For persons.
    pub page: Option<SocketAddr>,
}
