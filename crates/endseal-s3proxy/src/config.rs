//! What a proxy is told before it starts: a file in TOML, and a few variables of the environment.

mod reader;

use core::net::SocketAddr;
use core::time::Duration;
use std::path::{Path, PathBuf};

pub use self::reader::ConfigError;
use endseal_s3_folder::FolderServer;
use endseal_s3_format::Binding;
use endseal_s3_protocol::sigv4::Signer;

use self::reader::Reader;
use crate::access::{Client, Permissions, SecretAccessKey};
use crate::bucket::{BucketNames, BucketRule, Buckets, EntityTags, Plaintext};
use crate::glob::Glob;
use crate::names::name_secret::NameSecretFile;

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
    /// What wraps content keys.
    pub keys: Keys,
    /// Who may do what.
    pub clients: Vec<Client>,
    /// Rules of buckets.
    pub buckets: Buckets,
    /// Bounds.
    pub limits: Limits,
}

/// Files of the front's TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Certificates to trust beside the usual ones, in PEM.
    pub ca_file: Option<PathBuf>,
    /// Whether it takes a checksum behind the body of an upload, or before a short one, as all but old
    /// servers do. With it, a body that was cut is never stored.
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
            ca_file: None,
            trailers: true,
        }
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

    /// What signs requests with these credentials.
    #[must_use]
    pub fn signer(&self) -> Signer {
        Signer::new(self.access_key.clone(), self.secret_key.to_key(), self.region.clone())
    }
}

/// The key provider.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// Bounds of connections and times.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Connections at once, in front.
    pub connections: usize,
    /// Connections at once to the backend.
    pub backend_connections: usize,
    /// Bytes of a request's line and headers.
    pub header_bytes: usize,
    /// Time for a request's headers.
    pub header_timeout: Duration,
    /// Time without a byte of a body, in either direction.
    pub idle_timeout: Duration,
    /// Bytes a second below which a body is given up, over a minute.
    pub min_rate: u64,
    /// Time for the backend's first byte.
    pub backend_timeout: Duration,
    /// Time for requests to end when the proxy does.
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
        Self::read(text, folder, &environment)
    }

    fn read(
        text: &str,
        folder: &Path,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let mut root = Reader::document(text, folder)?;
        let mut backend = root.table("backend")?;
        let mut keys = root.table("keys")?;
        let listen = match environment("ENDSEAL_S3_LISTEN") {
            Some(address) => Some(address),
            None => root.string("listen")?,
        };
        let listen = address("listen", listen.as_deref().unwrap_or("127.0.0.1:9000"))?;
        let config = Self {
            listen,
            domains: root.strings("domains")?,
            tls: tls(&mut root)?,
            metrics: metrics(&mut root, environment)?,
            backend: self::backend(&mut backend, environment)?,
            keys: self::keys(&mut keys)?,
            clients: clients(&mut root)?,
            buckets: buckets(&mut root)?,
            limits: limits(&mut root)?,
        };
        root.finish()?;
        if config.backend.folder.is_some() && config.clients.iter().any(Client::is_mapped) {
            return Err(ConfigError::of("client.backend_access_key", "excludes backend.folder"));
        }
        Ok(config)
    }
}

fn address(entry: &'static str, text: &str) -> Result<SocketAddr, ConfigError> {
    text.parse().map_err(|_| {
        ConfigError::of(entry, "expected an address and port, for example 127.0.0.1:9000")
    })
}

fn tls(root: &mut Reader) -> Result<Option<TlsFiles>, ConfigError> {
    let Some(mut table) = root.optional_table("tls")? else { return Ok(None) };
    let files = TlsFiles::new(table.path("certificate")?, table.path("key")?);
    table.finish()?;
    Ok(Some(files))
}

