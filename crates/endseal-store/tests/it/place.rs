//! Directories of tests, and stores in them.

use core::sync::atomic::{AtomicU64, Ordering};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

use endseal_crypto::random::OsRandom;
use endseal_store::{OpenOptions, Protection, Store, Unlock};

/// A temporary directory that is removed when this is dropped.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new() -> Self {
        Self::below(&env::temp_dir())
    }

    /// Creates a directory in memory, if the system has such a place: these tests do not depend on
    /// a disk.
    pub(crate) fn quick() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::below(memory) } else { Self::new() }
    }

    fn below(folder: &Path) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name =
            format!("endseal-store-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = folder.join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    pub(crate) fn create(&self) -> Store {
        Store::create(&self.store(), Protection::None, &mut OsRandom).unwrap()
    }

    pub(crate) fn open(&self) -> Store {
        open(&self.store()).unwrap()
    }
}

pub(crate) fn open(directory: &Path) -> Result<Store, endseal_store::OpenStoreError> {
    Store::open(directory, Unlock::None, OpenOptions::new())
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
