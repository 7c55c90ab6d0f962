//! The files of the tree, without build output, fetched packages and hidden files.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Names of folders that are skipped everywhere, because they contain no files of ours.
const SKIPPED: &[&str] = &["target", "node_modules", "__pycache__", "venv"];
/// Hidden folders that are read; every other hidden folder is skipped.
const HIDDEN: &[&str] = &[".cargo", ".ci"];

pub(crate) struct File {
    /// Path relative to the root, with `/` as separator on every system.
    pub(crate) path: String,
    /// Content of the file. Empty for a file that is not UTF-8, which has no lines to check.
    pub(crate) text: String,
    pub(crate) executable: bool,
}

impl File {
    /// Returns true if the file lies in `folder` or below it.
    pub(crate) fn is_below(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    /// All files, sorted by path.
    pub(crate) files: Vec<File>,
    /// All folders, sorted. Empty ones are included, although git does not show them.
    pub(crate) folders: Vec<String>,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self { root: root.to_owned(), files: Vec::new(), folders: Vec::new() };
        tree.walk(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        tree.folders.sort();
        Ok(tree)
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        let index = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(index)
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// Returns the names of the folders directly in `parent`.
    pub(crate) fn folders_in(&self, parent: &str) -> Vec<&str> {
        self.folders
            .iter()
            .filter_map(|folder| folder.strip_prefix(parent)?.strip_prefix('/'))
            .filter(|rest| !rest.contains('/'))
            .collect()
    }

    fn walk(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                let hidden = name.starts_with('.') && !HIDDEN.contains(&name.as_str());
                if !hidden && !SKIPPED.contains(&name.as_str()) {
                    self.walk(&entry.path(), &path)?;
                    self.folders.push(path);
                }
            } else if kind.is_file() {
                let text = String::from_utf8(fs::read(entry.path())?).unwrap_or_default();
                let executable = is_executable(&entry.metadata()?);
                self.files.push(File { path, text, executable });
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

/// Without mode bits there is nothing to check, so every file counts as executable.
#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn built_fetched_and_hidden_folders_are_skipped() {
        let scratch = Scratch::with(&[
            ("a.rs", "a"),
            ("target/b.rs", "b"),
            ("peers/node/node_modules/c.js", "c"),
            (".git/config", "d"),
            (".ci/run", "e"),
        ]);
        let tree = Tree::read(scratch.path()).unwrap();
        let paths: Vec<&str> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".ci/run", "a.rs"]);
        assert_eq!(tree.folders, [".ci", "peers", "peers/node"]);
    }

    #[test]
    fn folders_in_lists_one_level() {
        let scratch =
            Scratch::with(&[("crates/a/src/lib.rs", ""), ("crates/b/x", ""), ("c/d", "")]);
        let tree = Tree::read(scratch.path()).unwrap();
        assert_eq!(tree.folders_in("crates"), ["a", "b"]);
    }
}
