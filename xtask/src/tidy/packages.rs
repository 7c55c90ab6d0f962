//! A crate is published with all that its readers and users need, or says `publish = false`.
//!
//! A crate that a published one needs is published, too, with the version of the workspace. Crates
//! of tests alone are not, and have no version where they are named: `cargo package` then drops
//! them.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

use super::manifests::{self, ROOT, at};
use super::{Finding, Outcome};
use crate::tree::Tree;
use crate::workspace::{inherited, is_published};

/// Largest number of keywords and of categories, and longest keyword, in the registry.
const MAX_WORDS: usize = 5;
const MAX_KEYWORD: usize = 20;
/// Files of the root that each package has a link to, so that Cargo packs them.
const LICENSES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT"];
const README: &str = "#![doc = include_str!(\"../README.md\")]";
const EXAMPLE: &str = "\n```rust\n";

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut findings = Vec::new();
    let Some(root) = manifests::read(tree, ROOT, &mut findings) else { return findings.into() };
    let manifests: Vec<(&str, Table)> = tree
        .folders_in("crates")
        .into_iter()
        .filter_map(|name| {
            let path = format!("crates/{name}/Cargo.toml");
            Some((name, manifests::read(tree, &path, &mut findings)?))
        })
        .collect();
    let unpublished: Vec<&str> =
        manifests.iter().filter(|(_, it)| !is_published(it)).map(|(name, _)| *name).collect();
    for (name, manifest) in &manifests {
        check_version(&root, name, unpublished.contains(name), &mut findings);
        if !unpublished.contains(name) {
            check_manifest(&root, name, manifest, &unpublished, &mut findings);
            check_files(tree, name, &mut findings);
        }
    }
    findings.into()
}

/// Checks the line of the root manifest by which other crates name this one.
fn check_version(root: &Table, name: &str, unpublished: bool, findings: &mut Vec<Finding>) {
    let Some(named) = at(root, &["workspace", "dependencies", name]) else { return };
    let version = named.get("version").and_then(Value::as_str);
    let message = match (unpublished, version) {
        (true, Some(_)) => format!("{name} is not published: no version, so that packages drop it"),
        (false, _) if version != manifests::text_at(root, &["workspace", "package", "version"]) => {
            format!("{name} is published: its dependency needs the version of the workspace")
        }
        _ => return,
    };
    findings.push(Finding::of(ROOT, message));
}

fn check_manifest(
    root: &Table,
    name: &str,
    manifest: &Table,
    unpublished: &[&str],
    findings: &mut Vec<Finding>,
) {
    let path = format!("crates/{name}/Cargo.toml");
    let mut found = |message: String| findings.push(Finding::of(&path, message));
    for field in ["description", "license", "rust-version"] {
        let text = inherited(root, manifest, field).and_then(Value::as_str);
        if text.is_none_or(|text| text.trim().is_empty()) {
            found(format!("has no {field}"));
        }
    }
    for field in ["keywords", "categories", "include"] {
        let list = inherited(root, manifest, field).and_then(Value::as_array);
        let words: Vec<&str> = list.into_iter().flatten().filter_map(Value::as_str).collect();
        if words.is_empty() {
            found(format!("has no {field}"));
        }
        if field != "include" && words.len() > MAX_WORDS {
            found(format!("has {} {field}, more than {MAX_WORDS}", words.len()));
        }
        for word in words.iter().filter(|it| field == "keywords" && it.len() > MAX_KEYWORD) {
            found(format!("the keyword {word} has more than {MAX_KEYWORD} characters"));
        }
    }
    if at(manifest, &["package", "metadata", "docs", "rs"]).is_none() {
        found("has no [package.metadata.docs.rs]".to_owned());
    }
    for (name, value) in manifests::dependencies(manifest, &["dependencies", "build-dependencies"])
    {
        let package = manifests::package(root, name, value);
        if unpublished.contains(&package) {
            found(format!("is published and needs {package}, which is not"));
        }
    }
}

