//! Creation of a proxy from its configuration: reads files, loads keys and creates clients.

use core::fmt;
use core::time::Duration;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use endseal_crypto::secret::Zeroizing;
use endseal_kms::cache::CacheLimits;
use endseal_kms::gcp::{self, ServiceAccount};
use endseal_kms::key_file;
use endseal_kms::ring::{RingFile, read_passphrase};
use endseal_kms::rsa::RsaKey;
use endseal_kms::vault::{TokenSource, VaultSettings};
use endseal_kms::{
    AwsKmsProvider, Cached, GcpKmsProvider, KeyId, KeyProvider, RingProvider, RsaProvider,
    VaultProvider,
};
use endseal_s3_folder::FolderServer;
use endseal_s3_protocol::sigv4::{SecretKey, Signer};
use http::HeaderValue;

use crate::config::{Backend, Config, Keys, Limits};
use crate::context::Proxy;
use crate::credentials::{BackendSigner, CredentialChain, KmsSigner};
use crate::upstream::{self, Client, Target, Trust};

/// Services of AWS that requests are signed for.
const S3: &str = "s3";
const KMS: &str = "kms";

/// Reason why a proxy could not be started: a file or entry, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct StartError {
    what: String,
    why: String,
    is_busy: bool,
}

impl StartError {
    pub(crate) fn new(what: impl Into<String>, why: impl fmt::Display) -> Self {
        Self { what: what.into(), why: why.to_string(), is_busy: false }
    }

    pub(crate) fn of_file(path: &Path, why: impl fmt::Display) -> Self {
        Self::new(path.display().to_string(), why)
    }

    fn of_served_folder(folder: &Path, error: &io::Error) -> Self {
        let is_busy = error.kind() == io::ErrorKind::ResourceBusy;
        Self { is_busy, ..Self::of_file(folder, error) }
    }

    /// Returns true if another process already serves the folder of the configuration.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.is_busy
    }
}

impl Proxy {
    /// Creates a proxy from its configuration. Reads its keys but opens no connection yet. Must be
    /// called in a tokio runtime.
    ///
    /// # Errors
    /// [`StartError`] with the name of the file or entry.
    pub fn start(config: &Config) -> Result<Self, StartError> {
        if config.clients.is_empty() {
            return Err(StartError::new(
                "client",
                "no [[client]] is configured, so every request would be refused",
            ));
        }
        let limits = client_limits(&config.limits);
        if let Some(folder) = &config.backend.folder {
            let served = FolderServer::start(folder)
                .map_err(|error| StartError::of_served_folder(folder, &error))?;
            return Self::of_folder(config, folder, Arc::new(served));
        }
        let backend = &config.backend;
        let provider = provider(&config.keys)?;
        let ca_file = backend.ca_file.as_deref();
        let client = client("backend.url", &backend.url, ca_file, limits)?;
        let mut proxy = Self::of_provider(config, provider, client);
        if let Some(chain) = &backend.credentials {
            proxy.signer = BackendSigner::of_chain(chain, S3, &backend.region, trust(ca_file)?);
        }
        Ok(proxy)
    }

    fn of_provider(config: &Config, provider: Arc<dyn KeyProvider>, backend: Client) -> Self {
        if matches!(config.keys, Keys::Ring { .. }) {
            // It unwraps a key in less time than a cache lookup takes.
            return Self::new(config, provider, backend);
        }
        let cached = Arc::new(Cached::new(provider, CacheLimits::default()));
        let mut proxy = Self::new(config, Arc::<Cached>::clone(&cached), backend);
        proxy.cache = Some(cached);
        proxy
    }

