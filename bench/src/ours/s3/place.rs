//! Directory of the servers' files: in memory if there is enough of it, so that neither a disk nor
//! the kernel's write-back is measured.
//!
//! The kind of memory affects the figures even if nothing is written to a disk. ext4 gives a writer
//! of whole megabytes memory in blocks of a megabyte, and other writers smaller blocks. On the
//! virtual machine that this was measured on, blocks that had been free for long took eight times
//! as long to write to. Subjects whose writes happen to fall on whole megabytes then pay what
//! others do not. In memory, files consist of single pages for all subjects.
//! docs/design/s3-data-path.md has the figures, and says which part of the reason is only inferred.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::OnceLock;

use rustix::fs::{XattrFlags, setxattr, statvfs};

use crate::program;
use crate::scratch::{Folder, PREFIX};
use crate::subject::Failure;

/// File system in memory that Linux provides by default.
const MEMORY: &str = "/dev/shm";
/// Bytes for the largest objects of all subjects.
const ROOM: u64 = 16 << 30;
/// Bytes that are written at once.
const PIECE: usize = 1 << 20;

/// Returns the directory below which servers, and clients that copy files, have their own. It is
/// `TMPDIR` if that is set, else memory if it is large enough and keeps attributes, else the
/// system's temporary directory. It stays the same for the whole run.
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

/// A directory in that place. It is removed when this is dropped or when this process ends: files
/// of an interrupted run would occupy memory until the machine is restarted.
pub(super) struct Files {
    folder: Folder,
    // Process that removes the directory when its standard input closes, which does nothing if the
    // directory is gone already.
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

/// Writes and removes a file of that length, so that the kernel has memory ready for the next one.
/// Otherwise the next subject pays for memory that had been free for long.
pub(super) fn make_room(bytes: u64) -> io::Result<()> {
    let path = of_files().join(format!("{PREFIX}{}-room", std::process::id()));
    let written = fill(&path, bytes);
    // The file is removed in any case, before anything else is done. An error of writing is
    // reported first, because then there may be no file to remove.
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
/// free memory, so that is checked as well.
fn has_room(place: &Path) -> bool {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let system = statvfs(place).map_or(0, |it| it.f_bavail.saturating_mul(it.f_frsize));
    system >= ROOM && available(&meminfo) >= ROOM
}

/// Returns the bytes of available memory that the kernel reports.
fn available(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or_default().saturating_mul(1024)
}

/// Returns true if files in that place can have extended attributes, in which versitygw keeps
/// metadata. Files in memory have none in kernels before 6.6.
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