fn check_files(tree: &Tree, name: &str, findings: &mut Vec<Finding>) {
    let folder = format!("crates/{name}");
    for license in LICENSES {
        let link = fs::read_link(tree.root.join(&folder).join(license));
        if link.ok() != Some(Path::new("../..").join(license)) {
            let message = format!("has no link {license} to that of the project");
            findings.push(Finding::of(&folder, message));
        }
    }
    let path = format!("{folder}/README.md");
    let Some(readme) = tree.file(&path) else {
        return findings.push(Finding::of(&path, "is missing"));
    };
    if !readme.text.starts_with(&format!("# {name}\n")) {
        findings.push(Finding::at(&path, 1, format!("the title is not {name}")));
    }
    let path = format!("{folder}/src/lib.rs");
    let Some(library) = tree.file(&path) else { return };
    if !library.text.lines().any(|line| line == README) {
        findings.push(Finding::of(&path, "its documentation does not include README.md"));
    }
    if !readme.text.contains(EXAMPLE) {
        findings.push(Finding::of(&readme.path, "has no example in Rust"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::run_in;
    use super::*;
    use crate::scratch::Scratch;

    const WHOLE: &str = "[workspace.package]\nversion = \"0.1.0\"\nlicense = \"MIT\"\n\
        include = [\"/src\"]\n[workspace.dependencies]\n\
        a = { path = \"crates/a\", version = \"0.1.0\" }\n\
        tests = { path = \"crates/tests\" }\n";
    const A: &str = "[package]\nname = \"a\"\ndescription = \"An example\"\n\
        license.workspace = true\nrust-version = \"1.89\"\nkeywords = [\"x\"]\n\
        categories = [\"encoding\"]\ninclude.workspace = true\n\
        [package.metadata.docs.rs]\nall-features = true\n\
        [dev-dependencies]\ntests.workspace = true\n";
    const TITLE: &str = "# a\n\n```rust\nfn main() {}\n```\n";

    /// Returns a tree without findings.
    fn good() -> Scratch {
        let scratch = Scratch::with(&[
            (ROOT, WHOLE),
            ("crates/a/Cargo.toml", A),
            ("crates/a/README.md", TITLE),
            ("crates/a/src/lib.rs", &format!("{README}\n")),
            ("crates/tests/Cargo.toml", "[package]\nname = \"tests\"\npublish = false\n"),
        ]);
        for license in LICENSES {
            let link = scratch.path().join("crates/a").join(license);
            std::os::unix::fs::symlink(format!("../../{license}"), link).unwrap();
        }
        scratch
    }

    #[track_caller]
    fn found_with(path: &str, content: &str, expected: &[&str]) {
        let scratch = good();
        scratch.write(path, content);
        assert_eq!(run_in(check, &scratch), expected);
    }

    #[test]
    fn a_complete_crate_and_an_unpublished_one_pass() {
        assert_eq!(run_in(check, &good()), [""; 0]);
    }

    #[test]
    fn every_missing_field_is_found() {
        for line in A.lines().filter(|line| !line.starts_with("name")) {
            let field = match line {
                "[package]" | "all-features = true" | "[dev-dependencies]" => continue,
                "tests.workspace = true" => continue,
                "[package.metadata.docs.rs]" => line,
                _ => line.split([' ', '.']).next().unwrap(),
            };
            let without = A.replace(&format!("{line}\n"), "");
            let expected = format!("crates/a/Cargo.toml: has no {field}");
            found_with("crates/a/Cargo.toml", &without, &[&expected]);
        }
    }

    #[test]
    fn words_that_the_registry_refuses_are_found() {
        let many = A.replace("[\"x\"]", "[\"1\", \"2\", \"3\", \"4\", \"5\", \"6\"]");
        let expected = "crates/a/Cargo.toml: has 6 keywords, more than 5";
        found_with("crates/a/Cargo.toml", &many, &[expected]);
        let long = A.replace("\"x\"", "\"as-long-as-a-sentence\"");
        let expected = "crates/a/Cargo.toml: the keyword as-long-as-a-sentence has more than 20 \
            characters";
        found_with("crates/a/Cargo.toml", &long, &[expected]);
    }

    #[test]
    fn a_need_that_is_not_published_is_found() {
        let expected = "crates/a/Cargo.toml: is published and needs tests, which is not";
        for kind in ["[dependencies]", "[build-dependencies]", "[target.'cfg(unix)'.dependencies]"]
        {
            found_with("crates/a/Cargo.toml", &A.replace("[dev-dependencies]", kind), &[expected]);
        }
    }

    #[test]
    fn versions_follow_publication() {
        let with = WHOLE.replace("crates/tests\"", "crates/tests\", version = \"0.1.0\"");
        let expected = "Cargo.toml: tests is not published: no version, so that packages drop it";
        found_with(ROOT, &with, &[expected]);
        let expected =
            "Cargo.toml: a is published: its dependency needs the version of the workspace";
        found_with(ROOT, &WHOLE.replace(", version = \"0.1.0\"", ""), &[expected]);
        let other = WHOLE.replace(", version = \"0.1.0\"", ", version = \"0.0.9\"");
        found_with(ROOT, &other, &[expected]);
    }

    #[test]
    fn files_that_a_package_needs_are_found_missing() {
        let scratch = good();
        fs::remove_file(scratch.path().join("crates/a/LICENSE-MIT")).unwrap();
        let expected = ["crates/a: has no link LICENSE-MIT to that of the project"];
        assert_eq!(run_in(check, &scratch), expected);
        scratch.write("crates/a/LICENSE-MIT", "a copy, which may grow old");
        assert_eq!(run_in(check, &scratch), expected);

        let scratch = good();
        fs::remove_file(scratch.path().join("crates/a/README.md")).unwrap();
        assert_eq!(run_in(check, &scratch), ["crates/a/README.md: is missing"]);

        let readme = "crates/a/README.md";
        found_with(
            readme,
            &TITLE.replace("# a", "# b"),
            &[&format!("{readme}:1: the title is not a")],
        );
        let plain = TITLE.replace("```rust", "```");
        found_with(readme, &plain, &[&format!("{readme}: has no example in Rust")]);
        let library = "crates/a/src/lib.rs";
        let expected = format!("{library}: its documentation does not include README.md");
        found_with(library, "//! A.\n", &[&expected]);
    }

    #[test]
    fn a_program_needs_no_example_in_rust() {
        let scratch = good();
        fs::remove_file(scratch.path().join("crates/a/src/lib.rs")).unwrap();
        scratch.write("crates/a/README.md", "# a\n");
        assert_eq!(run_in(check, &scratch), [""; 0]);
    }
}
