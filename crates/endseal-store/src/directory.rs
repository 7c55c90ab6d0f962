//! The store's directory: names, permissions, files that appear whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

pub(crate) const DATABASE: &str = "store.db";
pub(crate) const LOG: &str = "store.db-wal";
pub(crate) const KEY: &str = "key";
pub(crate) const LOCK: &str = "lock";

/// Makes a directory that other accounts cannot read. It MUST NOT exist.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Returns the options for a file of the store: for its owner alone, if it is new.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Replaces a file atomically: after a crash it holds the old content or the new one, complete.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes)?;
    synchronise_parent(path)
}

/// [`write_whole`] without the fsync of the directory. After an error the file is the one that it
/// was.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = beside(path, ".new");
    // One that was left by a crash is not a file of the store, and is written over.
    let mut file = private().create(true).truncate(true).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

/// At most `limit` + 1 bytes of a file, so that one byte too many shows.
pub(crate) fn read_bounded(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(limit + 1);
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes changes of the names in a directory durable.
pub(crate) fn synchronise(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

pub(crate) fn synchronise_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if parent != Path::new("") => synchronise(parent),
        _ => synchronise(Path::new(".")),
    }
}

/// The path with `suffix` at its end.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
