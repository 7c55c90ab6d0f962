//! Files without a name, which a killed process does not leave behind. Linux has them
//! (`O_TMPFILE`). On other systems [`create`] returns `None`, and [`AtomicFile`](super::AtomicFile)
//! uses a temporary name.

#[cfg(target_os = "linux")]
mod system {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd as _;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat};

    /// Folder with a link to each open file of this process.
    const OWN_FILES: &str = "/proc/self/fd";

    /// Creates a file without a name in `folder`. Returns `None` if the file system has no such
    /// files, if the file could not be named later, or after any other failure. The caller then
    /// creates a named file, which reports the same failure.
    pub(in super::super) fn create(folder: &Path, mode: u32) -> Option<File> {
        if !Path::new(OWN_FILES).is_dir() {
            return None;
        }
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        rustix::fs::open(folder, flags, Mode::from_raw_mode(mode)).ok().map(File::from)
    }

    /// Gives a file from [`create`] the name `path`, which must be free.
    pub(in super::super) fn link(file: &File, path: &Path) -> io::Result<()> {
        let own = format!("{OWN_FILES}/{}", file.as_raw_fd());
        Ok(linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(in super::super) fn create(_folder: &Path, _mode: u32) -> Option<File> {
        None
    }

    pub(in super::super) fn link(_file: &File, _path: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub(super) use system::{create, link};
