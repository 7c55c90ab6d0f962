//! All labels are in the registry: other sources of the workspace must not contain them as
//! literals.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use endseal_crypto::label;

const REGISTRY: &str = "endseal-crypto/src/mid/label.rs";
/// Crates without cryptography have copies of their labels, which must equal those of the registry.
const COPIES: &[(&str, &str)] =
    &[("endseal-codec/src/frame/stored.rs", "endseal/frame@v1 signature")];

#[test]
fn sources_take_labels_from_the_registry() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let registered: HashSet<_> = label::ALL.iter().map(|label| label.as_str()).collect();
    let mut found = HashSet::new();
    let mut in_registry = 0;
    for krate in fs::read_dir(crates).unwrap() {
        for file in sources(&krate.unwrap().path().join("src")) {
            let text = fs::read_to_string(&file).unwrap();
            let name = file.strip_prefix(crates).unwrap().to_str().unwrap().to_owned();
            for literal in text.lines().filter(|line| !is_comment(line)).flat_map(labels) {
                if name == REGISTRY {
                    in_registry += usize::from(registered.contains(literal));
                    continue;
                }
                // Tests contain the labels that they expect.
                if !name.contains("/tests") && !text_of_tests(&text).contains(literal) {
                    found.insert((name.clone(), literal.to_owned()));
                }
            }
        }
    }
    assert_eq!(in_registry, registered.len(), "the look finds what is there");
    let allowed = COPIES.iter().map(|(name, text)| ((*name).into(), (*text).into()));
    assert_eq!(found, allowed.collect());
    for (name, text) in COPIES {
        assert!(registered.contains(text), "{name}: {text}");
    }
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// Returns the string literals in a line that start like labels of this project and have a version.
fn labels(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("\"endseal/").filter_map(|(at, _)| {
        let text = &line[at + 1..];
        let literal = &text[..text.find('"')?];
        literal.contains("@v").then_some(literal)
    })
}

/// Returns the unit tests of a file, which come last.
fn text_of_tests(text: &str) -> &str {
    ["#[cfg(test)]\nmod tests {", "#[cfg(test)]\npub(crate) mod tests {"]
        .iter()
        .find_map(|start| text.find(start))
        .map_or("", |at| &text[at..])
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
