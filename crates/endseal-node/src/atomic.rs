//! Files that appear complete or not at all: a crash never leaves a partly written file.

use core::sync::atomic::{AtomicU32, Ordering};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process;

use rustix::io::Errno;

use crate::error::FileError;

mod unnamed;

/// Treatment of an existing file at the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is no third")]
pub enum Existing {
    /// Refuse with [`FileError::Exists`], even if the file appears after the first check.
    Keep,
    /// Replace the file in one step. With [`Readers::Umask`], its permissions are kept.
    Replace,
}

/// Users that may read the new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is no third")]
pub enum Readers {
    /// Only the owner: mode 0600.
    Owner,
    /// All users that the umask of the process allows.
    Umask,
}

/// A file under construction. It has no name yet, or a temporary name beside its destination.
///
/// [`commit`](Self::commit) gives the file its name; dropping it before that removes it. After a
/// full disk, another failure or a refused envelope, the destination is absent or unchanged.
///
/// On file systems with unnamed files (Linux, `O_TMPFILE`) a killed process leaves nothing behind.
/// On others it leaves `.endseal-PROCESS-N.tmp`.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    /// Temporary name, which is removed on drop.
    temporary: Option<PathBuf>,
    destination: PathBuf,
    existing: Existing,
}

impl AtomicFile {
    /// Creates the file that will become `destination`. A link to an existing file is followed.
    ///
    /// # Errors
    /// Returns [`FileError::Exists`] if the destination exists and must be kept,
    /// [`FileError::NotARegularFile`] if it is a folder or device, and [`FileError::Io`] if the
    /// file system refuses.
    pub fn create(
        destination: &Path,
        existing: Existing,
        readers: Readers,
    ) -> Result<Self, FileError> {
        let (destination, permissions) = resolve(destination, existing)?;
        let mode = match readers {
            Readers::Owner => 0o600,
            Readers::Umask => 0o666,
        };
        let failed = |source| FileError::io("create", &destination, source);
        destination.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
        let (file, temporary) = match unnamed::create(folder(&destination), mode) {
            Some(file) => (file, None),
            None => named(&destination, |path| {
                OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
            })
            .map(|(file, temporary)| (file, Some(temporary)))
            .map_err(failed)?,
        };
        if let Some(permissions) = permissions.filter(|_| readers == Readers::Umask) {
            file.set_permissions(permissions).map_err(failed)?;
        }
        Ok(Self { file, temporary, destination, existing })
    }

    /// Returns the path that the file gets: that of the target if a link to a file is followed.
    #[must_use]
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Writes the content so far to stable storage, so that less is left for
    /// [`commit`](Self::commit).
    ///
    /// # Errors
    /// Returns [`FileError::Io`] if the file system reports a failure.
    pub fn sync(&self) -> Result<(), FileError> {
        let failed = |source| FileError::io("write", &self.destination, source);
        self.file.sync_data().map_err(failed)
    }

    /// Writes the file to stable storage and gives it its name. The name itself may still be lost
    /// in a power failure: see [`commit_durably`](Self::commit_durably).
    ///
    /// # Errors
    /// Returns [`FileError::Exists`] if a file that must be kept has appeared at the destination,
    /// and [`FileError::Io`] if the file system refuses.
    pub fn commit(mut self) -> Result<(), FileError> {
        self.name().map_err(|source| FileError::io("write", &self.destination, source))?;
        // The file has its name. An fsync of the folder only makes the name survive a power
        // failure, and some file systems do not support it.
        let _ = self.sync_folder();
        Ok(())
    }

    /// Like [`Self::commit`], and makes the name survive a power failure.
    ///
    /// # Errors
    /// Returns the errors of [`Self::commit`], and [`FileError::Io`] if the fsync of the folder
    /// fails. A new file is then removed, because its name could be lost later. A file that
    /// replaced another one keeps its name.
    pub fn commit_durably(mut self) -> Result<(), FileError> {
        self.name().map_err(|source| FileError::io("write", &self.destination, source))?;
        self.sync_folder().map_err(|source| {
            if self.existing == Existing::Keep {
                let _ = fs::remove_file(&self.destination);
            }
            FileError::io("write", &self.destination, source)
        })
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(folder(&self.destination))?.sync_all()
    }

    fn name(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        if self.existing == Existing::Keep {
            return self.name_if_absent();
        }
        // A link cannot replace a file but a rename can: link to a temporary name, then rename.
        if self.temporary.is_none() {
            let ((), temporary) = named(&self.destination, |path| unnamed::link(&self.file, path))?;
            self.temporary = Some(temporary);
        }
        self.rename()
    }

    /// Names the file with a link, which fails if the name is taken. There is no gap between the
    /// check and the naming.
    fn name_if_absent(&mut self) -> io::Result<()> {
        let Some(temporary) = &self.temporary else {
            return unnamed::link(&self.file, &self.destination);
        };
        match fs::hard_link(temporary, &self.destination) {
            // The temporary name is removed on drop.
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // FAT has no links, but supports a rename that replaces nothing.
            Err(_) => match rename_if_absent(temporary, &self.destination) {
                Ok(()) => {
                    self.temporary = None;
                    Ok(())
                }
                Err(Errno::EXIST) => Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => self.rename_over_reservation(),
            },
        }
    }

