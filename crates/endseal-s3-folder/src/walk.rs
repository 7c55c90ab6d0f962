//! The keys of a bucket in the order of their bytes, in bounded memory however many there are.

use std::collections::{BinaryHeap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use endseal_s3_protocol::S3Error;

use crate::fault::disk;
use crate::names::{self, Kind};

/// Names of one folder that are held at once. A folder with more is read again for the next ones.
const BATCH: usize = 1_200;

/// Iterates over the keys of a bucket in their order.
#[derive(Debug)]
pub(crate) struct Walk {
    prefix: Vec<u8>,
    /// Keys up to this one are passed over.
    after: Vec<u8>,
    /// Keys that begin so are passed over.
    skipped: Option<Vec<u8>>,
    levels: Vec<Level>,
}

/// A folder on the way.
#[derive(Debug)]
struct Level {
    path: PathBuf,
    /// Prefix of all its keys.
    prefix: Vec<u8>,
    batch: VecDeque<Name>,
    /// Name behind which the folder is read again when the batch is used up; `None` at its end.
    rest: Option<Vec<u8>>,
}

/// Names sort as the keys do that they lead to: no key of one name lies between two of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    /// Bytes that the name adds to the key; with `/` if it is a folder.
    bytes: Vec<u8>,
    file: String,
    is_object: bool,
}

impl Walk {
    /// The keys below `objects` that begin with `prefix` and come behind `after`.
    pub(crate) fn new(objects: &Path, prefix: &str, after: &str) -> Self {
        let folder = prefix.rsplit_once('/').map_or(0, |(folder, _)| folder.len() + 1);
        let first = Level {
            path: objects.join(names::folder_of(prefix)),
            prefix: prefix.as_bytes()[..folder].to_vec(),
            batch: VecDeque::new(),
            rest: Some(Vec::new()),
        };
        Self {
            prefix: prefix.as_bytes().to_vec(),
            after: after.as_bytes().to_vec(),
            skipped: None,
            levels: vec![first],
        }
    }

    /// Passes over all keys that begin so.
    pub(crate) fn skip(&mut self, prefix: &str) {
        self.skipped = Some(prefix.as_bytes().to_vec());
    }

    /// Returns the next key and the path of its entry, which may have been deleted meanwhile.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(crate) fn next_key(&mut self) -> Result<Option<(String, PathBuf)>, S3Error> {
        while let Some(level) = self.levels.last_mut() {
            let Some(name) = level.batch.pop_front() else {
                match level.rest.take() {
                    Some(after) => self.refill(&after).map_err(|error| disk(&error))?,
                    None => drop(self.levels.pop()),
                }
                continue;
            };
            let key = [level.prefix.as_slice(), &name.bytes].concat();
            let path = level.path.join(&name.file);
            if !self.leads_on(&key, name.is_object) {
                continue;
            }
            if !name.is_object {
                let (batch, rest) = (VecDeque::new(), Some(Vec::new()));
                self.levels.push(Level { path, prefix: key, batch, rest });
                continue;
            }
            // A key that is not UTF-8 was not written by this program.
            if let Ok(key) = String::from_utf8(key) {
                return Ok(Some((key, path)));
            }
        }
        Ok(None)
    }

    /// Returns true if the list shall contain a key, or keys that begin with it.
    fn leads_on(&self, key: &[u8], is_object: bool) -> bool {
        let skipped = self.skipped.as_ref().is_some_and(|skipped| key.starts_with(skipped));
        let fits = key.starts_with(&self.prefix) || (!is_object && self.prefix.starts_with(key));
        let behind = key > &self.after[..] || (!is_object && self.after.starts_with(key));
        fits && behind && !skipped
    }

    /// Reads the next names of the last level, those behind `after`.
    fn refill(&mut self, after: &[u8]) -> io::Result<()> {
        let Some(level) = self.levels.last() else { return Ok(()) };
        let read = match fs::read_dir(&level.path) {
            Ok(read) => read,
            // The folder's last key was deleted, or no key begins so.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut heap = BinaryHeap::new();
        let mut is_cut = false;
        for entry in read {
            let Ok(file) = entry?.file_name().into_string() else { continue };
            let Some((kind, mut bytes)) = names::decode(&file) else { continue };
            if kind == Kind::Folder {
                bytes.push(b'/');
            }
            let is_object = kind == Kind::Object;
            let key = [level.prefix.as_slice(), &bytes].concat();
            let name = Name { bytes, file, is_object };
            // The first batch begins with the empty name, which may be there.
            let is_new = after.is_empty() || name.bytes.as_slice() > after;
            if is_new && self.leads_on(&key, is_object) {
                heap.push(name);
                if heap.len() > BATCH {
                    heap.pop();
                    is_cut = true;
                }
            }
        }
        let batch: VecDeque<Name> = heap.into_sorted_vec().into();
        let rest = batch.back().filter(|_| is_cut).map(|last| last.bytes.clone());
        if let Some(level) = self.levels.last_mut() {
            level.batch = batch;
            level.rest = rest;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use endseal_testing::Scratch;

    use super::*;

    fn walk(objects: &Path, prefix: &str, after: &str) -> Vec<String> {
        let mut walk = Walk::new(objects, prefix, after);
        let mut keys = Vec::new();
        while let Some((key, path)) = walk.next_key().unwrap() {
            assert!(path.is_file());
            keys.push(key);
        }
        keys
    }

    #[test]
    fn keys_come_in_the_order_of_their_bytes() {
        let scratch = Scratch::new();
        let long = "x".repeat(200);
        let mut keys: Vec<String> =
            ["a", "a-b", "a/", "a/b", "a/b/c", "a//b", "a0", "A", "b", "/", "/x", "é", "%", "a b"]
                .iter()
                .map(|key| (*key).to_owned())
                .collect();
        for end in ["", "-", "/", "/y", "0", "0/z"] {
            keys.push(format!("{long}{end}"));
        }
        keys.extend((0..BATCH * 2 + 7).map(|number| format!("many/{number:05}")));
        for key in &keys {
            let path = scratch.folder().join(names::path_of(key));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"").unwrap();
        }
        keys.sort_unstable();
        for prefix in ["", "a", "a/", "a/b", &long, "many/01", "nothing", "nothing/"] {
            for after in ["", "a", "a/", "a/b", "a/z", "many/01200", &long, "zzz"] {
                let expected: Vec<&String> = keys
                    .iter()
                    .filter(|key| key.starts_with(prefix) && key.as_str() > after)
                    .collect();
                let found = walk(scratch.folder(), prefix, after);
                assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{prefix} {after}");
            }
        }
    }
}
