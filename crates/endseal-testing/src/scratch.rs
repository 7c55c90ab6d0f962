//! Temporary directories of tests, which are removed when they are dropped.

use core::sync::atomic::{AtomicU32, Ordering};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// Directory of its own below the system's temporary directory, removed when dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes an empty directory.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = env::temp_dir().join(format!("endseal-test-{}-{number}", process::id()));
            let made = fs::create_dir(&path);
            // One may be left of a process that was killed, and had the same number.
            if !made.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
                made.unwrap();
                return Self(path);
            }
        }
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a name in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file; returns its path.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// Reads a file of the directory and returns its content.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Returns true if there is an entry of that name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    /// Returns all names in it, sorted, to see that nothing is left behind.
    ///
    /// # Panics
    /// If it cannot be read, or a name is not UTF-8.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that stays is no failure: the system clears its temporary directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_empty_at_first_and_gone_at_the_end() {
        let (scratch, other) = (Scratch::new(), Scratch::new());
        assert_eq!(scratch.names(), [""; 0]);
        let path = scratch.write("a", "text");
        assert_eq!((scratch.names(), other.names()), (vec!["a".to_owned()], Vec::new()));
        assert_eq!(scratch.read("a"), b"text");
        assert!(scratch.has("a") && !scratch.has("b") && path.is_file());
        drop(scratch);
        assert!(!path.exists() && other.folder().is_dir());
    }
}