    /// Creates a proxy that replaces this one after a reload. Both share their metrics and their
    /// folder server.
    ///
    /// # Errors
    /// [`StartError`] with the name of the file or entry. Changing the folder is an error, because
    /// both proxies use it for a while. So are keys without the one that wraps now, because the
    /// objects that this proxy has written could not be opened.
    pub fn renewed(&self, config: &Config) -> Result<Self, StartError> {
        let mut proxy = match (&config.backend.folder, &self.folder) {
            (None, None) => Self::start(config)?,
            (Some(path), Some((own, served))) if path == own => {
                Self::of_folder(config, path, Arc::clone(served))?
            }
            _ => {
                let why = "can only be changed by a restart";
                return Err(StartError::new("backend.folder", why));
            }
        };
        let wrapping = self.provider.wrapping_key_id();
        if !proxy.provider.knows(&wrapping) {
            let key = wrapping.as_str();
            let why = format!("lack the key {key}, which wraps now; only a restart can drop it");
            return Err(StartError::new("keys", why));
        }
        proxy.metrics = Arc::clone(&self.metrics);
        proxy.completions = Arc::clone(&self.completions);
        proxy.parallel_parts.take_over(&self.parallel_parts);
        proxy.signer.take_over(&self.signer);
        Ok(proxy)
    }

    fn of_folder(
        config: &Config,
        path: &Path,
        served: Arc<FolderServer>,
    ) -> Result<Self, StartError> {
        let config = Config { backend: Backend::served(&served), ..config.clone() };
        let mut proxy = Self::start(&config)?;
        proxy.folder = Some((path.to_owned(), served));
        Ok(proxy)
    }
}

/// Returns the limits of requests to the backend.
fn client_limits(limits: &Limits) -> upstream::Limits {
    upstream::Limits {
        connections: limits.backend_connections,
        first_byte: limits.backend_timeout,
        idle: limits.idle_timeout,
        ..upstream::Limits::default()
    }
}

fn client(
    entry: &str,
    url: &str,
    ca_file: Option<&Path>,
    limits: upstream::Limits,
) -> Result<Client, StartError> {
    let target = Target::parse(url).map_err(|error| StartError::new(entry, error))?;
    Ok(Client::new(target, trust(ca_file)?, limits))
}

/// Returns Mozilla's certificate authorities and those of a file.
fn trust(ca_file: Option<&Path>) -> Result<Trust, StartError> {
    let mut trust = Trust::public();
    if let Some(path) = ca_file {
        let pem = fs::read(path).map_err(|error| StartError::of_file(path, error))?;
        trust = trust.with_authorities(&pem).map_err(|error| StartError::of_file(path, error))?;
    }
    Ok(trust)
}

/// Creates the key provider of a configuration, without a cache.
///
/// # Errors
/// [`StartError`] with the name of the file or entry.
pub(crate) fn provider(keys: &Keys) -> Result<Arc<dyn KeyProvider>, StartError> {
    match keys {
        Keys::Ring { file, passphrase_file, passphrase: given } => {
            let read = match passphrase_file.as_ref().filter(|_| given.is_none()) {
                Some(path) => {
                    Some(read_passphrase(path).map_err(|error| StartError::of_file(path, error))?)
                }
                None => None,
            };
            let ring = RingFile::at(file)
                .load(given.as_deref().or(read.as_ref()))
                .map_err(|error| StartError::of_file(file, error))?;
            Ok(Arc::new(RingProvider::new(ring)))
        }
        Keys::Rsa { files } => {
            let mut read = files.iter().map(|path| rsa_key(path));
            let first =
                read.next().ok_or_else(|| StartError::new("keys.files", "names no file"))??;
            let others = read.collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(RsaProvider::new(first, others)))
        }
        Keys::Vault { id, url, mount, key, token_file, namespace, ca_file } => {
            let client = client("keys.url", url, ca_file.as_deref(), key_server_limits())?;
            let settings = VaultSettings {
                id: KeyId::new(id).map_err(|error| StartError::new("keys.id", error))?,
                mount: mount.clone(),
                key: key.clone(),
                namespace: namespace.clone(),
                token: TokenSource::File(PathBuf::clone(token_file)),
            };
            let provider = VaultProvider::new(Arc::new(client), settings);
            Ok(Arc::new(provider.map_err(|error| StartError::new("keys", error))?))
        }
        Keys::AwsKms { id, key, region, url, access_key, secret_key_file, profile, ca_file } => {
            let url = url.clone();
            let url = url.unwrap_or_else(|| format!("https://kms.{region}.amazonaws.com"));
            let client = client("keys.url", &url, ca_file.as_deref(), key_server_limits())?;
            let credentials = match (access_key, secret_key_file) {
                (Some(access_key), Some(path)) => {
                    let secret = SecretKey::new(secret_line(path)?);
                    let signer = Signer::new(access_key.clone(), secret, region.clone());
                    BackendSigner::Fixed(Arc::new(signer.for_service(KMS)))
                }
                (None, None) => {
                    let chain = CredentialChain::new();
                    let chain = match profile {
                        Some(profile) => chain.with_profile(profile),
                        None => chain,
                    };
                    BackendSigner::of_chain(&chain, KMS, region, trust(ca_file.as_deref())?)
                }
                _ => {
                    let why = "goes with secret_key_file, or neither is given";
                    return Err(StartError::new("keys.access_key", why));
                }
            };
            let host = HeaderValue::from_str(client.target().authority())
                .map_err(|error| StartError::new("keys.url", error))?;
            let signer = KmsSigner::new(credentials, host);
            let id = KeyId::new(id).map_err(|error| StartError::new("keys.id", error))?;
            let provider = AwsKmsProvider::new(Arc::new(client), signer, id, key.clone());
            Ok(Arc::new(provider.map_err(|error| StartError::new("keys.key", error))?))
        }
        Keys::GcpKms { id, key, url, service_account_file, metadata_url, ca_file } => {
            let ca_file = ca_file.as_deref();
            let client = client("keys.url", url, ca_file, key_server_limits())?;
            let tokens =
                gcp_tokens(service_account_file.as_deref(), metadata_url.as_deref(), ca_file)?;
            let id = KeyId::new(id).map_err(|error| StartError::new("keys.id", error))?;
            let provider = GcpKmsProvider::new(Arc::new(client), tokens, id, key.clone());
            Ok(Arc::new(provider.map_err(|error| StartError::new("keys.key", error))?))
        }
    }
}

