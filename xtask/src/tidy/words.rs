//! Documents and comments use the terms of the field, not words that only this project knows.

use super::{Finding, Outcome};
use crate::tree::Tree;

/// Private words, each with a term to use instead.
const PRIVATE: &[(&str, &str)] = &[
    ("begun", "started"),
    ("desk", "rules or request handler"),
    ("farewell", "close message"),
    ("nobody", "the subject, or no one"),
    ("owed", "due or missing"),
    ("patience", "timeout"),
    ("somebody", "the subject"),
    ("stranger", "unknown sender or unregistered peer"),
    ("strangers", "unknown senders or unregistered peers"),
    ("unauthentic", "authentication error"),
    ("untold", "unreported"),
    ("vain", "without a result"),
    ("whoever", "anyone who, or the noun"),
];

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut findings = Vec::new();
    for file in &tree.files {
        let is_rust = file.path.ends_with(".rs");
        if !is_rust && !file.path.ends_with(".md") {
            continue;
        }
        let mut in_block = false;
        for (index, line) in file.text.lines().enumerate() {
            let line = line.trim_start();
            in_block ^= !is_rust && line.starts_with("```");
            let mut report = |(word, instead): &(&str, &str)| {
                let message = format!("'{word}' is a private word; write: {instead}");
                findings.push(Finding::at(&file.path, index + 1, message));
            };
            match line.strip_prefix("//") {
                Some(comment) if is_rust => private_words(comment).for_each(&mut report),
                None if is_rust => private_names(line).for_each(&mut report),
                _ if in_block => {}
                _ => private_words(line).for_each(&mut report),
            }
        }
    }
    findings.into()
}

/// Returns the private words in a text. Text in backticks is skipped, because it names fields and
/// values.
fn private_words(text: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    // Every second piece is between backticks.
    let prose = text.split('`').step_by(2);
    let words =
        prose.flat_map(|it| it.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')));
    words.filter_map(|word| PRIVATE.iter().find(|(private, _)| word.eq_ignore_ascii_case(private)))
}

/// Returns the private words in the names of a line of code, as `begun` in `is_begun` or `Begun`.
/// Its string literals are skipped.
fn private_names(code: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    // Every second piece is a string literal.
    let names = code.split('"').step_by(2);
    let parts =
        names.flat_map(|it| it.split(|c: char| !c.is_alphanumeric())).flat_map(camel_case_parts);
    parts.filter_map(|part| PRIVATE.iter().find(|(private, _)| part.eq_ignore_ascii_case(private)))
}

/// Splits `PeerId` into `Peer` and `Id`. A name in capitals stays whole.
fn camel_case_parts(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let bytes = name.as_bytes();
    for at in 1..bytes.len() {
        if bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase() {
            parts.push(&name[start..at]);
            start = at;
        }
    }
    parts.push(&name[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    #[test]
    fn private_words_are_found_in_documents_comments_and_names() {
        let found = run(
            check,
            &[
                ("a.md", "Whoever has it\n```\nnobody\n```\n`stranger` --no-writers\n"),
                ("b.rs", "/// Has begun.\nlet nobody = 1;\nlet x = StrangerId(IS_OWED);\n"),
            ],
        );
        assert_eq!(
            found,
            [
                "a.md:1: 'whoever' is a private word; write: anyone who, or the noun",
                "b.rs:1: 'begun' is a private word; write: started",
                "b.rs:2: 'nobody' is a private word; write: the subject, or no one",
                "b.rs:3: 'stranger' is a private word; write: unknown sender or unregistered peer",
                "b.rs:3: 'owed' is a private word; write: due or missing",
            ]
        );
    }
}
