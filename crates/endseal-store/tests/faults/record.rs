//! Reads the log that the shim writes.

use std::path::{Path, PathBuf};
use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _};

/// One action of the worker.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Bytes were written at an offset of a file, which is identified by its inode.
    Write { inode: u64, offset: usize, bytes: Vec<u8> },
    /// A file got another length.
    Truncate { inode: u64, len: usize },
    /// A file or directory was fsynced.
    Sync { inode: u64 },
    /// An fsync of a file or directory returned an error.
    FailedSync { inode: u64 },
    /// A file or directory was created or opened under this path.
    Name { inode: u64, path: PathBuf, is_directory: bool },
    /// A path was renamed.
    Rename { from: PathBuf, to: PathBuf },
    /// A path was removed.
    Unlink { path: PathBuf },
    /// The worker reported this text.
    Ack(Vec<u8>),
}

/// Reads all actions of a log.
pub(crate) fn read_log(path: &Path) -> Vec<Action> {
    let log = fs::read(path).unwrap();
    let mut rest = log.as_slice();
    let mut actions = Vec::new();
    while !rest.is_empty() {
        let (head, tail) = rest.split_at(25);
        let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap());
        let (inode, offset) = (number(1), usize::try_from(number(9)).unwrap());
        let (bytes, tail) = tail.split_at(usize::try_from(number(17)).unwrap());
        rest = tail;
        actions.push(match head[0] {
            b'W' => Action::Write { inode, offset, bytes: bytes.to_vec() },
            b'T' => Action::Truncate { inode, len: offset },
            b'S' => Action::Sync { inode },
            b'F' => Action::FailedSync { inode },
            b'C' => {
                let path = PathBuf::from(OsStr::from_bytes(bytes));
                let is_directory = offset == 1 || path.is_dir();
                Action::Name { inode, path, is_directory }
            }
            b'R' => {
                let mut paths = bytes.split(|byte| *byte == 0);
                let mut path = || PathBuf::from(OsStr::from_bytes(paths.next().unwrap()));
                Action::Rename { from: path(), to: path() }
            }
            b'U' => Action::Unlink { path: PathBuf::from(OsStr::from_bytes(bytes)) },
            b'A' => Action::Ack(bytes.to_vec()),
            other => panic!("a record of kind {other}"),
        });
    }
    actions
}
