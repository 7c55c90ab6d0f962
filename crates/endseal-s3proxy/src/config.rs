//! Configuration of a proxy: a TOML file, and a few environment variables.

mod balancer;
mod credentials;
mod error;
mod file;
mod given_passphrase;

use core::net::SocketAddr;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::path::{Path, PathBuf};

pub use self::balancer::{Balancers, ClientAddressSource, ForwardedHeader};
pub use self::error::ConfigError;
pub use self::given_passphrase::GivenPassphrase;
use endseal_s3_folder::FolderServer;
use endseal_s3_protocol::sigv4::Signer;
use serde::Deserialize;

use self::file::{count, optional_count, seconds};
use crate::access::{Client, SecretAccessKey};
use crate::bucket::Buckets;
use crate::credentials::CredentialChain;

/// Complete configuration of a proxy.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "it holds secret access keys")]
#[non_exhaustive]
pub struct Config {
    /// Address to listen at.
    pub listen: SocketAddr,
    /// Domains whose subdomains name buckets.
    pub domains: Vec<String>,
    /// Certificate chain and key for clients, in PEM. Without them the proxy serves plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Address at which metrics are served. Without it they are not served.
    pub metrics: Option<SocketAddr>,
    /// Balancers in front of the proxy. Without them the address of a client is that of its
    /// connection.
    pub balancers: Option<Balancers>,
    /// Server or folder that stores the objects.
    pub backend: Backend,
    /// Provider of the keys that wrap content keys.
    pub keys: Keys,
    /// Clients and their permissions.
    pub clients: Vec<Client>,
    /// Rules of buckets.
    pub buckets: Buckets,
    /// Limits of connections and times.
    pub limits: Limits,
    /// Files from which secrets were read.
    pub secret_files: Vec<PathBuf>,
    /// True if the text of the configuration itself contains a secret.
    pub has_secrets: bool,
}

/// Certificate and key files of the proxy's TLS server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TlsFiles {
    /// Certificate chain, in PEM.
    pub certificate: PathBuf,
    /// Private key of the certificate, in PEM.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Creates the configuration from a certificate chain and its key.
    #[must_use]
    pub const fn new(certificate: PathBuf, key: PathBuf) -> Self {
        Self { certificate, key }
    }
}

/// Server or folder that stores the objects.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "it holds a secret access key")]
#[non_exhaustive]
pub struct Backend {
    /// URL with scheme, host and optional port. Empty if there is a folder.
    pub url: String,
    /// Folder in which objects are stored, instead of a server.
    pub folder: Option<PathBuf>,
    /// Region for signatures of requests to the backend.
    pub region: String,
    /// Access key of the proxy at the backend.
    pub access_key: String,
    /// Secret of this access key.
    pub secret_key: SecretAccessKey,
    /// Source of credentials that is used instead of `access_key` and `secret_key`.
    pub credentials: Option<CredentialChain>,
    /// File with certificates to trust in addition to the usual ones, in PEM.
    pub ca_file: Option<PathBuf>,
    /// True if the backend accepts checksum trailers of uploads, as all but old servers do. They
    /// ensure that a truncated body is never stored.
    pub trailers: bool,
    /// Number of parts of one large upload that are sent at the same time. With 1, an upload is one
    /// request.
    pub parts_at_once: usize,
    /// Size of these parts in bytes. Uploads of more than four parts are sent in parts.
    pub part_size: usize,
}

/// Sizes of parts that are allowed: S3's minimum, and what fits into memory several times.
pub(crate) const PART_SIZES: RangeInclusive<usize> = 5 << 20..=1 << 30;

/// Maximum number of parts that are sent at the same time.
pub(crate) const MAX_PARTS_AT_ONCE: usize = 64;