/// Returns the source of access tokens for Google Cloud KMS: the service account of a file, or the
/// metadata server.
fn gcp_tokens(
    account_file: Option<&Path>,
    metadata_url: Option<&str>,
    ca_file: Option<&Path>,
) -> Result<gcp::TokenSource, StartError> {
    let Some(path) = account_file else {
        let url = metadata_url.unwrap_or(gcp::METADATA_URL);
        let client = client("keys.metadata_url", url, ca_file, key_server_limits())?;
        return Ok(gcp::TokenSource::MetadataServer(Arc::new(client)));
    };
    if metadata_url.is_some() {
        let why = "cannot be used with service_account_file";
        return Err(StartError::new("keys.metadata_url", why));
    }
    let of_file = |error: io::Error| StartError::of_file(path, error);
    let file = File::open(path).map_err(of_file)?;
    // A longer file breaks off, and is no JSON.
    let json = key_file::read(&file, MAX_SERVICE_ACCOUNT).map_err(of_file)?;
    let account = ServiceAccount::read(&json).map_err(|error| StartError::of_file(path, error))?;
    let client = client("token_uri", account.token_server(), ca_file, key_server_limits())?;
    Ok(gcp::TokenSource::ServiceAccount { account: Arc::new(account), client: Arc::new(client) })
}

/// Longest key file of a service account in bytes. Google's have about 2,400.
const MAX_SERVICE_ACCOUNT: usize = 64 * 1024;

/// Returns the limits of requests to a key server.
fn key_server_limits() -> upstream::Limits {
    upstream::Limits {
        connections: 32,
        first_byte: Duration::from_secs(10),
        ..upstream::Limits::default()
    }
}

/// Reads the secret in the first line of a file.
fn secret_line(path: &Path) -> Result<String, StartError> {
    let text = fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(|error| StartError::of_file(path, error))?;
    match text.lines().next().map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned()),
        None => Err(StartError::of_file(path, "is empty")),
    }
}

fn rsa_key(path: &Path) -> Result<RsaKey, StartError> {
    let bytes = fs::read(path).map_err(|error| StartError::of_file(path, error))?;
    RsaKey::read(&bytes).map_err(|error| StartError::of_file(path, error))
}
