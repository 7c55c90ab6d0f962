//! The crates of the product and the rows (layers) of `[workspace.metadata.layers]`.

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

/// Reads all rows of the root manifest, lowest first.
pub(crate) fn rows(root: &Path) -> Result<Vec<Row>, String> {
    let path = root.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let manifest = text.parse().map_err(|error| format!("{}: {error}", path.display()))?;
    rows_in(&manifest)
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

    #[test]
    fn a_missing_manifest_and_a_missing_table_are_errors() {
        assert!(rows(Scratch::with(&[]).path()).is_err());
        assert!(rows(Scratch::with(&[("Cargo.toml", "[workspace]\n")]).path()).is_err());
    }
}
