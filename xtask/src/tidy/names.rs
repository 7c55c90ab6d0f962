//! A file must be named by the concept that it contains.

use super::{Finding, Outcome};
use crate::tree::{File, Tree};

/// Names that say nothing about the content: everything in such a file has a better name.
const EMPTY: &[&str] = &["common", "helper", "helpers", "misc", "util", "utils"];

pub(super) fn check(tree: &Tree) -> Outcome {
    let finding = |file: &File| {
        let stem = file.name().strip_suffix(".rs")?;
        if stem == "mod" {
            return Some(Finding::of(&file.path, "module files are named by the module"));
        }
        let message = "name it by the concept it holds";
        EMPTY.contains(&stem).then(|| Finding::of(&file.path, message))
    };
    tree.rust().filter_map(finding).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    #[test]
    fn empty_names_and_mod_files_are_found() {
        let files = [
            ("crates/a/src/b/mod.rs", ""),
            ("crates/a/src/utils.rs", ""),
            ("crates/a/tests/it/common.rs", ""),
            ("crates/a/src/slot.rs", ""),
            ("peers/node/utils.js", ""),
        ];
        assert_eq!(
            run(check, &files),
            [
                "crates/a/src/b/mod.rs: module files are named by the module",
                "crates/a/src/utils.rs: name it by the concept it holds",
                "crates/a/tests/it/common.rs: name it by the concept it holds",
            ]
        );
    }
}
