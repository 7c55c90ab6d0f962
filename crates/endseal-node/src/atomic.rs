//! Files that appear whole or not at all.

use core::sync::atomic::{AtomicU32, Ordering};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;

use crate::error::FileError;

/// What to do if there is a file of that name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is no third")]
pub enum Existing {
    /// Refuse, also if it appears in the meantime.
    Keep,
    /// Replace it in one step, with its permissions.
    Replace,
}

/// Who may read the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "there is no third")]
pub enum Readers {
    /// The owner: mode 0600.
    Owner,
    /// Whom the umask of the process allows.
    Umask,
}

/// A file under a temporary name beside its destination.
///
/// [`commit`](Self::commit) gives it its name; dropped before, it is removed. So a full disk, a
/// failure or a refused envelope leaves the destination absent or as it was. A killed process leaves
/// the temporary file, `.endseal-PROCESS-N.tmp`.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    temporary: PathBuf,
    destination: PathBuf,
    existing: Existing,
    committed: bool,
}

impl AtomicFile {
    /// Begins the file that will be `destination`.
    ///
    /// # Errors
    /// [`FileError::Exists`] at once, so that no work is done in vain; [`FileError::NotARegularFile`]
    /// for a folder or device; those of the file system.
    pub fn create(
        destination: &Path,
        existing: Existing,
        readers: Readers,
    ) -> Result<Self, FileError> {
        let (destination, permissions) = resolve(destination, existing)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if readers == Readers::Owner {
            options.mode(0o600);
        }
        let (file, temporary) = open_beside(&destination, &options)
            .map_err(|source| FileError::io("create", &destination, source))?;
        let own = Self { file, temporary, destination, existing, committed: false };
        if let Some(permissions) = permissions.filter(|_| readers == Readers::Umask) {
            let set = own.file.set_permissions(permissions);
            set.map_err(|source| FileError::io("create", &own.destination, source))?;
        }
        Ok(own)
    }

    /// Where the file will be.
    #[must_use]
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Writes the file to the disk and gives it its name.
    ///
    /// # Errors
    /// [`FileError::Exists`] if it must not replace one; those of the file system.
    pub fn commit(mut self) -> Result<(), FileError> {
        let destination = self.destination.clone();
        let failed = |source| FileError::io("write", &destination, source);
        self.file.sync_all().map_err(failed)?;
        match self.existing {
            Existing::Replace => {
                fs::rename(&self.temporary, &destination).map_err(failed)?;
                self.committed = true;
            }
            Existing::Keep => self.name_if_absent().map_err(failed)?,
        }
        // The name is there; that it outlives a power failure is all that this adds, and some file
        // systems do not know how.
        let _ = File::open(folder(&destination)).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// A hard link fails if the name is taken, without a moment between looking and naming.
    fn name_if_absent(&mut self) -> io::Result<()> {
        match fs::hard_link(&self.temporary, &self.destination) {
            // The second name is removed on drop.
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // FAT and some network file systems have no links: reserve the name, then rename over the
            // reservation. A crash between the two leaves an empty file, nothing of anybody's is lost.
            Err(_) => {
                OpenOptions::new().write(true).create_new(true).open(&self.destination)?;
                let renamed = fs::rename(&self.temporary, &self.destination);
                if renamed.is_err() {
                    let _ = fs::remove_file(&self.destination);
                }
                self.committed = renamed.is_ok();
                renamed
            }
        }
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
        if !self.committed {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Writes `content` to `destination` in one step.
///
/// # Errors
/// Those of [`AtomicFile`].
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

/// Where the file really goes, and the permissions of the one that it replaces. A link is followed, so
/// that what it points to is replaced and not the link.
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
            Ok((path, Some(target.permissions())))
        }
        None => Ok((destination.to_owned(), None)),
    }
}

fn open_beside(destination: &Path, options: &OpenOptions) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    destination.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut attempts = 0;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".endseal-{}-{number}.tmp", process::id());
        let temporary = folder(destination).join(temporary);
        match options.open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            // Left by a killed process of the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts < 100 => {
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
