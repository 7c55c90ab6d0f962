//! The lock of an open store, the generation that this machine saw last, and a mark of damage
//! (docs/spec/store.md, "Lock and generation").

use core::time::Duration;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::directory;
use crate::error::OpenStoreError;

/// Holds the lock of a store until it is dropped; the kernel releases it when the process dies.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// Takes the lock, and waits for it at most `wait`. The file is never removed: a process that
    /// held the lock of a removed file would exclude no other process.
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

    /// Takes the lock of a store that is only read, if the store has one.
    pub(crate) fn take_existing(path: &Path) -> Result<Option<Self>, OpenStoreError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(OpenStoreError::Io(error)),
        };
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::Error(error)) => Err(OpenStoreError::Io(error)),
            Err(TryLockError::WouldBlock) => Err(OpenStoreError::Locked),
        }
    }

    /// The generation that was written last; 0 before the first.
    pub(crate) fn generation(&mut self) -> io::Result<u64> {
        let mut bytes = Vec::with_capacity(8);
        self.0.seek(SeekFrom::Start(0))?;
        (&self.0).take(8).read_to_end(&mut bytes)?;
        Ok(bytes.try_into().map_or(0, u64::from_le_bytes))
    }

    /// Returns true if damage was reported and no check was good since.
    pub(crate) fn is_damaged(&self) -> io::Result<bool> {
        let mut mark = Vec::with_capacity(1);
        (&self.0).seek(SeekFrom::Start(MARK))?;
        (&self.0).take(1).read_to_end(&mut mark)?;
        Ok(mark == [1])
    }

    /// Notes that damage was reported, or that a check was good.
    pub(crate) fn set_damaged(&self, damaged: bool) -> io::Result<()> {
        if self.is_damaged()? != damaged {
            (&self.0).seek(SeekFrom::Start(MARK))?;
            (&self.0).write_all(&[u8::from(damaged)])?;
            self.0.sync_data()?;
        }
        Ok(())
    }

    /// Writes the generation, which the database MUST hold durably by now: a machine that remembers
    /// a later one would take the store for a restored one.
    pub(crate) fn set_generation(&mut self, generation: u64) -> io::Result<()> {
        self.note_generation(generation)?;
        self.0.sync_data()
    }

    /// [`Self::set_generation`] without an fsync: it outlives the process. The lowest byte comes
    /// first, so that a torn write leaves no number above the rising ones that were written.
    pub(crate) fn note_generation(&mut self, generation: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(&generation.to_le_bytes())
    }
}

impl Drop for Lock {
    /// Given up and not only closed: a child that another thread is just starting holds a copy of
    /// the file, and the lock with it, until it is another program.
    fn drop(&mut self) {
        // If it fails, closing the file is what is left.
        let _ = self.0.unlock();
    }
}

/// Place of the mark of damage, behind the generation.
const MARK: u64 = 8;

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
