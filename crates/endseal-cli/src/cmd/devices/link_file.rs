//! The archive of a link in the state directory, until the other side has it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use endseal_node::{FileError, Home};

use crate::failure::Failure;

/// Name of the file.
const NAME: &str = "link.endseal";

/// An empty file that only the owner can read, removed when it is dropped: it has the root, sealed
/// to the new device.
pub(super) struct LinkFile {
    pub(super) file: File,
    path: PathBuf,
}

impl LinkFile {
    pub(super) fn create(home: &Home) -> Result<Self, Failure> {
        let path = home.path().join(NAME);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(&path).map_err(|source| FileError::io("create", &path, source))?;
        Ok(Self { file, path })
    }

    /// Makes the failure for an error of reading.
    pub(super) fn failed(&self, source: std::io::Error) -> Failure {
        FileError::io("read", &self.path, source).into()
    }
}

impl Drop for LinkFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
