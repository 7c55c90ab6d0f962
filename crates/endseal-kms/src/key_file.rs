//! Files with keys: whole or not there, readable by their owner alone.

use core::sync::atomic::{AtomicU32, Ordering};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process;

use endseal_crypto::secret::Zeroizing;

/// Writes a new file, mode 0600. When it returns, the file is on the disk.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if there is something of that name, which is not touched.
pub fn create(path: &Path, text: &str) -> io::Result<()> {
    let temporary = Temporary::write(path, text)?;
    // A link fails if the name is taken, without a moment between looking and naming.
    fs::hard_link(&temporary.0, path)?;
    sync_folder(path)
}

/// Puts a new file in the place of another, in one step. When it returns, it is on the disk.
///
/// # Errors
/// The file system's. The old file is as it was then, unless the folder could not be synchronised.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let temporary = Temporary::write(path, text)?;
    fs::rename(&temporary.0, path)?;
    sync_folder(path)
}

/// The content, or one byte more than `limit` of it. The buffer never grows, so that no copy of a
/// secret stays behind.
///
/// # Errors
/// The file system's.
pub fn read(mut file: &File, limit: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![0; limit + 1]);
    let mut len = 0;
    while len < bytes.len() {
        match file.read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(len);
    Ok(bytes)
}

/// A file beside its destination, removed on drop.
struct Temporary(PathBuf);

impl Temporary {
    fn write(destination: &Path, text: &str) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder(destination).join(format!(".endseal-key-{}-{number}.tmp", process::id()));
        // Removes the file that a killed process with the same process id may have left.
        let _absent = fs::remove_file(&path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let own = Self(path);
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        Ok(own)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename it is gone already.
        let _absent = fs::remove_file(&self.0);
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
