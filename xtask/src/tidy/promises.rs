//! Each promise in `SECURITY.md` names a test that exists.
//!
//! A promise is a row of a table whose last column is headed `test`. That column holds names as
//! `` `crate::test_function` ``, where `crate` is the folder in `crates/` without `endseal-`, or
//! paths of scripts.

use super::{Finding, Outcome};
use crate::tree::Tree;

const DOCUMENT: &str = "SECURITY.md";
const COLUMN: &str = "test";
/// Lines of the document at most.
const LIMIT: usize = 250;

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = tree.file(DOCUMENT) else { return outcome };
    let length = file.text.lines().count();
    if length > LIMIT {
        let message = format!("{length} lines, over the limit of {LIMIT}");
        outcome.findings.push(Finding::of(DOCUMENT, message));
    }
    let mut promises = 0;
    let mut in_table = false;
    for (index, line) in file.text.lines().enumerate() {
        let Some(cell) = last_cell(line) else {
            in_table = false;
            continue;
        };
        if !in_table {
            in_table = cell == COLUMN;
            continue;
        }
        if cell.starts_with("---") {
            continue;
        }
        promises += 1;
        // Every second piece stands between backticks.
        let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            outcome.findings.push(Finding::at(DOCUMENT, index + 1, "a promise without a test"));
        }
        for name in names.into_iter().filter(|name| !exists(tree, name)) {
            let message = format!("no test `{name}`");
            outcome.findings.push(Finding::at(DOCUMENT, index + 1, message));
        }
    }
    outcome.notes.push(format!("{promises} promises in {DOCUMENT}"));
    outcome
}

/// The last cell of a table's row; `None` for other lines.
fn last_cell(line: &str) -> Option<&str> {
    let row = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    row.rsplit('|').next().map(str::trim)
}

/// Returns true if the name is that of a test function that is not ignored, or a path of the tree.
fn exists(tree: &Tree, name: &str) -> bool {
    let Some((package, function)) = name.split_once("::") else {
        return tree.file(name).is_some();
    };
    let folder = format!("crates/endseal-{package}");
    let head = format!("fn {function}(");
    tree.rust().filter(|file| file.is_below(&folder)).any(|file| {
        let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
        lines.iter().enumerate().any(|(index, line)| {
            if !line.trim_start_matches("async ").starts_with(&head) {
                return false;
            }
            let attributes = lines[..index]
                .iter()
                .rev()
                .take_while(|line| line.starts_with("#[") || line.starts_with("//"));
            let has =
                |part| attributes.clone().any(|line| line.starts_with("#[") && line.contains(part));
            (has("[test]") || has("::test")) && !has("[ignore")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    const TESTS: &str = "#[test]\nfn bits_are_refused() {}\n\n\
        #[tokio::test]\nasync fn peers_meet() {}\n\n\
        #[test]\n#[ignore]\nfn pages_turn() {}\n\nfn helper() {}\n";

    fn found(table: &str) -> Vec<String> {
        let files = [
            (DOCUMENT, table),
            ("crates/endseal-a/tests/it/x.rs", TESTS),
            ("tests/s3/run", "#!/bin/bash\n"),
        ];
        run(check, &files)
    }

    #[test]
    fn promises_with_tests_pass() {
        let table = "| promise | test |\n|---|---|\n| x | `a::bits_are_refused`, `tests/s3/run` |\n\
            | y | `a::peers_meet` |\n\n| risk | remedy |\n|---|---|\n| z | none |\n";
        assert_eq!(found(table), [""; 0]);
    }

    #[test]
    fn promises_without_tests_are_found() {
        let table = "| promise | test |\n|---|---|\n| x | a::bits_are_refused |\n\
            | y | `a::helper` |\n| z | `b::bits_are_refused` |\n| i | `a::pages_turn` |\n";
        assert_eq!(
            found(table),
            [
                "SECURITY.md:3: a promise without a test",
                "SECURITY.md:4: no test `a::helper`",
                "SECURITY.md:5: no test `b::bits_are_refused`",
                "SECURITY.md:6: no test `a::pages_turn`",
            ]
        );
    }

    #[test]
    fn the_document_stays_short() {
        assert_eq!(found(&"x\n".repeat(251)), ["SECURITY.md: 251 lines, over the limit of 250"]);
    }
}
