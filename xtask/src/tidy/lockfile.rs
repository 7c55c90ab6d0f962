//! The product's lock file stays small enough to be reviewed, and those of other workspaces agree
//! with it, so that a package is compiled once: not those of peers, which have what others publish.
//! `deny.toml` lists packages that must not be in it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Outcome};
use crate::tree::{File, Tree};

const PATH: &str = "Cargo.lock";
/// Largest number of packages on all platforms. To add more, this line must be changed
/// deliberately.
const BUDGET: usize = 380;

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = tree.file(PATH) else {
        outcome.findings.push(Finding::of(PATH, "is missing"));
        return outcome;
    };
    let count = file.text.lines().filter(|line| *line == "[[package]]").count();
    outcome.notes.push(format!("{count} packages, at most {BUDGET}"));
    if count > BUDGET {
        let message = format!("{count} packages, over the budget of {BUDGET}");
        outcome.findings.push(Finding::of(PATH, message));
    }
    let product = packages(&file.text);
    let is_other = |it: &&File| it.name() == PATH && it.path != PATH && !it.is_below("peers");
    for other in tree.files.iter().filter(is_other) {
        for ((name, line), versions) in packages(&other.text) {
            let Some(ours) = product.get(&(name, line)) else { continue };
            for version in versions.difference(ours) {
                let ours = ours.iter().copied().collect::<Vec<_>>().join(" and ");
                let message = format!("{name} {version}, which is {ours} in the product's");
                outcome.findings.push(Finding::of(&other.path, message));
            }
        }
    }
    outcome
}

/// Returns the versions of each package and line of compatible versions.
fn packages(lock: &str) -> BTreeMap<(&str, &str), BTreeSet<&str>> {
    let mut found = BTreeMap::<_, BTreeSet<_>>::new();
    let mut lines = lock.lines();
    while let Some(line) = lines.next() {
        let Some(name) = value(line, "name") else { continue };
        if let Some(version) = lines.next().and_then(|line| value(line, "version")) {
            found.entry((name, compatible(version))).or_default().insert(version);
        }
    }
    found
}

fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')
}

/// Returns the part of a version that all compatible ones have: its first number that is not 0, and
/// those before it.
fn compatible(version: &str) -> &str {
    let mut end = 0;
    for number in version.split('.') {
        end += number.len();
        if number != "0" {
            break;
        }
        end += 1;
    }
    &version[..end.min(version.len())]
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    #[test]
    fn only_a_large_or_missing_lock_file_is_found() {
        let lock = |count| "[[package]]\nname = \"a\"\n".repeat(count);
        assert_eq!(run(check, &[("Cargo.lock", &lock(BUDGET))]), [""; 0]);
        let found = run(check, &[("Cargo.lock", &lock(BUDGET + 1))]);
        assert_eq!(found, ["Cargo.lock: 381 packages, over the budget of 380"]);
        assert_eq!(run(check, &[("a", "")]), ["Cargo.lock: is missing"]);
    }

    #[test]
    fn lock_files_of_other_workspaces_have_the_same_versions() {
        let lock = |versions: &[&str]| {
            let package = |it| format!("[[package]]\nname = \"a\"\nversion = \"{it}\"\n");
            versions.iter().map(package).collect::<String>()
        };
        let found = |other: &[&str]| {
            let product = lock(&["0.2.5", "1.4.0", "0.0.3"]);
            run(
                check,
                &[
                    ("Cargo.lock", &product),
                    ("b/Cargo.lock", &lock(other)),
                    ("peers/c/Cargo.lock", &lock(&["1.6.0"])),
                ],
            )
        };
        assert_eq!(found(&["0.2.5", "1.4.0", "0.1.9", "2.0.0", "0.0.4"]), [""; 0]);
        assert_eq!(
            found(&["0.2.6", "1.5.0"]),
            [
                "b/Cargo.lock: a 0.2.6, which is 0.2.5 in the product's",
                "b/Cargo.lock: a 1.5.0, which is 1.4.0 in the product's",
            ]
        );
    }
}
