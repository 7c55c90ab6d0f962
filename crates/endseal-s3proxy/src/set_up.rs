//! First start of a proxy over a folder: creates what is missing.

use core::net::SocketAddr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::Passphrase;
use endseal_kms::Ring;
use endseal_kms::ring::{CreateRingError, Protection, RingFile};
use endseal_s3_folder::FolderServer;

use crate::access::{Client, SecretAccessKey};
use crate::config::{Backend, Config, Keys};
use crate::start::StartError;

/// Names of files and folders within the folder.
const OBJECTS: &str = "objects";
const RING: &str = "keys.ring";
const CREDENTIALS: &str = "credentials";

/// Configuration and files of a proxy over a folder.
#[allow(missing_debug_implementations, reason = "it holds a secret access key")]
#[non_exhaustive]
pub struct SetUp {
    /// Configuration of the proxy.
    pub config: Config,
    /// File with access key and secret in the format of AWS tools (`AWS_SHARED_CREDENTIALS_FILE`).
    pub credentials: PathBuf,
    /// File of the key ring. All objects can be read with it, and none without it.
    pub ring: PathBuf,
    /// True if the key ring was created by this call.
    pub is_new: bool,
}

/// Returns true if `folder` has a key ring.
#[must_use]
pub fn has_ring(folder: &Path) -> bool {
    folder.join(RING).exists()
}

/// Returns the folder of a proxy that `path` is, or that `path` lies in.
#[must_use]
pub fn folder_of(path: &Path) -> Option<PathBuf> {
    let path = fs::canonicalize(path).ok()?;
    if FolderServer::has_mark(&path.join(OBJECTS)) {
        return Some(path);
    }
    path.ancestors().find(|folder| FolderServer::has_mark(folder)).map(Path::to_owned)
}

/// Prepares a proxy over `folder`, which is created if it is missing. The first call creates a key
/// ring and credentials in it, readable by their owner only. Later calls use the existing ones. No
/// file is ever overwritten. A new key ring is sealed under `passphrase`, if there is one; that of
/// an existing ring is for the caller to add to the configuration.
///
/// # Errors
/// [`StartError`] if a file cannot be read or written, if the credentials are malformed, or if
/// there are objects but no key ring: a new one could not open them.
pub fn set_up(
    folder: &Path,
    listen: Option<SocketAddr>,
    passphrase: Option<&Passphrase>,
) -> Result<SetUp, StartError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| StartError::of_file(folder, error))?;
    // Relative paths would lead elsewhere if the process changed its working directory.
    let folder = fs::canonicalize(folder).map_err(|error| StartError::of_file(folder, error))?;
    let objects = folder.join(OBJECTS);
    let ring = folder.join(RING);
    let is_new = match ring.exists() {
        true => false,
        false if objects.exists() => {
            let message = "is missing, and a new one could not open the existing objects";
            return Err(StartError::of_file(&ring, message));
        }
        false => new_ring(&ring, passphrase)?,
    };
    let path = folder.join(CREDENTIALS);
    let client = credentials(&path)?;
    let keys = Keys::ring(&ring);
    let mut config = Config::new(Backend::folder(&objects), keys, vec![client]);
    if let Some(listen) = listen {
        config.listen = listen;
    }
    Ok(SetUp { config, credentials: path, ring, is_new })
}

fn new_ring(path: &Path, passphrase: Option<&Passphrase>) -> Result<bool, StartError> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    let ring = Ring::generate(now, &mut OsRandom);
    let ring =
        ring.map_err(|_| StartError::of_file(path, "the system returned no random bytes"))?;
    let protection = passphrase.map_or(Protection::None, Protection::recommended);
    match RingFile::at(path).create(&ring, protection, &mut OsRandom) {
        Ok(()) => Ok(true),
        // Another process has created it meanwhile.
        Err(CreateRingError::Exists) => Ok(false),
        Err(error) => Err(StartError::of_file(path, error)),
    }
}

/// Reads the credentials of a client from a file, which is created if it is missing.
fn credentials(path: &Path) -> Result<Client, StartError> {
    let failed = |error: io::Error| StartError::of_file(path, error);
    let text = match fs::read_to_string(path) {
        Ok(text) => Zeroizing::new(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            draw(path)?;
            Zeroizing::new(fs::read_to_string(path).map_err(failed)?)
        }
        Err(error) => return Err(failed(error)),
    };
    let value = |name: &str| {
        text.lines().filter_map(|line| line.split_once('=')).find_map(|(found, value)| {
            let value = value.trim();
            (found.trim() == name && !value.is_empty()).then_some(value)
        })
    };
    match (value("aws_access_key_id"), value("aws_secret_access_key")) {
        (Some(access_key), Some(secret)) => {
            Ok(Client::new(access_key, SecretAccessKey::new(secret.to_owned())))
        }
        _ => Err(StartError::of_file(path, "has no access key and secret")),
    }
}

fn draw(path: &Path) -> Result<(), StartError> {
    let mut bytes = Zeroizing::new([0; 40]);
    let drawn = OsRandom.fill(&mut bytes[..]);
    drawn.map_err(|_| StartError::of_file(path, "the system returned no random bytes"))?;
    let (name, secret) = bytes.split_at(10);
    let name: String = name.iter().map(|byte| format!("{byte:02X}")).collect();
    let secret = Zeroizing::new(Base64UrlUnpadded::encode_string(secret));
    let text = Zeroizing::new(format!(
        "[default]\naws_access_key_id = {name}\naws_secret_access_key = {}\n",
        secret.as_str()
    ));
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        // A link fails if the name exists: then another process has created the file.
        match fs::hard_link(&temporary, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    };
    let written = write();
    let _ = fs::remove_file(&temporary);
    written.map_err(|error| StartError::of_file(path, error))
}
