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
            let text = if is_rust { line.strip_prefix("//") } else { Some(line) };
            let Some(text) = text.filter(|_| !in_block) else { continue };
            for (word, instead) in private_words(text) {
                let message = format!("'{word}' is a private word; write: {instead}");
                findings.push(Finding::at(&file.path, index + 1, message));
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

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    #[test]
    fn private_words_are_found_in_documents_and_comments() {
        let found = run(
            check,
            &[
                ("a.md", "Whoever has it\n```\nnobody\n```\n`stranger` --while-nobody-writes\n"),
                ("b.rs", "/// Has begun.\nlet nobody = 1;\n"),
            ],
        );
        assert_eq!(
            found,
            [
                "a.md:1: 'whoever' is a private word; write: anyone who, or the noun",
                "b.rs:1: 'begun' is a private word; write: started",
            ]
        );
    }
}
