//! A crate depends only on crates of lower rows of `[workspace.metadata.layers]`.
//!
//! Normal, build, dev, optional and target dependencies count alike: a test that reaches upward
//! ties the crates together as firmly as code does.

use std::collections::BTreeMap;

use super::{Finding, Outcome};
use crate::toml::{self, Entry, Value};
use crate::tree::{File, Tree};

const ROOT: &str = "Cargo.toml";
const XTASK: &str = "xtask/Cargo.toml";

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut findings = Vec::new();
    let Some(root) = manifest(tree, ROOT, &mut findings) else { return findings.into() };
    let layers = Layers::read(&root, &mut findings);
    let crates = tree.folders_in("crates");
    for name in layers.rows.keys().filter(|name| !crates.contains(&name.as_str())) {
        findings.push(Finding::of(ROOT, format!("{name} has a row but no folder in crates/")));
    }
    for folder in crates {
        layers.check_crate(tree, folder, &mut findings);
    }
    if let Some(xtask) = tree.file(XTASK).and_then(|_| manifest(tree, XTASK, &mut findings)) {
        let with_std_only = "xtask uses the standard library only";
        findings.extend(dependencies(&xtask).map(|it| Finding::at(XTASK, it.line, with_std_only)));
    }
    findings.into()
}

struct Layers {
    rows: BTreeMap<String, u32>,
    /// `[workspace.dependencies]` that are renamed there: name in use to name of the crate.
    renamed: BTreeMap<String, String>,
}

impl Layers {
    fn read(root: &[Entry], findings: &mut Vec<Finding>) -> Self {
        let mut layers = Self { rows: BTreeMap::new(), renamed: BTreeMap::new() };
        for entry in root {
            match parts(entry).as_slice() {
                ["workspace", "metadata", "layers", row] => layers.add_row(row, entry, findings),
                ["workspace", "dependencies", name, "package"] => {
                    let package = entry.value.as_str().unwrap_or(name).to_owned();
                    layers.renamed.insert((*name).to_owned(), package);
                }
                _ => {}
            }
        }
        if layers.rows.is_empty() {
            findings.push(Finding::of(ROOT, "has no [workspace.metadata.layers]"));
        }
        layers
    }

    fn add_row(&mut self, row: &str, entry: &Entry, findings: &mut Vec<Finding>) {
        let (Ok(row), Value::Array(names)) = (row.parse(), &entry.value) else {
            let message = "a layer is a number and a list of crates";
            return findings.push(Finding::at(ROOT, entry.line, message));
        };
        for name in names.iter().filter_map(Value::as_str) {
            if self.rows.insert(name.to_owned(), row).is_some() {
                let message = format!("{name} stands in two rows");
                findings.push(Finding::at(ROOT, entry.line, message));
            }
        }
    }

    fn check_crate(&self, tree: &Tree, folder: &str, findings: &mut Vec<Finding>) {
        let path = format!("crates/{folder}/Cargo.toml");
        let Some(entries) = manifest(tree, &path, findings) else { return };
        let is_name = |entry: &&Entry| parts(entry) == ["package", "name"];
        let name = entries.iter().find(is_name).and_then(|entry| entry.value.as_str());
        if name != Some(folder) {
            findings.push(Finding::of(&path, format!("the crate is not named {folder}")));
        }
        let Some(&row) = self.rows.get(folder) else {
            let message = "stands in no row of [workspace.metadata.layers]";
            return findings.push(Finding::of(&path, message));
        };
        for dependency in dependencies(&entries) {
            let name = dependency.package(&entries, &self.renamed);
            let Some(&other) = self.rows.get(name) else { continue };
            if other >= row {
                let message = format!("row {row} may not depend on {name} of row {other}");
                findings.push(Finding::at(&path, dependency.line, message));
            }
        }
    }
}

struct Dependency<'a> {
    table: &'a [String],
    name: &'a str,
    line: usize,
}

impl<'a> Dependency<'a> {
    /// The crate's own name: a dependency may be renamed here or in the root manifest.
    fn package(&self, entries: &'a [Entry], renamed: &'a BTreeMap<String, String>) -> &'a str {
        let is_ours = |entry: &&Entry| {
            let path = entry.path.strip_prefix(self.table);
            path.is_some_and(|rest| rest == [self.name, "package"])
        };
        let here = entries.iter().find(is_ours).and_then(|entry| entry.value.as_str());
        here.or_else(|| renamed.get(self.name).map(String::as_str)).unwrap_or(self.name)
    }
}

/// Each dependency once, whatever the number of its keys.
fn dependencies(entries: &[Entry]) -> impl Iterator<Item = Dependency<'_>> {
    let mut last: &[String] = &[];
    entries.iter().filter_map(move |entry| {
        let depth = match parts(entry).as_slice() {
            [kind, _, ..] if is_dependency_table(kind) => 1,
            ["target", _, kind, _, ..] if is_dependency_table(kind) => 3,
            _ => return None,
        };
        let (table, rest) = entry.path.split_at_checked(depth)?;
        let whole = entry.path.get(..=depth)?;
        let is_new = last != whole;
        last = whole;
        let name = rest.first()?;
        is_new.then_some(Dependency { table, name, line: entry.line })
    })
}

fn is_dependency_table(name: &str) -> bool {
    matches!(name, "dependencies" | "dev-dependencies" | "build-dependencies")
}

fn parts(entry: &Entry) -> Vec<&str> {
    entry.path.iter().map(String::as_str).collect()
}

