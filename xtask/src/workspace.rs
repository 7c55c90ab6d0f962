//! The crates of the product and the rows (layers) of `[workspace.metadata.layers]`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use toml::{Table, Value};

/// Last row with formats and algorithms, which need no operating system.
const LAST_PORTABLE_ROW: u32 = 1;
/// Crates of the portable rows that need std: for the types of HTTP, files and sockets.
const NEEDS_STD: &[&str] = &[
    "endseal-s3-format",
    "endseal-s3-protocol",
    "endseal-service",
    "endseal-store",
    "endseal-testing",
];

/// A row of `[workspace.metadata.layers]`: its crates may depend only on crates of lower rows.
pub(crate) struct Row {
    pub(crate) number: u32,
    pub(crate) crates: Vec<String>,
}

/// A crate that is published, as its manifest and the root manifest describe it.
#[derive(Debug, PartialEq)]
pub(crate) struct Published {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Lowest version of Rust that the crate promises to build with, such as `1.89`.
    pub(crate) rust_version: String,
    /// Names of its normal dependencies.
    pub(crate) needs: Vec<String>,
}

/// Returns the published crates in an order in which they can be published: each one after those
/// that it needs.
pub(crate) fn published(root: &Path) -> Result<Vec<Published>, String> {
    let whole = manifest(&root.join("Cargo.toml"))?;
    let mut found = Vec::new();
    for name in rows_in(&whole)?.into_iter().flat_map(|row| row.crates) {
        let path = root.join("crates").join(&name).join("Cargo.toml");
        let own = manifest(&path)?;
        if !is_published(&own) {
            continue;
        }
        let text = |field: &str| {
            let value = inherited(&whole, &own, field).and_then(Value::as_str);
            value.map(str::to_owned).ok_or_else(|| format!("{}: no {field}", path.display()))
        };
        let needs = own.get("dependencies").and_then(Value::as_table);
        let needs = needs.into_iter().flat_map(Table::keys).cloned().collect();
        let (version, rust_version) = (text("version")?, text("rust-version")?);
        found.push(Published { name, version, rust_version, needs });
    }
    Ok(found)
}

/// Returns true unless the manifest of a crate says `publish = false`.
pub(crate) fn is_published(manifest: &Table) -> bool {
    let package = manifest.get("package");
    package.and_then(|it| it.get("publish")).and_then(Value::as_bool) != Some(false)
}

/// Returns a field of a package, from the root manifest if the crate inherits it.
pub(crate) fn inherited<'a>(root: &'a Table, own: &'a Table, field: &str) -> Option<&'a Value> {
    let value = own.get("package")?.get(field)?;
    match value.get("workspace") {
        Some(_) => root.get("workspace")?.get("package")?.get(field),
        None => Some(value),
    }
}

/// Returns the options of Cargo that choose these crates.
pub(crate) fn arguments(crates: &[Published]) -> Vec<String> {
    crates.iter().map(|it| format!("--package={}", it.name)).collect()
}

/// Returns the names of the published crates by the lowest version of Rust that they build with.
pub(crate) fn by_rust_version(crates: Vec<Published>) -> BTreeMap<String, Vec<Published>> {
    let mut groups: BTreeMap<String, Vec<Published>> = BTreeMap::new();
    for it in crates {
        groups.entry(it.rust_version.clone()).or_default().push(it);
    }
    groups
}

/// Reads all rows of the root manifest, lowest first.
pub(crate) fn rows(root: &Path) -> Result<Vec<Row>, String> {
    rows_in(&manifest(&root.join("Cargo.toml"))?)
}

fn manifest(path: &Path) -> Result<Table, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.parse().map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads all rows of a parsed root manifest, lowest first.
pub(crate) fn rows_in(manifest: &Table) -> Result<Vec<Row>, String> {
    let layers = ["workspace", "metadata", "layers"];
    let mut table = Some(manifest);
    for name in layers {
        table = table.and_then(|it| it.get(name)).and_then(Value::as_table);
    }
    let table = table.ok_or("there is no [workspace.metadata.layers]")?;
    let mut rows = Vec::new();
    for (number, names) in table {
        let names = names.as_array().and_then(|names| {
            names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        let (Ok(number), Some(crates)) = (number.parse(), names) else {
            return Err(format!("layer {number} is not a number with a list of crates"));
        };
        rows.push(Row { number, crates });
    }
    rows.sort_by_key(|row| row.number);
    Ok(rows)
}

/// Returns the crates that build without an operating system.
pub(crate) fn portable(root: &Path) -> Result<Vec<String>, String> {
    let rows = rows(root)?.into_iter().filter(|row| row.number <= LAST_PORTABLE_ROW);
    let crates = rows.flat_map(|row| row.crates);
    Ok(crates.filter(|name| !NEEDS_STD.contains(&name.as_str())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn rows_come_lowest_first() {
        let manifest = "[workspace.metadata.layers]\n1 = [\"b\"]\n0 = [\"a\"]\n10 = [\"c\"]\n";
        let scratch = Scratch::with(&[("Cargo.toml", manifest)]);
        let rows = rows(scratch.path()).unwrap();
        let found: Vec<(u32, &str)> =
            rows.iter().map(|row| (row.number, row.crates[0].as_str())).collect();
        assert_eq!(found, [(0, "a"), (1, "b"), (10, "c")]);
        assert_eq!(portable(scratch.path()).unwrap(), ["a", "b"]);
    }

    const ROOT: &str = "[workspace.package]\nversion = \"0.2.0\"\nrust-version = \"1.89\"\n\
        [workspace.metadata.layers]\n0 = [\"a\", \"test\"]\n1 = [\"b\"]\n";
    const A: &str = "[package]\nversion.workspace = true\nrust-version.workspace = true\n";

    #[test]
    fn published_crates_come_in_the_order_of_the_rows() {
        let b = "[package]\nversion = \"1.0.0\"\nrust-version = \"1.94\"\n\
            [dependencies]\na.workspace = true\n[dev-dependencies]\ntest.workspace = true\n";
        let scratch = Scratch::with(&[
            ("Cargo.toml", ROOT),
            ("crates/a/Cargo.toml", A),
            ("crates/b/Cargo.toml", b),
            ("crates/test/Cargo.toml", "[package]\npublish = false\n"),
        ]);
        let crates = published(scratch.path()).unwrap();
        assert_eq!(arguments(&crates), ["--package=a", "--package=b"]);
        let facts: Vec<_> = crates.iter().map(|it| (it.version.as_str(), it.needs.len())).collect();
        assert_eq!(facts, [("0.2.0", 0), ("1.0.0", 1)]);
        let groups = by_rust_version(crates);
        assert_eq!(groups.keys().collect::<Vec<_>>(), ["1.89", "1.94"]);
    }

    #[test]
    fn a_published_crate_without_a_version_is_an_error() {
        let scratch = Scratch::with(&[
            ("Cargo.toml", ROOT),
            ("crates/a/Cargo.toml", "[package]\nrust-version = \"1.89\"\n"),
        ]);
        let error = published(scratch.path()).unwrap_err();
        assert!(error.ends_with("crates/a/Cargo.toml: no version"), "{error}");
    }

    #[test]
    fn a_missing_manifest_and_a_missing_table_are_errors() {
        assert!(rows(Scratch::with(&[]).path()).is_err());
        assert!(rows(Scratch::with(&[("Cargo.toml", "[workspace]\n")]).path()).is_err());
    }
}
