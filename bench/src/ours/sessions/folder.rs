//! Directories of stores: on the disk of temporary files, restored before each iteration.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

/// Copies `from` over `to` and fsyncs it: otherwise the first fsync that is timed would write it.
pub(in crate::ours) fn put_back(from: &Path, to: &Path) -> io::Result<()> {
    match fs::remove_dir_all(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        fs::copy(entry.path(), &copy)?;
        File::open(&copy)?.sync_all()?;
    }
    File::open(to)?.sync_all()
}

/// Returns the bytes that this process gave to the kernel for storage, or `None` if the kernel does
/// not count them.
pub(super) fn written() -> Option<u64> {
    let counters = fs::read_to_string("/proc/self/io").ok()?;
    let line = counters.lines().find_map(|line| line.strip_prefix("write_bytes: "))?;
    line.parse().ok()
}

/// A file to which pages are appended, with an fsync after each.
#[derive(Debug)]
pub(super) struct Log(File);

impl Log {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let mut log = Self(File::create(path)?);
        log.append()?;
        log.0.sync_all()?;
        Ok(log)
    }

    pub(super) fn append(&mut self) -> io::Result<()> {
        self.0.write_all(&[0xa5; 4096])?;
        self.0.sync_data()
    }
}
