//! The lock of an open store, and the generation that this machine saw last (docs/spec/store.md,
//! "Lock and generation").

use core::time::Duration;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::directory;
use crate::error::OpenStoreError;

/// Held as long as it lives; the kernel gives it up when the process dies.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// Takes the lock, and waits for it at most as long as told. The file is never removed: whoever
    /// held a removed one would hold nothing.
    pub(crate) fn take(path: &Path, wait: Duration) -> Result<Self, OpenStoreError> {
        let file = directory::private().create(true).truncate(false).open(path)?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::Error(error)) => return Err(OpenStoreError::Io(error)),
                Err(TryLockError::WouldBlock) => {}
            }
            let left = wait.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(OpenStoreError::Locked);
            }
            thread::sleep(left.min(POLL));
        }
    }

    /// The generation that was written last; 0 before the first.
    pub(crate) fn generation(&mut self) -> io::Result<u64> {
        let mut bytes = Vec::with_capacity(8);
        self.0.seek(SeekFrom::Start(0))?;
        (&self.0).take(8).read_to_end(&mut bytes)?;
        Ok(bytes.try_into().map_or(0, u64::from_le_bytes))
    }

    /// Writes the generation, which the database MUST hold durably by now: a machine that remembers
    /// a later one would take the store for a restored one.
    pub(crate) fn set_generation(&mut self, generation: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(&generation.to_le_bytes())?;
        self.0.sync_data()
    }
}

impl Drop for Lock {
    /// Given up and not only closed: a child that another thread is just starting holds a copy of the
    /// file, and the lock with it, until it is another program.
    fn drop(&mut self) {
        // If it fails, closing the file is what is left.
        let _ = self.0.unlock();
    }
}

/// `flock` has no time limit. A wait is rare, and this is far below what a person notices.
const POLL: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::{env, fs, process};

    use super::Lock;

    /// As a child has one between `fork` and `exec`.
    #[test]
    fn a_copy_of_the_file_does_not_keep_the_lock() {
        let path = env::temp_dir().join(format!("endseal-store-lock-{}", process::id()));
        let lock = Lock::take(&path, Duration::ZERO).unwrap();
        let copy = lock.0.try_clone().unwrap();
        assert!(Lock::take(&path, Duration::ZERO).is_err());
        drop(lock);
        Lock::take(&path, Duration::ZERO).unwrap();
        drop(copy);
        fs::remove_file(&path).unwrap();
    }
}