impl Backend {
    /// Creates the configuration of a server in the region `us-east-1`.
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
            parts_at_once: 1,
            part_size: 16 << 20,
        }
    }

    /// Creates the configuration of a server in the region `us-east-1` with the credentials of a
    /// chain.
    #[must_use]
    pub fn with_chain(url: &str, chain: CredentialChain) -> Self {
        let none = SecretAccessKey::new(String::new());
        Self { credentials: Some(chain), ..Self::new(url, "", none) }
    }

    /// Creates the configuration of a folder, which [`Proxy::start`](crate::Proxy::start) serves
    /// within the process.
    #[must_use]
    pub fn folder(folder: &Path) -> Self {
        let none = SecretAccessKey::new(String::new());
        Self { folder: Some(folder.to_owned()), ..Self::new("", "", none) }
    }

    /// Creates the configuration for a folder that is already served.
    #[must_use]
    pub fn served(folder: &FolderServer) -> Self {
        let secret = SecretAccessKey::new(folder.expose_secret_access_key().to_owned());
        // The folder server detects truncated bodies without trailers.
        Self { trailers: false, ..Self::new(&folder.url(), folder.access_key(), secret) }
    }

    /// Returns the signer for `access_key` and `secret_key`.
    #[must_use]
    pub fn signer(&self) -> Signer {
        Signer::new(self.access_key.clone(), self.secret_key.to_key(), self.region.clone())
    }
}

/// Provider of the keys that wrap content keys.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "provider", rename_all = "lowercase", deny_unknown_fields)]
#[non_exhaustive]
pub enum Keys {
    /// Key ring in a file (docs/spec/s3-key-ring.md), optionally protected by a passphrase.
    Ring {
        /// File of the key ring.
        file: PathBuf,
        /// File with the passphrase in its first line.
        passphrase_file: Option<PathBuf>,
        /// Passphrase that the caller has, used instead of the file. No configuration has it.
        #[serde(skip)]
        passphrase: Option<GivenPassphrase>,
    },
    /// RSA keys, used with RSA-OAEP and SHA-256.
    Rsa {
        /// Key files in PEM (PKCS#8, or a public key). The first one wraps, all of them unwrap.
        files: Vec<PathBuf>,
    },
    /// Transit engine of Vault or `OpenBao`.
    Vault {
        /// Name of the key in the headers of objects.
        id: String,
        /// URL of the server.
        url: String,
        /// Mount path of the engine.
        #[serde(default = "transit")]
        mount: String,
        /// Name of the key in the engine.
        key: String,
        /// File with the token in its first line.
        token_file: PathBuf,
        /// Namespace, if the server uses namespaces.
        namespace: Option<String>,
        /// File with certificates to trust in addition to the usual ones, in PEM.
        ca_file: Option<PathBuf>,
    },
    /// AWS Key Management Service.
    #[serde(rename = "aws-kms")]
    AwsKms {
        /// Name of the key in the headers of objects.
        id: String,
        /// Key at the service: its id, its ARN, or an alias.
        key: String,
        /// Region of the key.
        region: String,
        /// URL of the service, if it is not that of the region.
        url: Option<String>,
        /// Access key, in the place of the chain of credentials.
        access_key: Option<String>,
        /// File with the secret of the access key in its first line.
        secret_key_file: Option<PathBuf>,
        /// Profile of the shared files, and no other source of the chain.
        profile: Option<String>,
        /// File with certificates to trust in addition to the usual ones, in PEM.
        ca_file: Option<PathBuf>,
    },
    /// Google Cloud KMS.
    #[serde(rename = "gcp-kms")]
    GcpKms {
        /// Name of the key in the headers of objects.
        id: String,
        /// Resource name of the key at the service, without a version.
        key: String,
        /// URL of the service.
        #[serde(default = "gcp_service_url")]
        url: String,
        /// Key file of a service account, instead of the metadata server.
        service_account_file: Option<PathBuf>,
        /// URL of the metadata server, if it is not Google's usual one.
        metadata_url: Option<String>,
        /// File with certificates to trust in addition to the usual ones, in PEM.
        ca_file: Option<PathBuf>,
    },
}

