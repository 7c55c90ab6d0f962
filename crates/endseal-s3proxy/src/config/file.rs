//! Format of the configuration file, and its conversion into a configuration.

use core::fmt;
use core::net::SocketAddr;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};

use endseal_s3_format::{Binding, Place};
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer};
use toml::de::DeTable;

use super::credentials::{CredentialSource, chain};
use super::{
    Backend, Balancers, Config, ConfigError, Keys, Limits, MAX_PARTS_AT_ONCE, PART_SIZES, TlsFiles,
};
use crate::access::{Client, Permissions, SecretAccessKey};
use crate::bucket::{BucketNames, BucketRule, Buckets, Plaintext};
use crate::glob::Glob;
use crate::name_secret::NameSecretFile;

/// Minimum length of a client's secret in bytes. A signature, as each presigned URL has one, is
/// enough to guess a shorter one without the proxy.
const MIN_SECRET: usize = 16;

/// Lookup of environment variables.
type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Configuration file. Unknown entries are errors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    listen: Option<SocketAddr>,
    #[serde(default)]
    domains: Vec<String>,
    tls: Option<TlsFiles>,
    metrics: Option<MetricsTable>,
    balancer: Option<Balancers>,
    backend: BackendTable,
    keys: Keys,
    #[serde(default)]
    client: Vec<ClientTable>,
    #[serde(default)]
    bucket: Vec<BucketTable>,
    #[serde(default)]
    limits: Limits,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricsTable {
    listen: SocketAddr,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BackendTable {
    folder: Option<PathBuf>,
    url: Option<String>,
    region: Option<String>,
    access_key: Option<String>,
    secret_key: Option<SecretAccessKey>,
    secret_key_file: Option<PathBuf>,
    credentials: Option<CredentialSource>,
    profile: Option<String>,
    ca_file: Option<PathBuf>,
    trailers: Option<bool>,
    parts_at_once: Option<usize>,
    part_size: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClientTable {
    access_key: String,
    secret_key: Option<SecretAccessKey>,
    secret_key_file: Option<PathBuf>,
    buckets: Option<Vec<String>>,
    permissions: Option<Vec<String>>,
    backend_access_key: Option<String>,
    backend_secret_key: Option<SecretAccessKey>,
    backend_secret_key_file: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BucketTable {
    name: String,
    #[serde(default)]
    plaintext: Plaintext,
    #[serde(default, deserialize_with = "binding")]
    binding: Option<Binding>,
    seal_metadata: Option<bool>,
    sealed_as: Option<String>,
    #[serde(default)]
    names: NamesMode,
    name_secret_file: Option<PathBuf>,
}

#[derive(Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum NamesMode {
    #[default]
    Plain,
    Encrypt,
}

impl File {
    /// Parses a configuration file.
    ///
    /// # Errors
    /// [`ConfigError`] with line and column. It does not quote a line that is not TOML, because the
    /// line may contain a secret.
    pub(super) fn parse(text: &str) -> Result<Self, ConfigError> {
        let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
        let table = DeTable::parse(text)
            .map_err(|error| ConfigError::at(text, start(&error), "expected TOML"))?;
        Self::deserialize(toml::de::Deserializer::from(table))
            .map_err(|error| ConfigError::at(text, start(&error), error.message()))
    }

    /// Converts the file into a configuration. Relative file names are resolved from `folder`, and
    /// secret files are read.
    pub(super) fn resolve(
        self,
        folder: &Path,
        environment: Environment<'_>,
    ) -> Result<Config, ConfigError> {
        let mut secrets = SecretFiles { folder, read: Vec::new(), has_inline: false };
        let listen = address("listen", environment("ENDSEAL_S3_LISTEN"))?.or(self.listen);
        let metrics = address("metrics.listen", environment("ENDSEAL_S3_METRICS_LISTEN"))?;
        let backend = self.backend.resolve(&mut secrets, environment)?;
        check_part_memory(&backend, &self.limits)?;
        let clients: Result<Vec<_>, _> =
            self.client.into_iter().map(|client| client.resolve(&mut secrets)).collect();
        let patterns: Vec<String> = self.bucket.iter().map(|bucket| bucket.name.clone()).collect();
        check_patterns(&patterns)?;
        let rules: Result<Vec<_>, _> =
            self.bucket.into_iter().map(|bucket| bucket.resolve(&mut secrets)).collect();
        let config = Config {
            domains: self.domains,
            tls: self
                .tls
                .map(|tls| TlsFiles::new(folder.join(tls.certificate), folder.join(tls.key))),
            metrics: metrics.or(self.metrics.map(|metrics| metrics.listen)),
            balancers: self.balancer,
            buckets: Buckets::new(rules?),
            limits: self.limits,
            secret_files: secrets.read,
            has_secrets: secrets.has_inline,
            ..Config::new(backend, self.keys.below(folder), clients?)
        };
        let mut access_keys: Vec<_> = config.clients.iter().map(Client::access_key).collect();
        access_keys.sort_unstable();
        if access_keys.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(ConfigError::of("client.access_key", "is used by more than one client"));
        }
        if config.backend.folder.is_some() && config.clients.iter().any(Client::is_mapped) {
            return Err(ConfigError::of(
                "client.backend_access_key",
                "cannot be used with backend.folder",
            ));
        }
        Ok(Config { listen: listen.unwrap_or(config.listen), ..config })
    }
}

/// Refuses a rule that never applies: one without a name, or behind one that fits all its buckets.
fn check_patterns(patterns: &[String]) -> Result<(), ConfigError> {
    for (index, pattern) in patterns.iter().enumerate() {
        not_empty("bucket.name", Some(pattern))?;
        // A star of the later pattern can only be matched by a star, so a match covers the pattern.
        let before = patterns.iter().take(index);
        if let Some(wider) = before.rev().find(|wider| Glob::new(wider).matches(pattern)) {
            return Err(ConfigError::of(
                "bucket.name",
                format!("the rule for {pattern:?} never applies, put it before {wider:?}"),
            ));
        }
    }
    Ok(())
}

fn address(entry: &str, text: Option<String>) -> Result<Option<SocketAddr>, ConfigError> {
    text.map(|text| text.parse()).transpose().map_err(|_| {
        ConfigError::of(entry, "expected an address and port, for example 127.0.0.1:9000")
    })
}

/// Refuses a number outside of a range.
fn within(entry: &str, number: usize, range: RangeInclusive<usize>) -> Result<usize, ConfigError> {
    if range.contains(&number) {
        return Ok(number);
    }
    let (least, most) = range.into_inner();
    Err(ConfigError::of(entry, format!("is {number}, expected a number from {least} to {most}")))
}

/// Refuses a limit in which the parts of one upload find no room.
fn check_part_memory(backend: &Backend, limits: &Limits) -> Result<(), ConfigError> {
    let needed = backend.parts_at_once.saturating_mul(backend.part_size);
    if backend.parts_at_once == 1 || limits.part_memory >= needed {
        return Ok(());
    }
    Err(ConfigError::of(
        "limits.part_memory",
        format!(
            "is {}, expected at least backend.parts_at_once times backend.part_size, {needed}",
            limits.part_memory
        ),
    ))
}

/// Refuses an empty key, which would protect nothing.
fn not_empty(entry: &str, text: Option<&str>) -> Result<(), ConfigError> {
    if text == Some("") { Err(ConfigError::of(entry, "is empty")) } else { Ok(()) }
}

impl BackendTable {
    fn resolve(
        self,
        secrets: &mut SecretFiles<'_>,
        environment: Environment<'_>,
    ) -> Result<Backend, ConfigError> {
        if let Some(folder) = &self.folder {
            let with_it = [
                ("url", self.url.is_some()),
                ("region", self.region.is_some()),
                ("access_key", self.access_key.is_some()),
                ("secret_key", self.secret_key.is_some()),
                ("secret_key_file", self.secret_key_file.is_some()),
                ("credentials", self.credentials.is_some()),
                ("profile", self.profile.is_some()),
                ("ca_file", self.ca_file.is_some()),
                ("trailers", self.trailers.is_some()),
                ("parts_at_once", self.parts_at_once.is_some()),
                ("part_size", self.part_size.is_some()),
            ];
            return match with_it.iter().find(|(_, given)| *given) {
                Some((entry, _)) => {
                    Err(ConfigError::of(format!("backend.{entry}"), "cannot be used with folder"))
                }
                None => Ok(Backend::folder(&secrets.folder.join(folder))),
            };
        }
        let in_file = secrets.read("backend.secret_key", self.secret_key, self.secret_key_file)?;
        let required = |entry: &str, variable: &str, in_file: Option<String>| {
            let value = environment(variable).or(in_file);
            value.ok_or_else(|| ConfigError::of(entry, "is missing"))
        };
        let secret_key =
            environment("ENDSEAL_S3_BACKEND_SECRET_KEY").map(SecretAccessKey::new).or(in_file);
        let access_key = environment("ENDSEAL_S3_BACKEND_ACCESS_KEY").or(self.access_key);
        not_empty("backend.access_key", access_key.as_deref())?;
        if secret_key.as_ref().is_some_and(SecretAccessKey::is_empty) {
            return Err(ConfigError::of("backend.secret_key", "is empty"));
        }
        let url = required("backend.url", "ENDSEAL_S3_BACKEND_URL", self.url)?;
        let is_static = access_key.is_some() || secret_key.is_some();
        let missing = |entry: &str| ConfigError::of(entry, "is missing");
        let default = match chain(self.credentials, self.profile, is_static)? {
            Some(chain) => Backend::with_chain(&url, chain),
            None => Backend::new(
                &url,
                &access_key.ok_or_else(|| missing("backend.access_key"))?,
                secret_key.ok_or_else(|| missing("backend.secret_key_file"))?,
            ),
        };
        Ok(Backend {
            region: self.region.unwrap_or(default.region),
            ca_file: self.ca_file.map(|path| secrets.folder.join(path)),
            trailers: self.trailers.unwrap_or(default.trailers),
            parts_at_once: within(
                "backend.parts_at_once",
                self.parts_at_once.unwrap_or(default.parts_at_once),
                1..=MAX_PARTS_AT_ONCE,
            )?,
            part_size: within(
                "backend.part_size",
                self.part_size.unwrap_or(default.part_size),
                PART_SIZES,
            )?,
            ..default
        })
    }
}

impl Keys {
    /// Resolves relative file names from `folder`.
    fn below(mut self, folder: &Path) -> Self {
        let files = match &mut self {
            Self::Ring { file, passphrase_file, .. } => vec![Some(file), passphrase_file.as_mut()],
            Self::Rsa { files } => files.iter_mut().map(Some).collect(),
            Self::Vault { token_file, ca_file, .. } => vec![Some(token_file), ca_file.as_mut()],
            Self::AwsKms { secret_key_file, ca_file, .. } => {
                vec![secret_key_file.as_mut(), ca_file.as_mut()]
            }
            Self::GcpKms { service_account_file, ca_file, .. } => {
                vec![service_account_file.as_mut(), ca_file.as_mut()]
            }
        };
        for file in files.into_iter().flatten() {
            *file = folder.join(&*file);
        }
        self
    }
}

impl ClientTable {
    fn resolve(self, secrets: &mut SecretFiles<'_>) -> Result<Client, ConfigError> {
        let secret = secrets
            .read("client.secret_key", self.secret_key, self.secret_key_file)?
            .ok_or_else(|| ConfigError::of("client.secret_key_file", "is missing"))?;
        if secret.len() < MIN_SECRET {
            return Err(ConfigError::of(
                "client.secret_key",
                format!("is too short, expected at least {MIN_SECRET} characters"),
            ));
        }
        not_empty("client.access_key", Some(&self.access_key))?;
        not_empty("client.backend_access_key", self.backend_access_key.as_deref())?;
        let mut client = Client::new(&self.access_key, secret);
        if let Some(buckets) = self.buckets {
            if buckets.is_empty() {
                return Err(ConfigError::of("client.buckets", "expected at least one name"));
            }
            client = client.with_buckets(buckets.iter().map(|glob| Glob::new(glob)).collect());
        }
        if let Some(names) = self.permissions {
            let permissions = names.iter().try_fold(Permissions::NONE, |permissions, name| {
                Some(permissions.with(Permissions::named(name)?))
            });
            let permissions = permissions.filter(|given| *given != Permissions::NONE);
            client = client.with_permissions(permissions.ok_or_else(|| {
                ConfigError::of("client.permissions", "expected list, read, write or admin")
            })?);
        }
        let entry = "client.backend_secret_key";
        let mapped = secrets.read(entry, self.backend_secret_key, self.backend_secret_key_file)?;
        match (self.backend_access_key, mapped) {
            (Some(access_key), Some(secret)) => Ok(client.mapped(&access_key, secret)),
            (None, None) => Ok(client),
            _ => Err(ConfigError::of(
                "client.backend_access_key",
                "must be used together with backend_secret_key_file",
            )),
        }
    }
}

impl BucketTable {
    /// Converts the table. The name secret is read now, because a proxy without it would write
    /// names unencrypted.
    fn resolve(self, secrets: &mut SecretFiles<'_>) -> Result<BucketRule, ConfigError> {
        let entry = "bucket.name_secret_file";
        let names = match (self.names, self.name_secret_file) {
            (NamesMode::Encrypt, Some(path)) => {
                let path = secrets.folder.join(path);
                let secret = NameSecretFile::at(&path).load().map_err(|error| {
                    ConfigError::of(entry, format!("{}: {error}", path.display()))
                })?;
                secrets.read.push(path);
                Some(BucketNames::new(secret))
            }
            (NamesMode::Encrypt, None) => {
                return Err(ConfigError::of(entry, "is missing"));
            }
            (NamesMode::Plain, Some(_)) => {
                return Err(ConfigError::of(entry, "needs names = \"encrypt\""));
            }
            (NamesMode::Plain, None) => None,
        };
        let is_name = |bucket: &String| Place::new(bucket, "key").is_some();
        if self.sealed_as.as_ref().is_some_and(|bucket| !is_name(bucket)) {
            let message = "is no name of a bucket: it has 1 to 255 bytes";
            return Err(ConfigError::of("bucket.sealed_as", message));
        }
        if self.sealed_as.is_some() && self.name.contains('*') {
            let message = "is for one bucket: objects of several would have the same places";
            return Err(ConfigError::of("bucket.sealed_as", message));
        }
        let default = BucketRule::new(Glob::new(&self.name));
        Ok(BucketRule {
            plaintext: self.plaintext,
            binding: self.binding.unwrap_or(default.binding),
            seal_metadata: self.seal_metadata.unwrap_or(default.seal_metadata),
            sealed_as: self.sealed_as,
            names,
            ..default
        })
    }
}

/// Reader of secrets, which remembers their files.
struct SecretFiles<'a> {
    folder: &'a Path,
    read: Vec<PathBuf>,
    /// True if the configuration itself contains a secret.
    has_inline: bool,
}