    /// Reserves the name with an empty file and renames over it, for network file systems that have
    /// neither links nor such a rename. A crash between the two steps leaves an empty file and
    /// loses no data.
    fn rename_over_reservation(&mut self) -> io::Result<()> {
        OpenOptions::new().write(true).create_new(true).open(&self.destination)?;
        self.rename().inspect_err(|_| {
            let _ = fs::remove_file(&self.destination);
        })
    }

    fn rename(&mut self) -> io::Result<()> {
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.destination)?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.file.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Writes `content` to `destination` in one step.
///
/// # Errors
/// Returns the errors of [`AtomicFile::create`] and [`AtomicFile::commit`].
pub fn write_file(
    destination: &Path,
    content: &[u8],
    existing: Existing,
    readers: Readers,
) -> Result<(), FileError> {
    let mut file = AtomicFile::create(destination, existing, readers)?;
    file.write_all(content).map_err(|source| FileError::io("write", destination, source))?;
    file.commit()
}

/// Returns the path to write, and the permissions of the file that it replaces. A symbolic link to
/// a file is followed, so that its target is replaced and not the link. A dangling link is
/// replaced.
fn resolve(
    destination: &Path,
    existing: Existing,
) -> Result<(PathBuf, Option<Permissions>), FileError> {
    let failed = |source| FileError::io("create", destination, source);
    let own = match fs::symlink_metadata(destination) {
        Ok(own) => own,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((destination.to_owned(), None));
        }
        Err(error) => return Err(failed(error)),
    };
    let target = if own.is_symlink() { fs::metadata(destination).ok() } else { Some(own) };
    match target {
        Some(target) if !target.is_file() => {
            Err(FileError::NotARegularFile(destination.to_owned()))
        }
        _ if existing == Existing::Keep => Err(FileError::Exists(destination.to_owned())),
        Some(target) => {
            let path = fs::canonicalize(destination).map_err(failed)?;
            // Bits such as set-user-ID are dropped: they were granted to the old content.
            Ok((path, Some(Permissions::from_mode(target.permissions().mode() & 0o777))))
        }
        None => Ok((destination.to_owned(), None)),
    }
}

/// Renames in one step, and fails if the destination exists.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn rename_if_absent(from: &Path, to: &Path) -> Result<(), Errno> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};

    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)
}

/// Fails with `ENOSYS`: other systems have no rename that replaces nothing.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn rename_if_absent(_from: &Path, _to: &Path) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Calls `with` with free temporary names beside `destination` until one works. Returns the result
/// and the name.
fn named<T>(
    destination: &Path,
    mut with: impl FnMut(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut attempts = 0;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".endseal-{}-{number}.tmp", process::id());
        let temporary = folder(destination).join(temporary);
        match with(&temporary) {
            Ok(done) => return Ok((done, temporary)),
            // A killed process with the same number has left this file.
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists && attempts < MAX_ATTEMPTS =>
            {
                attempts += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

const MAX_ATTEMPTS: u32 = 100;

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    /// Creates the file with a temporary name, as on file systems without unnamed files.
    fn with_temporary_name(path: &Path, existing: Existing) -> AtomicFile {
        let (file, temporary) = named(path, |path| {
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
        })
        .unwrap();
        AtomicFile { file, temporary: Some(temporary), destination: path.to_owned(), existing }
    }

    #[test]
    fn a_temporary_name_does_the_same() {
        let folder = env::temp_dir().join(format!("endseal-atomic-{}", process::id()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("file");
        let entries = || fs::read_dir(&folder).unwrap().count();
        let write = |content: &[u8], existing| {
            let mut file = with_temporary_name(&path, existing);
            file.write_all(content).unwrap();
            file.commit()
        };
        drop(with_temporary_name(&path, Existing::Keep));
        assert_eq!(entries(), 0);
        write(b"first", Existing::Keep).unwrap();
        assert!(matches!(write(b"second", Existing::Keep), Err(FileError::Exists(_))));
        assert_eq!(fs::read(&path).unwrap(), b"first");
        write(b"third", Existing::Replace).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        assert_eq!(entries(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    /// Tests the code for file systems that have no links either.
    #[test]
    fn a_rename_replaces_nothing_and_one_over_a_reservation_neither() {
        let folder = env::temp_dir().join(format!("endseal-rename-{}", process::id()));
        fs::create_dir(&folder).unwrap();
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::write(&from, "new").unwrap();
        fs::write(&to, "old").unwrap();
        assert_eq!(rename_if_absent(&from, &to), Err(Errno::EXIST));
        let mut file = with_temporary_name(&to, Existing::Keep);
        assert_eq!(
            file.rename_over_reservation().map_err(|error| error.kind()),
            Err(io::ErrorKind::AlreadyExists)
        );
        assert_eq!(fs::read(&to).unwrap(), b"old");
        fs::remove_file(&to).unwrap();
        file.rename_over_reservation().unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"");
        fs::remove_file(&to).unwrap();
        assert_eq!(rename_if_absent(&from, &to), Ok(()));
        assert_eq!(fs::read(&to).unwrap(), b"new");
        assert!(!from.exists());
        drop(file);
        fs::remove_dir_all(folder).unwrap();
    }
}
