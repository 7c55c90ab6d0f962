//! A ring on the disk.

use core::convert::Infallible;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use endseal_crypto::argon2id::KdfParams;
use endseal_crypto::random::Random;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::{InvalidPassphrase, Passphrase};

use super::parsed::ParsedRing;
use super::seal::{OpenRingError, SealRingError};
use super::text::ParseRingError;
use super::{MAX_LEN, RemoveKeyError, Ring};
use crate::KeyId;
use crate::key_file;

/// Protection of the file of a ring beside its permissions.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
#[allow(clippy::exhaustive_enums, reason = "the two of the format")]
pub enum Protection<'a> {
    /// No protection beside the permissions of the file.
    None,
    /// A passphrase, under which the ring is sealed, with the cost of a guess.
    Passphrase(&'a Passphrase, KdfParams),
}

impl<'a> Protection<'a> {
    /// Returns the protection by a passphrase at the recommended cost of a guess.
    #[must_use]
    pub const fn recommended(passphrase: &'a Passphrase) -> Self {
        Self::Passphrase(passphrase, KdfParams::RECOMMENDED)
    }
}

/// The file of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingFile(PathBuf);

impl RingFile {
    /// The file at `path`, which need not exist.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Writes a new file, mode 0600. When it returns, the file is on the disk.
    ///
    /// # Errors
    /// [`CreateRingError::Exists`] if a file of that name exists.
    pub fn create(
        &self,
        ring: &Ring,
        protection: Protection<'_>,
        random: &mut impl Random,
    ) -> Result<(), CreateRingError> {
        // This is checked first, so that the ring is not sealed needlessly.
        if fs::symlink_metadata(&self.0).is_ok() {
            return Err(CreateRingError::Exists);
        }
        let text = text(ring, protection, random).map_err(CreateRingError::Seal)?;
        key_file::create(&self.0, &text).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => CreateRingError::Exists,
            _ => CreateRingError::Io(error),
        })
    }

    /// Reads the ring. The time and the memory for a sealed one follow from its parameters.
    ///
    /// # Errors
    /// [`LoadRingError`]. With a passphrase, a ring that is not sealed is refused: an attacker who
    /// can replace the file could otherwise choose the keys.
    pub fn load(&self, passphrase: Option<&Passphrase>) -> Result<Ring, LoadRingError> {
        let file = File::open(&self.0).map_err(LoadRingError::Io)?;
        read(&file, passphrase).map(|(ring, _)| ring)
    }

    /// Reads the ring, lets `change` change it, and replaces the file in one step, with the
    /// protection that it has. Two changes at once happen one after the other. When it returns the
    /// new ring, that is on the disk.
    ///
    /// # Errors
    /// [`ChangeRingError`]; the file is as it was then.
    pub fn change<E>(
        &self,
        passphrase: Option<&Passphrase>,
        random: &mut impl Random,
        change: impl FnOnce(&mut Ring) -> Result<(), E>,
    ) -> Result<Ring, ChangeRingError<E>> {
        self.rewrite(passphrase, None, random, change)
    }

    /// Replaces the file in one step with the same keys under another protection. Copies that were
    /// made before still open as they did. When it returns, the new file is on the disk.
    ///
    /// # Errors
    /// [`ChangeRingError`]; the file is as it was then.
    pub fn protect(
        &self,
        passphrase: Option<&Passphrase>,
        protection: Protection<'_>,
        random: &mut impl Random,
    ) -> Result<Ring, ChangeRingError<Infallible>> {
        self.rewrite(passphrase, Some(protection), random, |_| Ok(()))
    }

    /// Returns true if the file says that it is sealed under a passphrase. Nothing is opened.
    ///
    /// # Errors
    /// [`LoadRingError`] if the file cannot be read or is no key ring.
    pub fn is_sealed(&self) -> Result<bool, LoadRingError> {
        let file = File::open(&self.0).map_err(LoadRingError::Io)?;
        let bytes = key_file::read(&file, MAX_LEN).map_err(LoadRingError::Io)?;
        let parsed = ParsedRing::parse(&bytes).map_err(LoadRingError::Parse)?;
        Ok(matches!(parsed, ParsedRing::Sealed(_)))
    }

    /// Changes the ring, and its protection if one is given.
    fn rewrite<E>(
        &self,
        passphrase: Option<&Passphrase>,
        protection: Option<Protection<'_>>,
        random: &mut impl Random,
        change: impl FnOnce(&mut Ring) -> Result<(), E>,
    ) -> Result<Ring, ChangeRingError<E>> {
        // A link is followed, so that what it points to is replaced and not the link.
        let path = fs::canonicalize(&self.0).map_err(ChangeRingError::Io)?;
        let file = lock(&path).map_err(ChangeRingError::Io)?;
        let (mut ring, params) = read(&file, passphrase).map_err(ChangeRingError::Load)?;
        change(&mut ring).map_err(ChangeRingError::Change)?;
        let protection = protection.unwrap_or(match (passphrase, params) {
            (Some(passphrase), Some(params)) => Protection::Passphrase(passphrase, params),
            _ => Protection::None,
        });
        let text = text(&ring, protection, random).map_err(ChangeRingError::Seal)?;
        key_file::replace(&path, &text).map_err(ChangeRingError::Io)?;
        Ok(ring)
    }

    /// Removes a key, as [`change`](Self::change) does it. Before that it copies the file: the copy
    /// lies beside it, under its name with `.before-` and the id appended. Data keys that the
    /// removed key wrapped can then be unwrapped only with that copy, whose path is returned.
    ///
    /// # Errors
    /// [`ChangeRingError`] with [`RetireKeyError`]; the file is as it was then.
    pub fn retire(
        &self,
        passphrase: Option<&Passphrase>,
        id: &KeyId,
        random: &mut impl Random,
    ) -> Result<(Ring, PathBuf), ChangeRingError<RetireKeyError>> {
        let path = fs::canonicalize(&self.0).map_err(ChangeRingError::Io)?;
        let mut kept = path.clone().into_os_string();
        kept.push(format!(".before-{id}"));
        let kept = PathBuf::from(kept);
        // A second name for the file that is about to be replaced: not a byte can get lost.
        let ring = self.change(passphrase, random, |ring| {
            ring.remove(id).map_err(RetireKeyError::Remove)?;
            fs::hard_link(&path, &kept).map_err(RetireKeyError::Keep)
        })?;
        Ok((ring, kept))
    }
}

