//! The state directory, its lock, and the files in it.

use core::{error, fmt};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use endseal_crypto::secret::Zeroizing;

use crate::atomic::{Existing, Readers, write_file};
use crate::error::FileError;

/// Environment variable that names the state directory.
pub const HOME_VARIABLE: &str = "ENDSEAL_HOME";
const DATA_VARIABLE: &str = "XDG_DATA_HOME";
const USER_VARIABLE: &str = "HOME";
/// Permission bits of group and others.
const OTHERS: u32 = 0o077;
/// Limit on renamed copies of a file, so that the search for a free name ends.
const MAX_ASIDE: u32 = 1000;

/// A state directory that only its owner can access.
#[derive(Clone, Debug)]
pub struct Home(PathBuf);

impl Home {
    /// Returns the default path of the state directory: `$ENDSEAL_HOME`, or `endseal` in
    /// `$XDG_DATA_HOME` or `~/.local/share`. Empty variables count as unset. So does a relative
    /// `$XDG_DATA_HOME`, as the XDG specification requires.
    ///
    /// # Errors
    /// Returns [`HomeError::Unknown`] if none of the variables is set.
    pub fn default_path(
        variable: impl Fn(&'static str) -> Option<OsString>,
    ) -> Result<PathBuf, HomeError> {
        let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(home) = path(HOME_VARIABLE) {
            return Ok(home);
        }
        let data = path(DATA_VARIABLE).filter(|data| data.is_absolute());
        let data = data.or_else(|| Some(path(USER_VARIABLE)?.join(".local/share")));
        data.map(|data| data.join("endseal")).ok_or(HomeError::Unknown)
    }

    /// Opens the directory. Creates it with mode 0700, and its parents, if it does not exist.
    ///
    /// # Errors
    /// Returns [`HomeError`] if it cannot be created, is not a directory, or is accessible to
    /// others.
    pub fn create(path: &Path) -> Result<Self, HomeError> {
        if let Some(parent) = path.parent() {
            let made = fs::create_dir_all(parent);
            made.map_err(|source| FileError::io("create", parent, source))?;
        }
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(FileError::io("create", path, error).into())
            }
            _ => Self::open(path),
        }
    }

    /// Opens an existing state directory.
    ///
    /// # Errors
    /// Returns [`HomeError::Missing`], [`HomeError::NotADirectory`], or [`FileError::Loose`] if
    /// group or others have any permission on it.
    pub fn open(path: &Path) -> Result<Self, HomeError> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(HomeError::Missing(path.to_owned()));
            }
            Err(error) => return Err(FileError::io("read", path, error).into()),
        };
        if !metadata.is_dir() {
            return Err(HomeError::NotADirectory(path.to_owned()));
        }
        let mode = metadata.permissions().mode();
        if mode & OTHERS != 0 {
            return Err(FileError::Loose { path: path.to_owned(), mode }.into());
        }
        Ok(Self(path.to_owned()))
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Waits until no other process holds the lock, and then holds it until the result is dropped.
    /// There is no timeout.
    ///
    /// # Errors
    /// Returns [`FileError::Io`] if the lock file cannot be opened or locked.
    pub fn lock(&self) -> Result<HomeLock, FileError> {
        let path = self.0.join("lock");
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(|source| FileError::io("open", &path, source))?;
        file.lock().map_err(|source| FileError::io("lock", &path, source))?;
        Ok(HomeLock { _file: file })
    }

    /// Takes the lock if no other process holds it. Returns `None` if one does, or the lock file
    /// cannot be opened.
    pub(crate) fn try_lock(&self) -> Option<HomeLock> {
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(self.0.join("lock")).ok()?;
        file.try_lock().is_ok().then_some(HomeLock { _file: file })
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the path of a folder in the directory. Creates the folder with mode 0700 if it does
    /// not exist.
    ///
    /// # Errors
    /// Returns [`FileError::Io`] if the folder cannot be created.
    pub fn folder(&self, name: &str) -> Result<PathBuf, FileError> {
        let path = self.0.join(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(FileError::io("create", &path, error))
            }
            _ => Ok(path),
        }
    }
}

/// Lock of the state directory. While it exists, no other process changes the directory.
#[derive(Debug)]
pub struct HomeLock {
    _file: File,
}

