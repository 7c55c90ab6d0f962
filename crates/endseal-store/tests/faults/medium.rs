//! State of a medium after a power cut (docs/spec/store.md, "Assumptions about the medium").

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::record::Action;

/// A directory on a medium that keeps everything that was fsynced, and a random part of the rest.
#[derive(Clone, Default)]
pub(crate) struct Medium {
    files: BTreeMap<u64, File>,
    /// Inodes by path, and the paths that are directories, as the running system sees them.
    names: Names,
    /// Inodes by path on the medium, and the changes that are not on it yet, in their order.
    durable: Names,
    pending: Vec<Action>,
}

#[derive(Clone, Default)]
struct Names {
    inodes: BTreeMap<PathBuf, u64>,
    directories: BTreeSet<u64>,
}

#[derive(Clone, Default)]
struct File {
    content: Vec<u8>,
    /// Writes and truncations since the last fsync.
    pending: Vec<Action>,
}

impl Medium {
    /// Returns a medium with the files of a directory, all of them fsynced.
    pub(crate) fn of(directory: &Path) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let mut medium = Self::default();
        let mut todo = vec![directory.to_owned()];
        while let Some(path) = todo.pop() {
            let inode = fs::metadata(&path).unwrap().ino();
            medium.durable.inodes.insert(path.clone(), inode);
            if path.is_dir() {
                medium.durable.directories.insert(inode);
                todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else {
                let content = fs::read(&path).unwrap();
                medium.files.insert(inode, File { content, pending: Vec::new() });
            }
        }
        medium.names = medium.durable.clone();
        medium
    }

    /// Applies the next action.
    pub(crate) fn apply(&mut self, action: &Action) {
        match action {
            Action::Write { inode, .. } | Action::Truncate { inode, .. } => {
                self.files.entry(*inode).or_default().pending.push(action.clone());
            }
            Action::Sync { inode } if self.names.directories.contains(inode) => {
                // Journals keep the order of changes of names, so the earlier ones are durable,
                // too.
                for change in self.pending.drain(..) {
                    self.durable.apply(&change);
                }
            }
            Action::Sync { inode } => {
                let file = self.files.entry(*inode).or_default();
                for write in file.pending.drain(..) {
                    apply(&mut file.content, &write, usize::MAX);
                }
            }
            Action::FailedSync { inode } => {
                // The kernel treats pages that it could not write as clean, so no later fsync
                // writes them: they stay in memory until they are written again or the power is
                // cut.
                self.files.entry(*inode).or_default().pending.clear();
            }
            Action::Name { inode, path, .. } => {
                // Opening a known file changes nothing.
                if self.names.inodes.get(path) != Some(inode) {
                    // An inode that has lost its only name before is a new file.
                    if !self.names.inodes.values().any(|known| known == inode) {
                        self.files.insert(*inode, File::default());
                    }
                    self.change(action);
                }
            }
            Action::Rename { .. } | Action::Unlink { .. } => self.change(action),
            Action::Ack(_) => {}
        }
    }

    fn change(&mut self, action: &Action) {
        self.names.apply(action);
        self.pending.push(action.clone());
    }

    /// Cuts the power: writes the remains of `directory` to `place`. `dice` returns numbers below
    /// its argument, which decide which of the unsynced changes are kept, and where one is torn.
    pub(crate) fn cut(&self, directory: &Path, place: &Path, dice: &mut dyn FnMut(usize) -> usize) {
        let mut names = self.durable.clone();
        for change in &self.pending[..dice(self.pending.len() + 1)] {
            names.apply(change);
        }
        fs::create_dir_all(place).unwrap();
        for (path, inode) in &names.inodes {
            let Ok(path) = path.strip_prefix(directory) else { continue };
            if names.directories.contains(inode) {
                fs::create_dir_all(place.join(path)).unwrap();
            } else {
                fs::create_dir_all(place.join(path).parent().unwrap()).unwrap();
                fs::write(place.join(path), self.files[inode].cut(dice)).unwrap();
            }
        }
    }
}

impl Names {
    fn apply(&mut self, action: &Action) {
        match action {
            Action::Name { inode, path, is_directory } => {
                self.inodes.insert(path.clone(), *inode);
                if *is_directory {
                    self.directories.insert(*inode);
                }
            }
            Action::Rename { from, to } => {
                self.remove(to);
                let below: Vec<_> =
                    self.inodes.keys().filter(|path| path.starts_with(from)).cloned().collect();
                for path in below {
                    let inode = self.inodes.remove(&path).unwrap();
                    let rest = path.strip_prefix(from).unwrap();
                    let path = if rest == Path::new("") { to.clone() } else { to.join(rest) };
                    self.inodes.insert(path, inode);
                }
            }
            Action::Unlink { path } => self.remove(path),
            _ => {}
        }
    }

    fn remove(&mut self, path: &Path) {
        self.inodes.retain(|known, _| !known.starts_with(path));
    }
}

impl File {
    fn cut(&self, dice: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
        let mut content = self.content.clone();
        // Keep all, none, a prefix, or any of them, each of which may be torn; or any sectors of
        // each.
        let (way, len) = (dice(WAYS), self.pending.len());
        let end = if way == 2 { dice(len + 1) } else { len };
        for (i, write) in self.pending.iter().enumerate() {
            if way == 4 {
                apply_sectors(&mut content, write, dice);
                continue;
            }
            let is_kept = match way {
                0 => true,
                1 => false,
                2 => i < end,
                _ => dice(2) == 0,
            };
            if is_kept {
                let torn = way == 2 && i + 1 == end || way == 3 && dice(4) == 0;
                apply(&mut content, write, if torn { dice(4200) } else { usize::MAX });
            }
        }
        content
    }
}

/// Number of ways in which unsynced changes can be lost.
pub(crate) const WAYS: usize = 5;

/// Writes any of the sectors of a write. Missing sectors of a file that grew are zeros, or garbage
/// that was on the medium before.
fn apply_sectors(content: &mut Vec<u8>, write: &Action, dice: &mut dyn FnMut(usize) -> usize) {
    let Action::Write { offset, bytes, .. } = write else {
        if dice(2) == 0 {
            apply(content, write, usize::MAX);
        }
        return;
    };
    let sector = [512, 4096][dice(2)];
    let (old_len, grows, garbage) = (content.len(), dice(3) > 0, dice(2) == 0);
    let mut at = 0;
    while at < bytes.len() {
        let begin = offset + at;
        let len = (sector - begin % sector).min(bytes.len() - at);
        if dice(2) == 0 {
            let piece =
                Action::Write { inode: 0, offset: begin, bytes: bytes[at..at + len].to_vec() };
            apply(content, &piece, usize::MAX);
        } else if grows && begin + len > old_len {
            let lost = begin.max(old_len);
            let fill = if garbage { u8::try_from(dice(256)).unwrap() } else { 0 };
            let piece =
                Action::Write { inode: 0, offset: lost, bytes: vec![fill; begin + len - lost] };
            apply(content, &piece, usize::MAX);
        }
        at += len;
    }
}

/// Applies at most `most` bytes of a write.
fn apply(content: &mut Vec<u8>, write: &Action, most: usize) {
    match write {
        Action::Write { offset, bytes, .. } => {
            let bytes = &bytes[..bytes.len().min(most)];
            let end = offset + bytes.len();
            if bytes.is_empty() {
                return;
            }
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*offset..end].copy_from_slice(bytes);
        }
        Action::Truncate { len, .. } => content.resize(*len, 0),
        _ => {}
    }
}