/// Reads a passphrase from a file and removes one line end.
///
/// # Errors
/// [`ReadPassphraseError`].
pub fn read_passphrase(path: &Path) -> Result<Passphrase, ReadPassphraseError> {
    let file = File::open(path).map_err(ReadPassphraseError::Io)?;
    let bytes = key_file::read(&file, Passphrase::MAX_LEN + 2).map_err(ReadPassphraseError::Io)?;
    let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = core::str::from_utf8(line).map_err(|_| ReadPassphraseError::NotText)?;
    Passphrase::new(text).map_err(ReadPassphraseError::Invalid)
}

fn read(
    file: &File,
    passphrase: Option<&Passphrase>,
) -> Result<(Ring, Option<KdfParams>), LoadRingError> {
    let bytes = key_file::read(file, MAX_LEN).map_err(LoadRingError::Io)?;
    match (ParsedRing::parse(&bytes).map_err(LoadRingError::Parse)?, passphrase) {
        (ParsedRing::Open(ring), None) => Ok((ring, None)),
        (ParsedRing::Open(_), Some(_)) => Err(LoadRingError::NotSealed),
        (ParsedRing::Sealed(_), None) => Err(LoadRingError::Sealed),
        (ParsedRing::Sealed(sealed), Some(passphrase)) => {
            let ring = sealed.open(passphrase).map_err(LoadRingError::Open)?;
            Ok((ring, Some(sealed.params())))
        }
    }
}

fn text(
    ring: &Ring,
    protection: Protection<'_>,
    random: &mut impl Random,
) -> Result<Zeroizing<String>, SealRingError> {
    match protection {
        Protection::None => Ok(ring.to_open_text()),
        Protection::Passphrase(passphrase, params) => {
            ring.seal(passphrase, params, random).map(Zeroizing::new)
        }
    }
}

/// Opens and locks the file at `path`. While this waits for the lock, the file may be replaced;
/// then it tries again with the new one.
fn lock(path: &Path) -> io::Result<File> {
    loop {
        let file = File::open(path)?;
        file.lock()?;
        let (own, named) = (file.metadata()?, fs::metadata(path)?);
        if (own.dev(), own.ino()) == (named.dev(), named.ino()) {
            return Ok(file);
        }
    }
}

/// Reason why there is no new file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateRingError {
    /// Something of that name is there. It was not touched.
    #[error("there is a file of that name already")]
    Exists,
    /// Writing the file failed.
    #[error("the key ring could not be written: {0}")]
    Io(io::Error),
    /// The ring could not be sealed.
    #[error("{0}")]
    Seal(SealRingError),
}

/// Reason why a ring could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadRingError {
    /// Reading the file failed.
    #[error("the key ring could not be read: {0}")]
    Io(io::Error),
    /// A passphrase was given for a ring that is not sealed.
    #[error("the key ring should be sealed and is not")]
    NotSealed,
    /// The ring is sealed and does not open.
    #[error("{0}")]
    Open(OpenRingError),
    /// The file is not a key ring.
    #[error("{0}")]
    Parse(ParseRingError),
    /// The ring is sealed, and no passphrase was given.
    #[error("the key ring is sealed under a passphrase")]
    Sealed,
}

/// Reason why a ring was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeRingError<E> {
    /// The closure that changes the ring returned this error.
    #[error("{0}")]
    Change(E),
    /// Reading or writing the file failed.
    #[error("the key ring could not be written: {0}")]
    Io(io::Error),
    /// The ring could not be read.
    #[error("{0}")]
    Load(LoadRingError),
    /// The ring could not be sealed.
    #[error("{0}")]
    Seal(SealRingError),
}

/// Reason why a key was not taken out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RetireKeyError {
    /// The file could not be kept beside itself.
    #[error("no copy of the key ring could be kept: {0}")]
    Keep(io::Error),
    /// The ring does not let go of it.
    #[error("{0}")]
    Remove(RemoveKeyError),
}

/// Reason why a file holds no passphrase.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadPassphraseError {
    /// Empty, too long, or more than one line.
    #[error("{0}")]
    Invalid(InvalidPassphrase),
    /// Reading the file failed.
    #[error("the passphrase could not be read: {0}")]
    Io(io::Error),
    /// The file is not UTF-8 text.
    #[error("the passphrase is not UTF-8")]
    NotText,
}