impl SecretFiles<'_> {
    /// Returns the secret of `entry`: the value in the configuration, or the first line of the file
    /// that the entry with the suffix `_file` names.
    fn read(
        &mut self,
        entry: &str,
        secret: Option<SecretAccessKey>,
        file: Option<PathBuf>,
    ) -> Result<Option<SecretAccessKey>, ConfigError> {
        if secret.as_ref().is_some_and(SecretAccessKey::is_empty) {
            return Err(ConfigError::of(entry, "is empty"));
        }
        self.has_inline |= secret.is_some();
        let Some(file) = file else { return Ok(secret) };
        let error = |message: String| ConfigError::of(format!("{entry}_file"), message);
        if secret.is_some() {
            return Err(error(format!("cannot be used with {entry}")));
        }
        let path = self.folder.join(file);
        let text = fs::read_to_string(&path)
            .map_err(|cause| error(format!("cannot read {}: {cause}", path.display())))?;
        let line = text.lines().next().unwrap_or("").to_owned();
        if line.is_empty() {
            return Err(error("its first line is empty".to_owned()));
        }
        self.read.push(path);
        Ok(Some(SecretAccessKey::new(line)))
    }
}

/// Deserialises a string. The error does not contain the value, which serde's own error would.
impl<'de> Deserialize<'de> for SecretAccessKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Secret;

        impl<'de> Visitor<'de> for Secret {
            type Value = SecretAccessKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: serde::de::Error>(self, secret: &str) -> Result<Self::Value, E> {
                Ok(SecretAccessKey::new(secret.to_owned()))
            }

            fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<Self::Value, E> {
                Err(E::custom("expected a string"))
            }

            fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Self::Value, E> {
                Err(E::custom("expected a string"))
            }

            fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<Self::Value, E> {
                Err(E::custom("expected a string"))
            }

            fn visit_i128<E: serde::de::Error>(self, _: i128) -> Result<Self::Value, E> {
                Err(E::custom("expected a string"))
            }

            fn visit_u128<E: serde::de::Error>(self, _: u128) -> Result<Self::Value, E> {
                Err(E::custom("expected a string"))
            }

            fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Self::Value, E> {
                Err(E::custom("expected a string"))
            }
        }

        deserializer.deserialize_str(Secret)
    }
}

fn binding<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Binding>, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Name {
        None,
        Bucket,
        Key,
    }

    Ok(Some(match Name::deserialize(deserializer)? {
        Name::None => Binding::None,
        Name::Bucket => Binding::Bucket,
        Name::Key => Binding::Key,
    }))
}

pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let count = usize::deserialize(deserializer)?;
    if count == 0 { Err(D::Error::custom("expected a number above 0")) } else { Ok(count) }
}

pub(super) fn optional_count<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<usize>, D::Error> {
    count(deserializer).map(Some)
}

pub(super) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = u64::deserialize(deserializer)?;
    if seconds == 0 {
        return Err(D::Error::custom("expected a number of seconds above 0"));
    }
    Ok(Duration::from_secs(seconds))
}