impl Keys {
    /// Returns the keys of a ring without a passphrase.
    #[must_use]
    pub fn ring(file: &Path) -> Self {
        Self::Ring { file: file.to_owned(), passphrase_file: None, passphrase: None }
    }
}

fn gcp_service_url() -> String {
    endseal_kms::gcp::SERVICE_URL.to_owned()
}

fn transit() -> String {
    "transit".to_owned()
}

/// Limits of connections, times and lists.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of client connections at the same time.
    #[serde(deserialize_with = "count")]
    pub connections: usize,
    /// Maximum number of connections of one client: an IPv4 address or an IPv6 network of 64 bits,
    /// also behind a balancer. Without it half of `connections`.
    #[serde(deserialize_with = "optional_count")]
    pub connections_per_peer: Option<usize>,
    /// Maximum number of backend connections at the same time.
    #[serde(deserialize_with = "count")]
    pub backend_connections: usize,
    /// Maximum size of a request line with headers in bytes.
    #[serde(deserialize_with = "count")]
    pub header_bytes: usize,
    /// Timeout for the headers of a request.
    #[serde(deserialize_with = "seconds")]
    pub header_timeout: Duration,
    /// Timeout without any byte of a body, in either direction.
    #[serde(deserialize_with = "seconds")]
    pub idle_timeout: Duration,
    /// Minimum rate of a body in bytes per second, averaged over a minute. Slower bodies are
    /// aborted.
    pub min_rate: u64,
    /// Timeout for the first byte of the backend's response.
    #[serde(deserialize_with = "seconds")]
    pub backend_timeout: Duration,
    /// Maximum amount of memory, in bytes, that the parts of all uploads take that are sent in
    /// parts.
    #[serde(deserialize_with = "count")]
    pub part_memory: usize,
    /// Maximum number of keys that are read from the backend for one page of a list in a bucket
    /// with encrypted names.
    #[serde(deserialize_with = "count")]
    pub list_keys: usize,
    /// Time that running requests have to end when the proxy stops.
    #[serde(deserialize_with = "seconds")]
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1_024,
            connections_per_peer: None,
            backend_connections: 256,
            header_bytes: 64 * 1024,
            header_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(60),
            min_rate: 1_024,
            backend_timeout: Duration::from_secs(300),
            part_memory: 512 << 20,
            list_keys: 100_000,
            drain: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// Returns the maximum number of client connections of one peer.
    #[must_use]
    pub fn connections_per_peer(&self) -> usize {
        self.connections_per_peer.unwrap_or(self.connections.div_ceil(2))
    }
}

impl Config {
    /// Creates a configuration with default limits and rules at 127.0.0.1:9000.
    #[must_use]
    pub fn new(backend: Backend, keys: Keys, clients: Vec<Client>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 9000)),
            domains: Vec::new(),
            tls: None,
            metrics: None,
            balancers: None,
            backend,
            keys,
            clients,
            buckets: Buckets::default(),
            limits: Limits::default(),
            secret_files: Vec::new(),
            has_secrets: false,
        }
    }

    /// Parses a configuration. Relative file names are resolved from `folder`. `environment`
    /// returns environment variables, which take precedence over the file: `ENDSEAL_S3_LISTEN`,
    /// `ENDSEAL_S3_METRICS_LISTEN`, `ENDSEAL_S3_BACKEND_URL`, `ENDSEAL_S3_BACKEND_ACCESS_KEY` and
    /// `ENDSEAL_S3_BACKEND_SECRET_KEY`.
    ///
    /// # Errors
    /// [`ConfigError`] with the name of an entry that is missing, unknown or invalid.
    pub fn parse(
        text: &str,
        folder: &Path,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        file::File::parse(text)?.resolve(folder, &environment)
    }
}