fn metrics(
    root: &mut Reader,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<SocketAddr>, ConfigError> {
    let in_file = match root.optional_table("metrics")? {
        Some(mut table) => {
            let listen = table.required("listen")?;
            table.finish()?;
            Some(listen)
        }
        None => None,
    };
    let text = environment("ENDSEAL_S3_METRICS_LISTEN").or(in_file);
    text.map(|text| address("metrics.listen", &text)).transpose()
}

fn backend(
    table: &mut Reader,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Backend, ConfigError> {
    if let Some(folder) = table.optional_path("folder")? {
        // Nothing else is to be said of it: `finish` refuses the rest.
        table.finish()?;
        return Ok(Backend::folder(&folder));
    }
    let url = match environment("ENDSEAL_S3_BACKEND_URL") {
        Some(url) => url,
        None => table.required("url")?,
    };
    let access_key = match environment("ENDSEAL_S3_BACKEND_ACCESS_KEY") {
        Some(key) => key,
        None => table.required("access_key")?,
    };
    let in_file = table.secret("secret_key", "secret_key_file")?;
    let secret_key = environment("ENDSEAL_S3_BACKEND_SECRET_KEY")
        .map(SecretAccessKey::new)
        .or(in_file)
        .ok_or_else(|| ConfigError::of("backend.secret_key_file", "is missing"))?;
    let backend = Backend {
        url,
        folder: None,
        region: table.string("region")?.unwrap_or_else(|| "us-east-1".to_owned()),
        access_key,
        secret_key,
        ca_file: table.optional_path("ca_file")?,
        trailers: table.boolean("trailers")?.unwrap_or(true),
    };
    table.finish()?;
    Ok(backend)
}

fn keys(table: &mut Reader) -> Result<Keys, ConfigError> {
    let provider = table.required("provider")?;
    let keys = match provider.as_str() {
        "ring" => Keys::Ring {
            file: table.path("file")?,
            passphrase_file: table.optional_path("passphrase_file")?,
        },
        "rsa" => Keys::Rsa { files: table.paths("files")? },
        "vault" => Keys::Vault {
            id: table.required("id")?,
            url: table.required("url")?,
            mount: table.string("mount")?.unwrap_or_else(|| "transit".to_owned()),
            key: table.required("key")?,
            token_file: table.path("token_file")?,
            namespace: table.string("namespace")?,
            ca_file: table.optional_path("ca_file")?,
        },
        _ => return Err(ConfigError::of("keys.provider", "expected ring, rsa or vault")),
    };
    table.finish()?;
    Ok(keys)
}

fn clients(root: &mut Reader) -> Result<Vec<Client>, ConfigError> {
    let mut clients = Vec::new();
    for mut table in root.tables("client")? {
        let access_key = table.required("access_key")?;
        let secret = table
            .secret("secret_key", "secret_key_file")?
            .ok_or_else(|| ConfigError::of("client.secret_key_file", "is missing"))?;
        let mut client = Client::new(&access_key, secret);
        let buckets = table.strings("buckets")?;
        if !buckets.is_empty() {
            client = client.with_buckets(buckets.iter().map(|glob| Glob::new(glob)).collect());
        }
        let names = table.strings("permissions")?;
        if !names.is_empty() {
            let mut permissions = Permissions::NONE;
            for name in &names {
                permissions = permissions.with(Permissions::named(name).ok_or_else(|| {
                    ConfigError::of("client.permissions", "expected list, read, write or admin")
                })?);
            }
            client = client.with_permissions(permissions);
        }
        let backend = table.secret("backend_secret_key", "backend_secret_key_file")?;
        match (table.string("backend_access_key")?, backend) {
            (Some(access_key), Some(secret)) => client = client.mapped(&access_key, secret),
            (None, None) => {}
            _ => {
                return Err(ConfigError::of(
                    "client.backend_access_key",
                    "needs backend_secret_key_file, and the other way round",
                ));
            }
        }
        table.finish()?;
        clients.push(client);
    }
    Ok(clients)
}

fn buckets(root: &mut Reader) -> Result<Buckets, ConfigError> {
    let mut rules = Vec::new();
    for mut table in root.tables("bucket")? {
        let mut rule = BucketRule::new(Glob::new(&table.required("name")?));
        if let Some(plaintext) = table.string("plaintext")? {
            rule.plaintext = match plaintext.as_str() {
                "forbid" => Plaintext::Forbid,
                "read-only" => Plaintext::ReadOnly,
                "allow" => Plaintext::Allow,
                _ => {
                    return Err(ConfigError::of(
                        "bucket.plaintext",
                        "expected forbid, read-only or allow",
                    ));
                }
            };
        }
        if let Some(binding) = table.string("binding")? {
            rule.binding = match binding.as_str() {
                "none" => Binding::None,
                "bucket" => Binding::Bucket,
                "key" => Binding::Key,
                _ => return Err(ConfigError::of("bucket.binding", "expected none, bucket or key")),
            };
        }
        rule.seal_metadata = table.boolean("seal_metadata")?.unwrap_or(false);
        if let Some(tags) = table.string("entity_tags")? {
            rule.entity_tags = match tags.as_str() {
                "backend" => EntityTags::Backend,
                "md5" => EntityTags::Md5,
                _ => return Err(ConfigError::of("bucket.entity_tags", "expected backend or md5")),
            };
        }
        rule.names = names(&mut table)?;
        table.finish()?;
        rules.push(rule);
    }
    Ok(Buckets::new(rules))
}

/// What names are encrypted under. Read at once: without it a proxy would write names as they come.
fn names(table: &mut Reader) -> Result<Option<BucketNames>, ConfigError> {
    let entry = "bucket.name_secret_file";
    let file = table.optional_path("name_secret_file")?;
    let encrypts = match table.string("names")?.as_deref() {
        None => None,
        Some("encrypt-unordered") => Some(true),
        Some("plain") => Some(false),
        Some(_) => {
            return Err(ConfigError::of("bucket.names", "expected plain or encrypt-unordered"));
        }
    };
    match (encrypts, file) {
        (Some(true), Some(path)) => {
            let secret = NameSecretFile::at(&path)
                .load()
                .map_err(|error| ConfigError::of(entry, format!("{}: {error}", path.display())))?;
            Ok(Some(BucketNames::new(secret)))
        }
        (Some(true), None) => Err(ConfigError::of(entry, "is missing")),
        (_, Some(_)) => Err(ConfigError::of(entry, "needs names = \"encrypt-unordered\"")),
        (_, None) => Ok(None),
    }
}

fn limits(root: &mut Reader) -> Result<Limits, ConfigError> {
    let mut limits = Limits::default();
    let Some(mut table) = root.optional_table("limits")? else { return Ok(limits) };
    let count = |table: &mut Reader, name: &'static str, value: &mut usize| {
        if let Some(given) = table.integer(name)? {
            *value = usize::try_from(given)
                .ok()
                .filter(|&given| given > 0)
                .ok_or_else(|| ConfigError::of(name, "expected a number above 0"))?;
        }
        Ok(())
    };
    count(&mut table, "connections", &mut limits.connections)?;
    count(&mut table, "backend_connections", &mut limits.backend_connections)?;
    count(&mut table, "header_bytes", &mut limits.header_bytes)?;
    let seconds = |table: &mut Reader, name: &'static str, value: &mut Duration| {
        if let Some(given) = table.integer(name)? {
            let given = u64::try_from(given).ok().filter(|&given| given > 0);
            let given = given
                .ok_or_else(|| ConfigError::of(name, "expected a number of seconds above 0"))?;
            *value = Duration::from_secs(given);
        }
        Ok(())
    };
    seconds(&mut table, "header_timeout", &mut limits.header_timeout)?;
    seconds(&mut table, "idle_timeout", &mut limits.idle_timeout)?;
    seconds(&mut table, "backend_timeout", &mut limits.backend_timeout)?;
    seconds(&mut table, "drain", &mut limits.drain)?;
    if let Some(rate) = table.integer("min_rate")? {
        limits.min_rate = u64::try_from(rate)
            .map_err(|_| ConfigError::of("limits.min_rate", "expected bytes a second"))?;
    }
    table.finish()?;
    Ok(limits)
}
