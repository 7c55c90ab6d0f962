//! Reads manifests for the rules about them.

use toml::{Table, Value};

use super::Finding;
use crate::tree::Tree;

/// Path of the root manifest.
pub(super) const ROOT: &str = "Cargo.toml";

/// Reads a manifest. If it is missing or malformed, that is a finding.
pub(super) fn read(tree: &Tree, path: &str, findings: &mut Vec<Finding>) -> Option<Table> {
    let Some(file) = tree.file(path) else {
        findings.push(Finding::of(path, "is missing"));
        return None;
    };
    let read = file.text.parse::<Table>();
    read.map_err(|error| findings.push(Finding::of(path, error.message()))).ok()
}

/// Returns the value at a path of names.
pub(super) fn at<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, name| value.get(*name))
}

/// Returns the text at a path of names.
pub(super) fn text_at<'a>(table: &'a Table, path: &[&str]) -> Option<&'a str> {
    at(table, path)?.as_str()
}

/// Returns the dependencies of these kinds (names of tables), including those of targets.
pub(super) fn dependencies<'a>(
    manifest: &'a Table,
    kinds: &'static [&'static str],
) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    core::iter::once(manifest).chain(targets).flat_map(move |table| {
        let of_kind = move |kind: &&str| table.get(*kind).and_then(Value::as_table);
        kinds.iter().filter_map(of_kind).flatten().map(|(name, value)| (name.as_str(), value))
    })
}

/// Returns the package that a dependency names. It may be renamed in its manifest or in the root
/// manifest.
pub(super) fn package<'a>(root: &'a Table, name: &'a str, value: &'a Value) -> &'a str {
    let here = value.get("package").and_then(Value::as_str);
    here.or_else(|| text_at(root, &["workspace", "dependencies", name, "package"])).unwrap_or(name)
}
