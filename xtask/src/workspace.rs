//! The crates of the workspace and the rows they stand in.

use std::fs;
use std::path::Path;

use crate::toml::{self, Value};

/// The crates of a row, as `[workspace.metadata.layers]` has them.
pub(crate) struct Row {
    pub(crate) number: u32,
    pub(crate) crates: Vec<String>,
}

/// All rows, lowest first.
pub(crate) fn rows(root: &Path) -> Result<Vec<Row>, String> {
    let path = root.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let entries =
        toml::read(&text).map_err(|error| format!("{}:{}: {error}", path.display(), error.line))?;
    let mut rows = Vec::new();
    for entry in entries {
        let [workspace, metadata, layers, row] = entry.path.as_slice() else { continue };
        if [workspace.as_str(), metadata, layers] != ["workspace", "metadata", "layers"] {
            continue;
        }
        let (Ok(number), Value::Array(names)) = (row.parse(), entry.value) else { continue };
        let crates = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        rows.push(Row { number, crates });
    }
    rows.sort_by_key(|row| row.number);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn rows_come_lowest_first() {
        let manifest = "[workspace.metadata.layers]\n1 = [\"b\"]\n0 = [\"a\"]\n";
        let scratch = Scratch::with(&[("Cargo.toml", manifest)]);
        let rows = rows(scratch.path()).unwrap();
        let found: Vec<(u32, &str)> =
            rows.iter().map(|row| (row.number, row.crates[0].as_str())).collect();
        assert_eq!(found, [(0, "a"), (1, "b")]);
    }

    #[test]
    fn a_missing_manifest_is_an_error() {
        assert!(rows(Scratch::with(&[]).path()).is_err());
    }
}