fn manifest(tree: &Tree, path: &str, findings: &mut Vec<Finding>) -> Option<Vec<Entry>> {
    let Some(File { text, .. }) = tree.file(path) else {
        findings.push(Finding::of(path, "is missing"));
        return None;
    };
    let error = match toml::read(text) {
        Ok(entries) => return Some(entries),
        Err(error) => error,
    };
    findings.push(Finding::at(path, error.line, error.to_string()));
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;
    use crate::scratch::Scratch;

    const TABLE: &str =
        "[workspace.metadata.layers]\n0 = [\"a\"]\n1 = [\n  \"b\", # why\n  \"c\",\n]\n";
    const A: &str = "[package]\nname = \"a\"\n";
    const C: &str = "[package]\nname = \"c\"\n";

    fn with_b(dependencies: &str) -> Vec<String> {
        let b = format!("[package]\nname = \"b\"\n{dependencies}");
        run(
            check,
            &[
                ("Cargo.toml", TABLE),
                ("crates/a/Cargo.toml", A),
                ("crates/b/Cargo.toml", &b),
                ("crates/c/Cargo.toml", C),
            ],
        )
    }

    #[test]
    fn lower_rows_and_foreign_crates_are_allowed() {
        let none: [String; 0] = [];
        assert_eq!(with_b("[dependencies]\na.workspace = true\nserde = \"1\"\n"), none);
        assert_eq!(with_b("[dev-dependencies.a]\npath = \"../a\"\n"), none);
    }

    #[test]
    fn every_kind_of_upward_dependency_is_found() {
        for dependencies in [
            "[dependencies]\nc.workspace = true\n",
            "[dependencies]\nc = { path = \"../c\", optional = true }\n",
            "[dev-dependencies.c]\nworkspace = true\nfeatures = [\"x\"]\n",
            "[build-dependencies]\nc = \"1\"\n",
            "[target.'cfg(unix)'.dependencies]\nc = \"1\"\n",
            "[dependencies]\nx = { package = \"c\", path = \"../c\" }\n",
        ] {
            let expected = ["crates/b/Cargo.toml:4: row 1 may not depend on c of row 1"];
            assert_eq!(with_b(dependencies), expected, "{dependencies}");
        }
    }

    #[test]
    fn the_shipped_program_does_not_contain_the_benchmark() {
        let root = include_str!("../../../Cargo.toml");
        let layers = Layers::read(&toml::read(root).unwrap(), &mut Vec::new());
        let manifest =
            "[package]\nname = \"endseal-cli\"\n[dependencies]\nendseal-bench.workspace = true\n";
        let scratch = Scratch::with(&[("crates/endseal-cli/Cargo.toml", manifest)]);
        let mut findings = Vec::new();
        layers.check_crate(&Tree::read(scratch.path()).unwrap(), "endseal-cli", &mut findings);
        let found: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            ["crates/endseal-cli/Cargo.toml:4: row 6 may not depend on endseal-bench of row 6"]
        );
    }

    #[test]
    fn a_crate_that_depends_on_itself_is_found() {
        let expected = ["crates/b/Cargo.toml:4: row 1 may not depend on b of row 1"];
        assert_eq!(with_b("[dev-dependencies]\nb.workspace = true\n"), expected);
    }

    #[test]
    fn a_dependency_renamed_in_the_root_is_found() {
        let root =
            format!("{TABLE}[workspace.dependencies]\nx = {{ package = \"c\", path = \"c\" }}\n");
        let found = run(
            check,
            &[
                ("Cargo.toml", &root),
                (
                    "crates/a/Cargo.toml",
                    "[package]\nname = \"a\"\n[dependencies]\nx.workspace = true\n",
                ),
                ("crates/b/Cargo.toml", "[package]\nname = \"b\"\n"),
                ("crates/c/Cargo.toml", C),
            ],
        );
        assert_eq!(found, ["crates/a/Cargo.toml:4: row 0 may not depend on c of row 1"]);
    }

    #[test]
    fn rows_and_folders_must_agree() {
        let found = run(
            check,
            &[
                ("Cargo.toml", "[workspace.metadata.layers]\n0 = [\"a\", \"gone\"]\n1 = [\"a\"]\n"),
                ("crates/a/Cargo.toml", A),
                ("crates/new/Cargo.toml", A),
            ],
        );
        assert_eq!(
            found,
            [
                "Cargo.toml:3: a stands in two rows",
                "Cargo.toml: gone has a row but no folder in crates/",
                "crates/new/Cargo.toml: the crate is not named new",
                "crates/new/Cargo.toml: stands in no row of [workspace.metadata.layers]",
            ]
        );
    }

    #[test]
    fn a_manifest_that_cannot_be_read_is_a_finding() {
        let found = run(
            check,
            &[
                ("Cargo.toml", "[workspace.metadata.layers]\n0 = [\"a\"]\n"),
                ("crates/a/Cargo.toml", "[package\n"),
            ],
        );
        assert_eq!(found, ["crates/a/Cargo.toml:1: not understood, expected ]"]);
    }

    #[test]
    fn xtask_has_no_dependencies() {
        let found = run(
            check,
            &[
                ("Cargo.toml", "[workspace.metadata.layers]\n0 = [\"a\"]\n"),
                ("crates/a/Cargo.toml", A),
                ("xtask/Cargo.toml", "[dependencies]\nserde = \"1\"\n"),
            ],
        );
        assert_eq!(found, ["xtask/Cargo.toml:2: xtask uses the standard library only"]);
    }
}
