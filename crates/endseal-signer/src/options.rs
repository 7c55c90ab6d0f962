//! Options of a running signer.

use core::net::SocketAddr;
use std::path::PathBuf;

/// Options of a running signer.
#[derive(Clone, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Options {
    /// Relays of the signer, which are stored. If the list is empty, the stored relays are used.
    pub relays: Vec<String>,
    /// Address for `/metrics`, `/healthz` and `/readyz`.
    pub metrics: Option<SocketAddr>,
    /// Address of the page on which a person approves requests.
    pub page: Option<SocketAddr>,
    /// URL by which browsers find that page: scheme and host, without a path. Without it the page
    /// listens at 127.0.0.1 or ::1 and gets a random host name below `localhost`.
    pub page_url: Option<String>,
    /// Address of a SOCKS5 proxy for all relay connections.
    pub proxy: Option<SocketAddr>,
    /// True if relays that a client's URI names may have private addresses.
    pub allow_private: bool,
    /// True if the method `nip17_unwrap_batch` is enabled.
    pub unwrap_batch: bool,
    /// Serial ports of devices that hold users' keys.
    pub devices: Vec<PathBuf>,
}

/// Addresses at which a running signer listens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listening {
    /// Address of `/metrics`, `/healthz` and `/readyz`.
    pub metrics: Option<SocketAddr>,
    /// URL of the approval page.
    pub page: Option<String>,
}
