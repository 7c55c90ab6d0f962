//! A temporary folder that is removed when it is dropped.

use core::sync::atomic::{AtomicU32, Ordering};
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(purpose: &str) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("endseal-{purpose}-{}-{number}", process::id());
        let path = env::temp_dir().join(name);
        // `create_dir` fails if the folder exists already, which then belongs to another process.
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Creates a made-up tree for a test from pairs of relative path and content.
    #[cfg(test)]
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let scratch = Self::new("test").unwrap();
        for (path, content) in files {
            scratch.write(path, content);
        }
        scratch
    }

    #[cfg(test)]
    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[cfg(test)]
    pub(crate) fn write_program(&self, path: &str, content: &str) {
        self.write(path, content);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(self.0.join(path), mode).unwrap();
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A failure is ignored: the system clears its temporary folder some day.
        let _ = fs::remove_dir_all(&self.0);
    }
}
