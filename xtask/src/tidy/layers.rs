//! A crate depends only on crates of lower rows of `[workspace.metadata.layers]`.
//!
//! Normal, build, dev, optional and target dependencies count alike: a test that reaches upward
//! ties the crates together as firmly as code does.

use std::collections::BTreeMap;

use toml::Table;

use super::manifests::{self, ROOT};
use super::{Finding, Outcome};
use crate::tree::Tree;
use crate::workspace;

const KINDS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut findings = Vec::new();
    let Some(root) = manifests::read(tree, ROOT, &mut findings) else { return findings.into() };
    let rows = match workspace::rows_in(&root) {
        Ok(rows) => rows,
        Err(error) => {
            findings.push(Finding::of(ROOT, error));
            return findings.into();
        }
    };
    let mut of_crate = BTreeMap::new();
    for (row, name) in rows.iter().flat_map(|row| row.crates.iter().map(|name| (row.number, name)))
    {
        if of_crate.insert(name.as_str(), row).is_some() {
            findings.push(Finding::of(ROOT, format!("{name} stands in two rows")));
        }
    }
    let folders = tree.folders_in("crates");
    for name in of_crate.keys().filter(|name| !folders.contains(name)) {
        findings.push(Finding::of(ROOT, format!("{name} has a row but no folder in crates/")));
    }
    for folder in folders {
        check_crate(tree, folder, &root, &of_crate, &mut findings);
    }
    findings.into()
}

fn check_crate(
    tree: &Tree,
    folder: &str,
    root: &Table,
    rows: &BTreeMap<&str, u32>,
    findings: &mut Vec<Finding>,
) {
    let path = format!("crates/{folder}/Cargo.toml");
    let Some(crate_manifest) = manifests::read(tree, &path, findings) else { return };
    if manifests::text_at(&crate_manifest, &["package", "name"]) != Some(folder) {
        findings.push(Finding::of(&path, format!("the crate is not named {folder}")));
    }
    let Some(&row) = rows.get(folder) else {
        let message = "stands in no row of [workspace.metadata.layers]";
        return findings.push(Finding::of(&path, message));
    };
    for (name, value) in manifests::dependencies(&crate_manifest, KINDS) {
        let package = manifests::package(root, name, value);
        let Some(&other) = rows.get(package) else { continue };
        if other >= row {
            let message = format!("row {row} may not depend on {package} of row {other}");
            findings.push(Finding::of(&path, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

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
    fn lower_rows_and_crates_of_others_are_allowed() {
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
            let expected = ["crates/b/Cargo.toml: row 1 may not depend on c of row 1"];
            assert_eq!(with_b(dependencies), expected, "{dependencies}");
        }
    }

    #[test]
    fn a_crate_that_depends_on_itself_is_found() {
        let expected = ["crates/b/Cargo.toml: row 1 may not depend on b of row 1"];
        assert_eq!(with_b("[dev-dependencies]\nb.workspace = true\n"), expected);
    }

    #[test]
    fn a_dependency_renamed_in_the_root_is_found() {
        let root =
            format!("{TABLE}[workspace.dependencies]\nx = {{ package = \"c\", path = \"c\" }}\n");
        let a = format!("{A}[dependencies]\nx.workspace = true\n");
        let found = run(
            check,
            &[
                ("Cargo.toml", &root),
                ("crates/a/Cargo.toml", &a),
                ("crates/b/Cargo.toml", "[package]\nname = \"b\"\n"),
                ("crates/c/Cargo.toml", C),
            ],
        );
        assert_eq!(found, ["crates/a/Cargo.toml: row 0 may not depend on c of row 1"]);
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
                "Cargo.toml: a stands in two rows",
                "Cargo.toml: gone has a row but no folder in crates/",
                "crates/new/Cargo.toml: the crate is not named new",
                "crates/new/Cargo.toml: stands in no row of [workspace.metadata.layers]",
            ]
        );
    }

    #[test]
    fn a_manifest_that_cannot_be_read_is_a_finding() {
        let layers = "[workspace.metadata.layers]\n0 = [\"a\"]\n";
        let found = run(check, &[("Cargo.toml", layers), ("crates/a/Cargo.toml", "[package\n")]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/a/Cargo.toml: "), "{found:?}");
    }
}
