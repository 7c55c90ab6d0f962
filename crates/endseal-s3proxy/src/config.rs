//! The configuration of a proxy: a file in TOML, and a few variables of the environment.

mod credentials;
mod error;
mod file;

use core::net::SocketAddr;
use core::time::Duration;
use std::path::{Path, PathBuf};

pub use self::error::ConfigError;
use endseal_s3_folder::FolderServer;
use endseal_s3_protocol::sigv4::Signer;
use serde::Deserialize;

use self::file::{count, seconds};
use crate::access::{Client, SecretAccessKey};
use crate::bucket::Buckets;
use crate::credentials::CredentialChain;

/// Everything a proxy is configured with.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "it holds secret access keys")]
#[non_exhaustive]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Domains whose subdomains name buckets.
    pub domains: Vec<String>,
    /// Certificate chain and key of the front, in PEM; without them it speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Where to tell metrics: nowhere unless it is said.
    pub metrics: Option<SocketAddr>,
    /// The server behind.
    pub backend: Backend,
    /// Keys that wrap content keys.
    pub keys: Keys,
    /// Clients and their permissions.
    pub clients: Vec<Client>,
    /// Rules of buckets.
    pub buckets: Buckets,
    /// Bounds.
    pub limits: Limits,
    /// Files whose first line was read as a secret.
    pub secret_files: Vec<PathBuf>,
    /// True if the text of the configuration holds a secret.
    pub has_secrets: bool,
}

/// Files of the front's TLS.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TlsFiles {
    /// Certificate chain, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

impl TlsFiles {
    /// A chain and its key.
    #[must_use]
    pub const fn new(certificate: PathBuf, key: PathBuf) -> Self {
        Self { certificate, key }
    }
}

/// The server behind the proxy.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "it holds a secret access key")]
#[non_exhaustive]
pub struct Backend {
    /// `http://` or `https://`, host, port. Empty if there is a folder.
    pub url: String,
    /// A folder to keep objects in, instead of a server.
    pub folder: Option<PathBuf>,
    /// Region of its signatures.
    pub region: String,
    /// The proxy's access key there.
    pub access_key: String,
    /// Its secret.
    pub secret_key: SecretAccessKey,
    /// Where credentials come from instead of `access_key` and `secret_key`.
    pub credentials: Option<CredentialChain>,
    /// Certificates to trust beside the usual ones, in PEM.
    pub ca_file: Option<PathBuf>,
    /// True if it takes a checksum behind the body of an upload, or before a short one, as all but
    /// old servers do. With it, a body that was cut is never stored.
    pub trailers: bool,
}

impl Backend {
    /// A server at `url`, region `us-east-1`.
    #[must_use]
    pub fn new(url: &str, access_key: &str, secret_key: SecretAccessKey) -> Self {
        Self {
            url: url.to_owned(),
            folder: None,
            region: "us-east-1".to_owned(),
            access_key: access_key.to_owned(),
            secret_key,
            credentials: None,
            ca_file: None,
            trailers: true,
        }
    }

    /// A server at `url`, region `us-east-1`, with the credentials of a chain.
    #[must_use]
    pub fn with_chain(url: &str, chain: CredentialChain) -> Self {
        let none = SecretAccessKey::new(String::new());
        Self { credentials: Some(chain), ..Self::new(url, "", none) }
    }

    /// A folder, which [`Proxy::start`](crate::Proxy::start) serves within the process.
    #[must_use]
    pub fn folder(folder: &Path) -> Self {
        let none = SecretAccessKey::new(String::new());
        Self { folder: Some(folder.to_owned()), ..Self::new("", "", none) }
    }

    /// A folder that is served.
    #[must_use]
    pub fn served(folder: &FolderServer) -> Self {
        let secret = SecretAccessKey::new(folder.expose_secret_access_key().to_owned());
        // It tells a body that breaks off from one that ends.
        Self { trailers: false, ..Self::new(&folder.url(), folder.access_key(), secret) }
    }

    /// The signer of `access_key` and `secret_key`.
    #[must_use]
    pub fn signer(&self) -> Signer {
        Signer::new(self.access_key.clone(), self.secret_key.to_key(), self.region.clone())
    }
}

/// The key provider.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "provider", rename_all = "lowercase", deny_unknown_fields)]
#[non_exhaustive]
pub enum Keys {
    /// A key ring in a file (docs/spec/s3-key-ring.md), perhaps under a passphrase.
    Ring {
        /// The ring.
        file: PathBuf,
        /// File whose first line is the passphrase.
        passphrase_file: Option<PathBuf>,
    },
    /// RSA-OAEP-SHA256.
    Rsa {
        /// Keys in PEM (PKCS#8, or the public half); the first wraps, all open.
        files: Vec<PathBuf>,
    },
    /// The transit engine of Vault or `OpenBao`.
    Vault {
        /// Name of the key in headers.
        id: String,
        /// Address of the server.
        url: String,
        /// Where the engine is mounted.
        #[serde(default = "transit")]
        mount: String,
        /// Name of the key.
        key: String,
        /// File whose first line is the token.
        token_file: PathBuf,
        /// Namespace, if the server has them.
        namespace: Option<String>,
        /// Certificates to trust beside the usual ones, in PEM.
        ca_file: Option<PathBuf>,
    },
}

fn transit() -> String {
    "transit".to_owned()
}

/// Bounds of connections and times.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// Connections at once, in front.
    #[serde(deserialize_with = "count")]
    pub connections: usize,
    /// Connections at once to the backend.
    #[serde(deserialize_with = "count")]
    pub backend_connections: usize,
    /// Bytes of a request's line and headers.
    #[serde(deserialize_with = "count")]
    pub header_bytes: usize,
    /// Time for a request's headers.
    #[serde(deserialize_with = "seconds")]
    pub header_timeout: Duration,
    /// Time without a byte of a body, in either direction.
    #[serde(deserialize_with = "seconds")]
    pub idle_timeout: Duration,
    /// Bytes a second below which a body is given up, over a minute.
    pub min_rate: u64,
    /// Time for the backend's first byte.
    #[serde(deserialize_with = "seconds")]
    pub backend_timeout: Duration,
    /// Time for requests to end when the proxy does.
    #[serde(deserialize_with = "seconds")]
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1_024,
            backend_connections: 256,
            header_bytes: 64 * 1024,
            header_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(60),
            min_rate: 1_024,
            backend_timeout: Duration::from_secs(300),
            drain: Duration::from_secs(30),
        }
    }
}

impl Config {
    /// A proxy with the default bounds, rules and address (127.0.0.1:9000).
    #[must_use]
    pub fn new(backend: Backend, keys: Keys, clients: Vec<Client>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 9000)),
            domains: Vec::new(),
            tls: None,
            metrics: None,
            backend,
            keys,
            clients,
            buckets: Buckets::default(),
            limits: Limits::default(),
            secret_files: Vec::new(),
            has_secrets: false,
        }
    }

    /// Reads a configuration; relative file names count from `folder`, and `environment` gives
    /// variables: `ENDSEAL_S3_LISTEN`, `ENDSEAL_S3_METRICS_LISTEN`, `ENDSEAL_S3_BACKEND_URL`,
    /// `ENDSEAL_S3_BACKEND_ACCESS_KEY`, `ENDSEAL_S3_BACKEND_SECRET_KEY`, each before what the file
    /// says.
    ///
    /// # Errors
    /// [`ConfigError`], which names the entry: unknown ones too.
    pub fn parse(
        text: &str,
        folder: &Path,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        file::File::parse(text)?.resolve(folder, &environment)
    }
}
