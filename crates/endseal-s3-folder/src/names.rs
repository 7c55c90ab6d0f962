//! From keys to paths: any key is a safe path, and no two keys share one.
//!
//! Each component of a key (between its `/`) is a name in which `a-z 0-9 - _ .` stand for
//! themselves and all other bytes are `%` and two digits: upper case too, because some file systems
//! ignore case. The suffix is the kind of the name: `=o` an object, `=d` a folder of the keys
//! behind a `/`. So `a` and `a/b` are neighbours, and no name is empty, `.` or `..`. A component is
//! cut into folders `=c` where a name has [`FULL`] characters, even if nothing follows.

use std::path::{Path, PathBuf};

/// Characters at which a name goes on in a folder. File systems take 255.
const FULL: usize = 200;

/// Kind of a name, which its suffix states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An object whose key ends here.
    Object,
    /// Component that a `/` follows.
    Folder,
    /// Piece that a cut follows.
    Cut,
}

/// The path of a key's entry below the bucket's objects.
pub(crate) fn path_of(key: &str) -> PathBuf {
    let mut path = folder_of(key);
    let mut name = escaped(key.rsplit_once('/').map_or(key, |(_, last)| last), &mut path);
    name.push_str("=o");
    path.push(name);
    path
}

/// The folder in which all keys lie that begin as `key` does up to its last `/`.
pub(crate) fn folder_of(key: &str) -> PathBuf {
    let mut path = PathBuf::new();
    let Some((folders, _)) = key.rsplit_once('/') else { return path };
    for component in folders.split('/') {
        let mut name = escaped(component, &mut path);
        name.push_str("=d");
        path.push(name);
    }
    path
}

/// Escapes a component; pushes the folders of its cuts, and returns what is left.
fn escaped(component: &str, path: &mut PathBuf) -> String {
    let mut name = String::new();
    for byte in component.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
        if name.len() >= FULL {
            name.push_str("=c");
            path.push(&name);
            name.clear();
        }
    }
    name
}

/// Decodes a name: the bytes of its (piece of a) component.
pub(crate) fn decode(name: &str) -> Option<(Kind, Vec<u8>)> {
    let (name, suffix) = name.split_once('=')?;
    let kind = match suffix {
        "o" => Kind::Object,
        "d" => Kind::Folder,
        "c" => Kind::Cut,
        _ => return None,
    };
    endseal_s3_protocol::sigv4::uri::decode_path(name).ok().map(|bytes| (kind, bytes.into_owned()))
}

/// Removes the folders between a removed entry and the bucket's objects that hold nothing now.
pub(crate) fn prune(entry: &Path, objects: &Path) {
    let folders = entry.ancestors().skip(1).take_while(|folder| *folder != objects);
    for folder in folders {
        // Not empty: another key lies there, or is about to.
        if std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_keys_share_a_path_and_none_leads_out() {
        let long = "x".repeat(1_024);
        let wide = "\u{fffd}".repeat(341);
        let slashes = "/".repeat(1_024);
        let mut keys: Vec<String> = [
            "a", "A", "a/", "a//", "/a", "/", "a/b", "a/b/", ".", "..", "../x", "./x", "a/../b",
            "a%2fb", "a=o", "a=d/b", "a b", "a\u{1}b", "ä", "con", "a.", "%", "=", "a\\b",
        ]
        .iter()
        .map(|key| (*key).to_owned())
        .collect();
        keys.extend([long.clone(), long[..200].to_owned(), long[..199].to_owned()]);
        keys.extend([format!("{}/y", &long[..200]), format!("{}/y", &long[..201]), wide, slashes]);
        let mut paths = HashSet::new();
        for key in &keys {
            let path = path_of(key);
            assert!(path.as_os_str().len() < 3_200, "{}", path.as_os_str().len());
            for component in path.components() {
                let std::path::Component::Normal(name) = component else { panic!("{key}") };
                assert!(name.len() <= FULL + 4, "{key}");
                assert!(decode(name.to_str().unwrap()).is_some());
            }
            assert!(paths.insert(path.to_str().unwrap().to_lowercase()), "{key}");
        }
    }

    #[test]
    fn names_come_back() {
        assert_eq!(decode("a%2fb.c=o"), Some((Kind::Object, b"a/b.c".to_vec())));
        assert_eq!(decode("=d"), Some((Kind::Folder, Vec::new())));
        assert_eq!(decode("lost+found"), None);
        assert_eq!(decode("a=x"), None);
    }
}