/// Reads a private file of the state directory. Returns `None` if it does not exist.
///
/// # Errors
/// Returns [`FileError::Loose`] if group or others have any permission on the file,
/// [`FileError::TooLong`] if it has more than `limit` bytes, and [`FileError::Io`] if it cannot be
/// read.
pub fn read_private(path: &Path, limit: usize) -> Result<Option<Zeroizing<Vec<u8>>>, FileError> {
    let failed = |source| FileError::io("read", path, source);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mode = file.metadata().map_err(failed)?.permissions().mode();
    if mode & OTHERS != 0 {
        return Err(FileError::Loose { path: path.to_owned(), mode });
    }
    read_bounded(file, path, limit).map(Some)
}

/// Reads a file that other users may read or may have written.
///
/// # Errors
/// Returns [`FileError::TooLong`] if the file has more than `limit` bytes, and [`FileError::Io`] if
/// it cannot be read.
pub fn read_public(path: &Path, limit: usize) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let file = File::open(path).map_err(|source| FileError::io("read", path, source))?;
    read_bounded(file, path, limit)
}

/// Reads at most `limit` bytes. The result may be a secret, and is wiped when it is dropped.
///
/// # Errors
/// Returns [`FileError::TooLong`] if there is more input, and [`FileError::Io`] if reading fails.
/// Both name `path` as the file.
pub fn read_bounded(
    input: impl Read,
    path: &Path,
    limit: usize,
) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let mut content = Zeroizing::new(Vec::with_capacity(limit.min(64 * 1024) + 1));
    let read = input.take(limit as u64 + 1).read_to_end(&mut content);
    read.map_err(|source| FileError::io("read", path, source))?;
    if content.len() > limit {
        return Err(FileError::TooLong { path: path.to_owned(), limit: limit as u64 });
    }
    Ok(content)
}

/// Writes a file of the state directory with mode 0600, and replaces an existing one.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> Result<(), FileError> {
    write_file(path, content, Existing::Replace, Readers::Owner)
}

/// Links a file to a free second name, `NAME.old-1` and so on, so that replacing the file loses
/// nothing. Returns the second name; `None` if the file does not exist.
pub(crate) fn keep_aside(path: &Path) -> Result<Option<PathBuf>, FileError> {
    for number in 1..=MAX_ASIDE {
        let mut aside = path.as_os_str().to_owned();
        aside.push(format!(".old-{number}"));
        let aside = PathBuf::from(aside);
        // A link never replaces an existing file.
        match fs::hard_link(path, &aside) {
            Ok(()) => return Ok(Some(aside)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(FileError::io("keep aside", path, error)),
        }
    }
    Err(FileError::Exists(path.to_owned()))
}

/// Renames a folder to a free name, `NAME.old-1` and so on. Returns `None` if the folder does not
/// exist. The lock of the state directory prevents other processes from taking the name.
pub(crate) fn move_aside(folder: &Path, _lock: &HomeLock) -> Result<Option<PathBuf>, FileError> {
    if folder.symlink_metadata().is_err() {
        return Ok(None);
    }
    for number in 1..=MAX_ASIDE {
        let mut aside = folder.as_os_str().to_owned();
        aside.push(format!(".old-{number}"));
        let aside = PathBuf::from(aside);
        if aside.symlink_metadata().is_err() {
            let moved = fs::rename(folder, &aside);
            moved.map_err(|source| FileError::io("keep aside", folder, source))?;
            return Ok(Some(aside));
        }
    }
    Err(FileError::Exists(folder.to_owned()))
}

/// Reason why a state directory cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum HomeError {
    /// The directory, or a file in it, cannot be used.
    File(FileError),
    /// The state directory does not exist.
    Missing(PathBuf),
    /// The path is not a directory.
    NotADirectory(PathBuf),
    /// Neither an argument nor the environment names the state directory.
    Unknown,
}

impl From<FileError> for HomeError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl fmt::Display for HomeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Missing(path) => write!(f, "there is no state directory '{}'", path.display()),
            Self::NotADirectory(path) => write!(f, "'{}' is not a directory", path.display()),
            Self::Unknown => f.write_str("the state directory is not known"),
        }
    }
}

impl error::Error for HomeError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::File(error) => error.source(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_path_follows_the_variables() {
        let path = |set: &[(&str, &str)]| {
            Home::default_path(|name| {
                set.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value))
            })
            .ok()
        };
        let all = [("ENDSEAL_HOME", "e"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(path(&all), Some("e".into()));
        assert_eq!(path(&all[1..]), Some("/x/endseal".into()));
        assert_eq!(path(&all[2..]), Some("/h/.local/share/endseal".into()));
        assert_eq!(path(&[]), None);
        let unusable = [("ENDSEAL_HOME", ""), ("XDG_DATA_HOME", "x"), ("HOME", "/h")];
        assert_eq!(path(&unusable), Some("/h/.local/share/endseal".into()));
    }
}
