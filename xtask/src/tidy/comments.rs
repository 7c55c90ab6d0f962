//! Comments of Rust files stay within the columns of the code.

use super::{Finding, Outcome};
use crate::tree::Tree;

/// Columns of a line, as in `rustfmt.toml`.
const COLUMNS: usize = 100;

/// Crates whose comments are still to be wrapped.
const UNWRAPPED: &[&str] = &["crates/endseal-bench", "crates/endseal-cli"];

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut findings = Vec::new();
    let files = tree.rust().filter(|file| !UNWRAPPED.iter().any(|folder| file.is_below(folder)));
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > COLUMNS && comment(line).is_some_and(|text| !text.starts_with('|')) {
                let message = format!("a comment of {columns} columns, more than {COLUMNS}");
                findings.push(Finding::at(&file.path, index + 1, message));
            }
        }
    }
    findings.into()
}

/// Returns the text of a line that is a comment. Rows of tables, which cannot be wrapped, begin
/// with `|`.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim_start())
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    fn found(line: &str) -> Vec<String> {
        run(check, &[("crates/a/src/lib.rs", &format!("fn f() {{}}\n{line}\n"))])
    }

    #[test]
    fn long_comments_are_found() {
        for start in ["// ", "/// ", "    //! "] {
            let line = format!("{start}{}", "x".repeat(101 - start.len()));
            let finding = "crates/a/src/lib.rs:2: a comment of 101 columns, more than 100";
            assert_eq!(found(&line), [finding]);
            assert_eq!(found(&line[..100]), [""; 0]);
        }
    }

    #[test]
    fn columns_are_characters() {
        assert_eq!(found(&format!("// {}", "\u{e9}".repeat(97))), [""; 0]);
    }

    #[test]
    fn code_and_rows_of_tables_may_be_longer() {
        let long = "x".repeat(100);
        assert_eq!(found(&format!("let a = \"// {long}\";")), [""; 0]);
        assert_eq!(found(&format!("//! | {long} |")), [""; 0]);
    }
}
