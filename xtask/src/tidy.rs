//! House rules that neither rustfmt nor clippy checks, one module for each rule.

mod comments;
mod commits;
mod cycles;
mod hygiene;
mod layers;
mod lengths;
mod links;
mod lockfile;
mod manifests;
mod names;
mod packages;
mod promises;
mod specs;
mod unsafety;
mod words;

use core::fmt;
use std::path::Path;

use crate::tree::Tree;

/// One violation of a rule, with its position.
#[derive(Debug, PartialEq)]
pub(crate) struct Finding {
    path: String,
    /// Line of the finding; `None` if it concerns the whole file or folder.
    line: Option<usize>,
    message: String,
}

impl Finding {
    fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), message: message.into() }
    }

    fn of(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:", self.path)?;
        if let Some(line) = self.line {
            write!(formatter, "{line}:")?;
        }
        write!(formatter, " {}", self.message)
    }
}

/// Result of one rule: its findings and notes.
#[derive(Default)]
pub(crate) struct Outcome {
    findings: Vec<Finding>,
    /// Figures and warnings, which are printed and never fail the check.
    notes: Vec<String>,
}

impl From<Vec<Finding>> for Outcome {
    fn from(findings: Vec<Finding>) -> Self {
        Self { findings, notes: Vec::new() }
    }
}

type Rule = fn(&Tree) -> Outcome;

const RULES: &[(&str, Rule)] = &[
    ("layers", layers::check),
    ("packages", packages::check),
    ("specs", specs::check),
    ("cycles", cycles::check),
    ("lengths", lengths::check),
    ("comments", comments::check),
    ("commits", commits::check),
    ("unsafety", unsafety::check),
    ("lockfile", lockfile::check),
    ("names", names::check),
    ("promises", promises::check),
    ("hygiene", hygiene::check),
    ("links", links::check),
    ("words", words::check),
];

/// Runs `cargo xtask tidy`. Returns true if no rule has a finding.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
    if let Some(argument) = arguments.first() {
        return Err(format!("tidy takes no arguments, but got '{argument}'"));
    }
    let tree = Tree::read(root).map_err(|error| format!("{}: {error}", root.display()))?;
    let mut count = 0;
    for (name, rule) in RULES {
        let outcome = rule(&tree);
        for note in &outcome.notes {
            println!("{name}: {note}");
        }
        for finding in &outcome.findings {
            println!("{finding} [{name}]");
        }
        count += outcome.findings.len();
    }
    println!("tidy: {} rules, {} files, {count} findings", RULES.len(), tree.files.len());
    Ok(count == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    /// Runs a rule over a made-up tree. Returns each finding as it would be printed.
    pub(super) fn run(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
        run_in(rule, &Scratch::with(files))
    }

    pub(super) fn run_in(rule: Rule, scratch: &Scratch) -> Vec<String> {
        let tree = Tree::read(scratch.path()).unwrap();
        rule(&tree).findings.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn one_finding_is_enough_to_fail() {
        let scratch = Scratch::with(&[
            ("Cargo.toml", "[workspace.metadata.layers]\n0 = [\"a\"]\n"),
            ("Cargo.lock", "[[package]]\nname = \"a\"\n"),
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\npublish = false\n"),
            ("crates/a/src/lib.rs", "//! A.\n#![forbid(unsafe_code)]\n"),
        ]);
        scratch.write_program(".ci/run", "#!/bin/bash\n");
        assert_eq!(command(scratch.path(), &[]), Ok(true));
        scratch.write("crates/a/src/utils.rs", "");
        assert_eq!(command(scratch.path(), &[]), Ok(false));
    }

    #[test]
    fn a_finding_prints_as_editors_read_it() {
        assert_eq!(Finding::at("a.rs", 3, "bad").to_string(), "a.rs:3: bad");
        assert_eq!(Finding::of("a.rs", "bad").to_string(), "a.rs: bad");
    }

    #[test]
    fn arguments_are_refused() {
        assert!(command(Path::new("."), &["--fix".to_owned()]).is_err());
    }
}
