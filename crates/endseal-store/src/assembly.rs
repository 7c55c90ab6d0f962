//! Directories of stores and backups that appear whole or not at all.

use core::hash::BuildHasher as _;
use core::time::Duration;
use std::fs;
use std::hash::RandomState;
use std::io;
use std::path::Path;

use crate::directory::{self, LOCK};
use crate::error::CreateStoreError;
use crate::lock::Lock;

/// Makes a directory with `fill` under another name, locks it and puts it in its place. The store
/// exists when all of it does.
pub(crate) fn assemble<E: From<CreateStoreError>>(
    directory: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<Lock, E> {
    if fs::symlink_metadata(directory).is_ok() && !is_empty(directory)? {
        return Err(CreateStoreError::Exists.into());
    }
    remove_remains(directory);
    // Another name each time, so that remains of a crash are in no one's way.
    let name = RandomState::new().hash_one(directory);
    let new = directory::beside(directory, &format!("{NEW}{name:016x}"));
    directory::make(&new).map_err(CreateStoreError::from)?;
    let made = Lock::take(&new.join(LOCK), Duration::ZERO)
        .map_err(|error| CreateStoreError::Io(io::Error::other(error)).into())
        .and_then(|lock| fill(&new).map(|()| lock))
        .and_then(|lock| Ok(put_in_place(&new, directory).map(|()| lock)?));
    if made.is_err() {
        // It was never a store; its remains are in no one's way.
        let _ = fs::remove_dir_all(&new);
    }
    made
}

/// Removes the remains of unfinished assemblies beside `directory`: folders of processes that were
/// killed before the store was complete. A process that is still assembling a store holds its lock.
/// A folder that cannot be removed stays.
fn remove_remains(directory: &Path) {
    let Some(prefix) =
        directory.file_name().map(|name| [name.as_encoded_bytes(), NEW.as_bytes()].concat())
    else {
        return;
    };
    let parent = directory.parent().filter(|parent| *parent != Path::new(""));
    let Ok(entries) = fs::read_dir(parent.unwrap_or(Path::new("."))) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_new = name.as_encoded_bytes().strip_prefix(&prefix[..]).is_some_and(|number| {
            number.len() == 16 && number.iter().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
        });
        if is_new && let Ok(Some(_lock)) = Lock::take_existing(&entry.path().join(LOCK)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Stands between the name of a directory and the 16 hexadecimal digits of one that will take its
/// place.
const NEW: &str = ".new-";

/// Takes the place of nothing or of an empty directory.
fn put_in_place(new: &Path, directory: &Path) -> Result<(), CreateStoreError> {
    directory::synchronise(new)?;
    fs::rename(new, directory).map_err(|error| match error.kind() {
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => CreateStoreError::Exists,
        _ => error.into(),
    })?;
    directory::synchronise_parent(directory).inspect_err(|_| {
        // Not known to be durable, so it is not there; if that fails as well, a good store stays.
        let _ = fs::rename(directory, new);
    })?;
    Ok(())
}

fn is_empty(directory: &Path) -> Result<bool, CreateStoreError> {
    match fs::read_dir(directory) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(error.into()),
    }
}
