//! Generates the test vectors again and compares them with the committed ones.
//!
//! A crate that owns a specification has a generator, `examples/vectors.rs`, named
//! `<crate>-vectors`. The program takes a folder and writes
//! `<folder>/<specification>/<scenario>.json`. The same inputs must give the same bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use crate::ci::ENVIRONMENT;
use crate::scratch::Scratch;
use crate::workspace;

const GENERATOR: &str = "examples/vectors.rs";
const VECTORS: &str = "vectors";

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// Only print the differences.
    Check,
    /// Replace the committed vectors by the generated ones.
    Replace,
}

/// Runs `cargo xtask vectors [--check]`. Returns true if nothing differed or everything was
/// written.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
    match arguments {
        [] => renew(root, Mode::Replace),
        [argument] if argument == "--check" => renew(root, Mode::Check),
        _ => Err(format!("vectors takes --check or nothing, but got {arguments:?}")),
    }
}

/// Builds and runs all generators, and compares or replaces the vectors.
fn renew(root: &Path, mode: Mode) -> Result<bool, String> {
    let crates = workspace::rows(root)?.into_iter().flat_map(|row| row.crates);
    let mut owners: Vec<String> =
        crates.filter(|name| root.join("crates").join(name).join(GENERATOR).exists()).collect();
    let mut programs = build(root, "Cargo.toml", &owners)?;
    // The benchmark owns a specification, and has a workspace of its own.
    let bench = "endseal-bench".to_owned();
    programs.extend(build(root, "bench/Cargo.toml", core::slice::from_ref(&bench))?);
    owners.push(bench);
    let mut clean = true;
    for name in &owners {
        let program = programs
            .get(&example(name))
            .ok_or_else(|| format!("{name} has no example '{}'", example(name)))?;
        let scratch = Scratch::new("vectors").map_err(|error| error.to_string())?;
        let status = Command::new(program).current_dir(root).arg(scratch.path()).status();
        let status = status.map_err(|error| format!("{}: {error}", program.display()))?;
        if !status.success() {
            return Err(format!("the generator of {name} failed: {status}"));
        }
        let kept = root.join(VECTORS);
        let outcome = match mode {
            Mode::Check => compare(scratch.path(), &kept),
            Mode::Replace => replace(scratch.path(), &kept),
        };
        clean &= outcome.map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(clean)
}

/// Returns the name of a crate's generator. It contains the crate's name, because all examples are
/// built into one folder.
fn example(name: &str) -> String {
    format!("{name}-vectors")
}

/// Builds the generators. Returns their programs by the names of the examples. They are built in
/// one call with the features of `cargo test --workspace`, so that crates that it has built are not
/// built again.
fn build(
    root: &Path,
    manifest: &str,
    owners: &[String],
) -> Result<BTreeMap<String, PathBuf>, String> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root).envs(ENVIRONMENT.iter().copied()).stderr(Stdio::inherit());
    cargo.args(["build", "--quiet", "--locked", "--workspace", "--manifest-path", manifest]);
    cargo.arg("--message-format=json-render-diagnostics");
    for name in owners {
        cargo.arg("--example").arg(example(name));
    }
    let output = cargo.output().map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("the generators cannot be built: {}", output.status));
    }
    Ok(programs(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads the programs out of Cargo's messages, which are one JSON object a line. Returns their
/// paths by name.
fn programs(messages: &str) -> BTreeMap<String, PathBuf> {
    let artifacts = messages.lines().filter(|line| line.contains("\"kind\":[\"example\"]"));
    artifacts
        .filter_map(|line| Some((text(line, "name")?.to_owned(), text(line, "executable")?.into())))
        .collect()
}

/// Returns the text of the field `key` in a line of JSON, if it has no escapes.
fn text<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{key}\":\""))?;
    rest.split_once('"').map(|(text, _)| text).filter(|text| !text.contains('\\'))
}

/// Prints each difference between the generated and the committed vectors. Returns true if there is
/// none.
fn compare(fresh: &Path, kept: &Path) -> io::Result<bool> {
    let mut clean = true;
    for name in specifications(fresh)? {
        let (fresh, kept) = (files(&fresh.join(&name))?, files(&kept.join(&name))?);
        let differences = differences(&fresh, &kept);
        for (path, difference) in &differences {
            println!("{VECTORS}/{name}/{path}: {difference}");
        }
        println!("vectors: {name}: {} files, {} differ", fresh.len(), differences.len());
        clean &= differences.is_empty();
    }
    Ok(clean)
}

