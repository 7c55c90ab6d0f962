//! Comments of Rust files stay within the columns of the code, and documentation begins with the
//! name of the thing or with a verb.

use super::{Finding, Outcome};
use crate::tree::{File, Tree};

/// Columns of a line, as in `rustfmt.toml`.
const COLUMNS: usize = 100;

/// First words that leave open what a sentence is about.
const VAGUE: &[&str] = &["How", "What", "Whether", "Who", "Whoever", "Whom", "Whose"];

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut findings = Vec::new();
    for file in tree.rust() {
        long_lines(file, &mut findings);
        vague_starts(file, &mut findings);
    }
    findings.into()
}

fn long_lines(file: &File, findings: &mut Vec<Finding>) {
    for (index, line) in file.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > COLUMNS && comment(line).is_some_and(|text| !text.starts_with('|')) {
            let message = format!("a comment of {columns} columns, more than {COLUMNS}");
            findings.push(Finding::at(&file.path, index + 1, message));
        }
    }
}

/// Finds paragraphs of documentation that begin with one of [`VAGUE`].
fn vague_starts(file: &File, findings: &mut Vec<Finding>) {
    let mut before = None;
    for (index, line) in file.text.lines().enumerate() {
        let text = documentation(line);
        let is_first = before.is_none_or(str::is_empty);
        before = text;
        let Some(text) = text.filter(|_| is_first) else { continue };
        let word = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        if VAGUE.contains(&word) {
            let message = format!("documentation begins with '{word}': name the thing first");
            findings.push(Finding::at(&file.path, index + 1, message));
        }
    }
}

/// Returns the text of a line of documentation.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
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

    #[test]
    fn documentation_names_the_thing_first() {
        let finding = "documentation begins with 'What': name the thing first";
        let path = "crates/a/src/lib.rs";
        assert_eq!(found("/// What it is."), [format!("{path}:2: {finding}")]);
        assert_eq!(found("    //! What it is."), [format!("{path}:2: {finding}")]);
        assert_eq!(found("/// A thing.\n///\n/// What it is."), [format!("{path}:4: {finding}")]);
        for word in VAGUE {
            assert_eq!(found(&format!("/// {word}, it is.")).len(), 1, "{word}");
        }
    }

    #[test]
    fn other_starts_are_documentation() {
        for text in ["/// However it is.", "// What it is.", "/// It is\n/// What it is."] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
