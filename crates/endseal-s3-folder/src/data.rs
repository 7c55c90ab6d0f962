//! Bytes of objects: while they are written, and while they are read.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::id::Id;

/// A file that is being written. It is removed when it is dropped, unless it was moved to its final
/// path.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The open file; `None` after the draft was finished.
    file: Option<File>,
    path: PathBuf,
    len: u64,
}

impl Draft {
    pub(crate) fn new(path: PathBuf) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        Ok(Self { file: Some(file), path, len: 0 })
    }

    /// Appends pieces as they are.
    pub(crate) fn write(&mut self, pieces: &[Bytes]) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        for piece in pieces {
            file.write_all(piece)?;
            self.len += piece.len() as u64;
        }
        Ok(())
    }

    /// Appends all bytes of `source`.
    pub(crate) fn copy(&mut self, source: &mut impl io::Read) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        self.len += io::copy(source, file)?;
        Ok(())
    }

    /// Forces it to the disk, and closes it.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match self.file.take() {
            Some(file) => file.sync_all(),
            None => Ok(()),
        }
    }

    pub(crate) const fn len(&self) -> u64 {
        self.len
    }

    /// Moves the file to its final path.
    pub(crate) fn place(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After a rename it is gone already.
        let _ = fs::remove_file(&self.path);
    }
}

/// Counts the readers of each object's data, so that data are deleted after the last one.
#[derive(Debug, Default)]
pub(crate) struct Leases(Mutex<HashMap<Id, Count>>);

#[derive(Debug, Default)]
struct Count {
    readers: usize,
    doomed: bool,
}

/// Keeps the data of an object from being deleted while it lives.
#[derive(Debug)]
pub(crate) struct Lease {
    leases: Arc<Leases>,
    id: Id,
    path: PathBuf,
    pending: PathBuf,
    /// True if dropping it may block on the disk.
    may_block: bool,
}

impl Leases {
    pub(crate) fn lease(leases: &Arc<Self>, id: &Id, path: PathBuf, pending: PathBuf) -> Lease {
        let mut counts = leases.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(id.clone()).or_default().readers += 1;
        Lease { leases: Arc::clone(leases), id: id.clone(), path, pending, may_block: false }
    }
}

impl Lease {
    /// Path of the data, which stay as long as the lease.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the data go with the last lease: now, if this is it. It blocks.
    pub(crate) fn doom(mut self) {
        self.may_block = true;
        let mut counts = self.leases.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.id) {
            count.doomed = true;
        }
        // Giving it back takes the same lock.
        drop(counts);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut counts = self.leases.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = counts.get_mut(&self.id) else { return };
        count.readers -= 1;
        if count.readers > 0 {
            return;
        }
        let doomed = count.doomed;
        counts.remove(&self.id);
        drop(counts);
        if doomed {
            let (path, pending) = (self.path.clone(), self.pending.clone());
            let remove = move || {
                // Data that cannot be removed now are removed at the next start.
                if remove_all(&path).is_ok() {
                    let _ = fs::remove_file(pending);
                }
            };
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) if !self.may_block => drop(runtime.spawn_blocking(remove)),
                _ => remove(),
            }
        }
    }
}

/// Removes a file or a folder with all that is in it; nothing if it is not there.
pub(crate) fn remove_all(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
