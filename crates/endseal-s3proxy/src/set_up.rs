//! The first start: everything that a proxy over a folder needs, made where it is missing.

use core::net::SocketAddr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_crypto::secret::Zeroizing;
use endseal_kms::Ring;
use endseal_kms::ring::{CreateRingError, Protection, RingFile};

use crate::access::{Client, SecretAccessKey};
use crate::config::{Backend, Config, Keys};
use crate::start::StartError;

/// Names within the folder.
const OBJECTS: &str = "objects";
const RING: &str = "keys.ring";
const CREDENTIALS: &str = "credentials";

/// Parts with which a proxy over a folder begins.
#[allow(missing_debug_implementations, reason = "it holds a secret access key")]
#[non_exhaustive]
pub struct SetUp {
    /// The configuration.
    pub config: Config,
    /// The file with access key and secret, as AWS's tools read them
    /// (`AWS_SHARED_CREDENTIALS_FILE`).
    pub credentials: PathBuf,
    /// The key ring. Whoever has it reads every object; without it nobody does.
    pub ring: PathBuf,
    /// True if the key ring was made just now.
    pub is_new: bool,
}

/// Makes a proxy over `folder`, which is made if it is missing. On the first start a key ring and
/// credentials are drawn into it, both readable by their owner alone; later ones use what is there.
/// Nothing is ever overwritten.
///
/// # Errors
/// [`StartError`]: what the disk says; credentials that are none; a missing key ring where there
/// are objects, which a new one would not open.
pub fn set_up(folder: &Path, listen: Option<SocketAddr>) -> Result<SetUp, StartError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| StartError::of_file(folder, error))?;
    // Relative paths would lead elsewhere if the process changed its folder.
    let folder = fs::canonicalize(folder).map_err(|error| StartError::of_file(folder, error))?;
    let objects = folder.join(OBJECTS);
    let ring = folder.join(RING);
    let is_new = match ring.exists() {
        true => false,
        false if objects.exists() => {
            let message = "is missing, and a new one would not open the objects that are there";
            return Err(StartError::of_file(&ring, message));
        }
        false => new_ring(&ring)?,
    };
    let path = folder.join(CREDENTIALS);
    let client = credentials(&path)?;
    let keys = Keys::Ring { file: ring.clone(), passphrase_file: None };
    let mut config = Config::new(Backend::folder(&objects), keys, vec![client]);
    if let Some(listen) = listen {
        config.listen = listen;
    }
    Ok(SetUp { config, credentials: path, ring, is_new })
}

fn new_ring(path: &Path) -> Result<bool, StartError> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    let ring = Ring::generate(now, &mut OsRandom);
    let ring = ring.map_err(|_| StartError::of_file(path, "no randomness"))?;
    match RingFile::at(path).create(&ring, Protection::None, &mut OsRandom) {
        Ok(()) => Ok(true),
        // Another process was faster.
        Err(CreateRingError::Exists) => Ok(false),
        Err(error) => Err(StartError::of_file(path, error)),
    }
}

/// The client of the credentials in a file, which are drawn if there is none.
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
    drawn.map_err(|_| StartError::of_file(path, "no randomness"))?;
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
        // A link fails if the name is taken: then another process was faster.
        match fs::hard_link(&temporary, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    };
    let written = write();
    let _ = fs::remove_file(&temporary);
    written.map_err(|error| StartError::of_file(path, error))
}
