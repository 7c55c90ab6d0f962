//! Where servers keep their files: in memory if it has room, so that neither a disk nor what the
//! kernel holds back for it is measured.
//!
//! The memory that a file is made of matters even where nothing reaches the disk. ext4 gives a
//! writer of whole megabytes memory in blocks of a megabyte, and others in smaller ones; such
//! blocks, where they had long been free, took eight times as long to write to on the virtual
//! machine that this was measured on. Subjects whose writes happen to fall on whole megabytes then
//! pay what others do not. In memory, files are made of single pages, for everybody.
//! docs/design/s3-data-path.md has the figures, and what is only inferred of the reason.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::OnceLock;

use rustix::fs::{XattrFlags, setxattr, statvfs};

use crate::program;
use crate::s3::Failure;
use crate::scratch::{Folder, PREFIX};

/// A file system in memory, which Linux has by default.
const MEMORY: &str = "/dev/shm";
/// The largest objects of all subjects, and those that MinIO keeps after they were replaced.
const ROOM: u64 = 16 << 30;
/// Bytes written at once.
const PIECE: usize = 1 << 20;

/// The directory below which servers, and clients that copy files, have their own. Whoever sets
/// `TMPDIR` has chosen. The same for the whole run.
pub(super) fn of_files() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let memory = Path::new(MEMORY);
        match std::env::var_os("TMPDIR") {
            None if has_room(memory) && takes_attributes(memory) => memory.to_owned(),
            _ => std::env::temp_dir(),
        }
    })
}

/// A directory of its own there. It is gone with this value, or with this process: what is left in
/// memory by one that was interrupted would take it until the machine is started again.
pub(super) struct Files {
    folder: Folder,
    // Told by the end of its standard input, after the folder is gone if all went well.
    _sweeper: Child,
}

impl Files {
    pub(super) fn new() -> Result<Self, Failure> {
        let folder = Folder::below(of_files())?;
        let sweeper = program::sweeper(&folder.at(""))?;
        Ok(Self { folder, _sweeper: sweeper })
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.folder.at(name)
    }
}

/// Lets the kernel find memory for a file of that length, and gives it back, so that the next one
/// to be written takes that: otherwise whose turn it is pays for memory that was long free.
pub(super) fn make_room(bytes: u64) -> io::Result<()> {
    let path = of_files().join(format!("{PREFIX}{}-room", std::process::id()));
    let written = fill(&path, bytes);
    // Whether it was written or not, and before anything else is. Why it was not comes first: then
    // there may be nothing to remove.
    let removed = fs::remove_file(&path);
    written.and(removed)
}

fn fill(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    let piece = vec![0; PIECE];
    let mut left = bytes;
    while left > 0 {
        let len = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
        file.write_all(&piece[..len])?;
        left -= len as u64;
    }
    Ok(())
}

/// Returns true if all objects fit in. A file system in memory may report more space than there is
/// free memory.
fn has_room(place: &Path) -> bool {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let system = statvfs(place).map_or(0, |it| it.f_bavail.saturating_mul(it.f_frsize));
    system >= ROOM && available(&meminfo) >= ROOM
}

/// Bytes of memory that can be had, by what the kernel tells.
fn available(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or_default().saturating_mul(1024)
}

/// Returns true if files there can have attributes, in which versitygw keeps metadata. Files in
/// memory have none in kernels before 6.6.
fn takes_attributes(place: &Path) -> bool {
    let probe = || -> io::Result<()> {
        let file = place.join(format!("{PREFIX}{}-probe", std::process::id()));
        fs::File::create_new(&file)?;
        let set = setxattr(&file, "user.endseal", b"1", XattrFlags::empty());
        fs::remove_file(&file)?;
        Ok(set?)
    };
    probe().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_tells_is_read() {
        let meminfo = "MemTotal:       24684920 kB\nMemAvailable:   23805124 kB\nBuffers: 1 kB\n";
        assert_eq!(available(meminfo), 23_805_124 * 1024);
        assert_eq!(available("MemTotal:       24684920 kB\n"), 0);
        assert_eq!(available("MemAvailable: much"), 0);
    }

    #[test]
    fn room_is_made_and_given_back() {
        make_room(PIECE as u64 * 2 + 5).unwrap();
        let own = format!("{PREFIX}{}-room", std::process::id());
        assert!(!of_files().join(own).exists());
    }

    #[test]
    fn a_place_that_is_not_there_has_no_room() {
        let nowhere = Path::new("/endseal-there-is-no-such-place");
        assert!(!has_room(nowhere));
        assert!(!takes_attributes(nowhere));
    }
}