fn replace(fresh: &Path, kept: &Path) -> io::Result<bool> {
    for name in specifications(fresh)? {
        let target = kept.join(&name);
        let old = files(&target)?;
        let new = files(&fresh.join(&name))?;
        for path in old.keys().filter(|path| !new.contains_key(*path)) {
            fs::remove_file(target.join(path))?;
        }
        for (path, content) in &new {
            let path = target.join(path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, content)?;
        }
        let changed = differences(&new, &old).len();
        println!("vectors: {name}: {} files, {changed} changed", new.len());
    }
    Ok(true)
}

/// Returns the names of the folders that a generator wrote. A file beside them belongs to no
/// specification.
fn specifications(fresh: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(fresh)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type()?.is_dir() {
            return Err(io::Error::other(format!("the generator wrote {name} outside a folder")));
        }
        names.push(name);
    }
    if names.is_empty() {
        return Err(io::Error::other("the generator wrote nothing"));
    }
    names.sort();
    Ok(names)
}

/// Returns the content of all files below a folder, by relative path; empty if the folder does not
/// exist.
fn files(folder: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(folder.to_path_buf(), String::new())];
    while let Some((path, prefix)) = folders.pop() {
        if !path.exists() {
            continue;
        }
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let path: PathBuf = entry.path();
            if entry.file_type()?.is_dir() {
                folders.push((path, format!("{name}/")));
            } else {
                found.insert(name, fs::read(path)?);
            }
        }
    }
    Ok(found)
}

fn differences<'a>(
    fresh: &'a BTreeMap<String, Vec<u8>>,
    kept: &'a BTreeMap<String, Vec<u8>>,
) -> Vec<(&'a str, &'static str)> {
    let mut found = Vec::new();
    for (path, content) in fresh {
        match kept.get(path) {
            None => found.push((path.as_str(), "missing")),
            Some(kept) if kept != content => found.push((path.as_str(), "different")),
            Some(_) => {}
        }
    }
    let extra = kept.keys().filter(|path| !fresh.contains_key(*path));
    found.extend(extra.map(|path| (path.as_str(), "not generated any more")));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: &[(&str, &str)] = &[("a/one.json", "1"), ("a/deep/two.json", "2"), ("b/x", "3")];

    #[test]
    fn equal_files_are_clean() {
        let (fresh, kept) = (Scratch::with(FRESH), Scratch::with(FRESH));
        // Specifications of other crates are left alone.
        kept.write("c/other.json", "4");
        assert!(compare(fresh.path(), kept.path()).unwrap());
    }

    #[test]
    fn missing_different_and_extra_files_are_told() {
        let (fresh, kept) = (Scratch::with(FRESH), Scratch::with(&[]));
        kept.write("a/one.json", "0");
        kept.write("a/three.json", "3");
        assert!(!compare(fresh.path(), kept.path()).unwrap());
        let (fresh, kept) = (fresh.path().join("a"), kept.path().join("a"));
        assert_eq!(
            differences(&files(&fresh).unwrap(), &files(&kept).unwrap()),
            [
                ("deep/two.json", "missing"),
                ("one.json", "different"),
                ("three.json", "not generated any more"),
            ]
        );
    }

    #[test]
    fn replacing_leaves_what_was_generated_and_nothing_else() {
        let (fresh, kept) = (Scratch::with(FRESH), Scratch::with(&[]));
        kept.write("a/one.json", "0");
        kept.write("a/old.json", "0");
        kept.write("third-party/x.json", "0");
        assert!(replace(fresh.path(), kept.path()).unwrap());
        assert!(compare(fresh.path(), kept.path()).unwrap());
        assert!(kept.path().join("third-party/x.json").exists());
        assert!(!kept.path().join("a/old.json").exists());
    }

    #[test]
    fn a_generator_that_writes_nothing_or_beside_is_an_error() {
        assert!(specifications(Scratch::with(&[]).path()).is_err());
        assert!(specifications(Scratch::with(&[("a.json", "")]).path()).is_err());
    }

    #[test]
    fn programs_are_found_in_the_messages_of_cargo() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"a"},"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["example"],"name":"a-vectors"},"#,
            r#""profile":{"test":false},"executable":"/t/debug/examples/a-vectors","fresh":true}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"kind":["example"],"name":"b"},"executable":null}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let found = programs(messages);
        assert_eq!(found.len(), 1);
        assert_eq!(found["a-vectors"], Path::new("/t/debug/examples/a-vectors"));
    }

    #[test]
    fn unknown_arguments_are_refused() {
        assert!(command(Path::new("."), &["--fix".to_owned()]).is_err());
    }
}
