//! Temporary directories of a run.

use core::sync::atomic::{AtomicU32, Ordering};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Prefix of the names of the benchmark's files and directories in shared places.
pub(crate) const PREFIX: &str = "endseal-bench-";

/// A temporary directory that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> io::Result<Self> {
        Self::below(&std::env::temp_dir())
    }

    /// Creates a directory below `parent` instead of the system's temporary directory.
    pub(crate) fn below(parent: &Path) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let path = parent.join(name);
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it fails, the rest stays among the system's temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
