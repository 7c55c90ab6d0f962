//! Each promise in `SECURITY.md` has tests that exist.
//!
//! A promise is a row of a table whose first column is headed `no.`, and has its number there. Its
//! tests are listed in `docs/promises.md` below a heading of that number, each on a line of its
//! own: as `` `crate::test_function` ``, where `crate` is the folder in `crates/` without
//! `endseal-`, or as the path of a script.

use super::{Finding, Outcome};
use crate::tree::Tree;

const DOCUMENT: &str = "SECURITY.md";
const TESTS: &str = "docs/promises.md";
const COLUMN: &str = "no.";
/// Largest number of lines of the document.
const LIMIT: usize = 250;
/// Largest number of columns of a line in both documents.
const COLUMNS: usize = 100;

/// A number of a promise, with its line.
struct Numbered<'a> {
    line: usize,
    number: &'a str,
}

/// A heading with the number of a promise, and the tests below it with their lines.
struct Section<'a> {
    heading: Numbered<'a>,
    tests: Vec<(usize, &'a str)>,
}

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = tree.file(DOCUMENT) else { return outcome };
    let length = file.text.lines().count();
    if length > LIMIT {
        let message = format!("{length} lines, over the limit of {LIMIT}");
        outcome.findings.push(Finding::of(DOCUMENT, message));
    }
    outcome.findings.extend(wide(DOCUMENT, &file.text));
    let list = tree.file(TESTS).map_or("", |file| file.text.as_str());
    outcome.findings.extend(wide(TESTS, list));
    let (promises, sections) = (promises(&file.text), sections(list));
    for (index, promise) in promises.iter().enumerate() {
        let number = promise.number;
        if promises[..index].iter().any(|before| before.number == number) {
            let message = format!("the number {number} a second time");
            outcome.findings.push(Finding::at(DOCUMENT, promise.line, message));
        }
        let is_held = |it: &Section<'_>| it.heading.number == number && !it.tests.is_empty();
        if !sections.iter().any(is_held) {
            let message = format!("the promise {number} has no test in {TESTS}");
            outcome.findings.push(Finding::at(DOCUMENT, promise.line, message));
        }
    }
    for section in &sections {
        let Numbered { line, number } = section.heading;
        if !promises.iter().any(|it| it.number == number) {
            let message = format!("no promise {number} in {DOCUMENT}");
            outcome.findings.push(Finding::at(TESTS, line, message));
        }
        for (line, name) in section.tests.iter().filter(|(_, name)| !exists(tree, name)) {
            outcome.findings.push(Finding::at(TESTS, *line, format!("no test `{name}`")));
        }
    }
    let tests: usize = sections.iter().map(|it| it.tests.len()).sum();
    outcome.notes.push(format!("{} promises in {DOCUMENT}, {tests} tests", promises.len()));
    outcome
}

/// Finds lines of a document that are too wide.
fn wide(path: &str, text: &str) -> Vec<Finding> {
    let columns = text.lines().map(|line| line.chars().count()).enumerate();
    columns
        .filter(|(_, columns)| *columns > COLUMNS)
        .map(|(index, columns)| {
            Finding::at(path, index + 1, format!("{columns} columns, over {COLUMNS}"))
        })
        .collect()
}

/// Returns the numbers in the first column of the tables of promises.
fn promises(text: &str) -> Vec<Numbered<'_>> {
    let (mut found, mut in_table) = (Vec::new(), false);
    for (index, line) in text.lines().enumerate() {
        match first_cell(line) {
            None => in_table = false,
            Some(cell) if !in_table => in_table = cell == COLUMN,
            Some(cell) if cell.starts_with("---") => {}
            Some(number) => found.push(Numbered { line: index + 1, number }),
        }
    }
    found
}

/// Returns the sections of the list of tests.
fn sections(text: &str) -> Vec<Section<'_>> {
    let mut found: Vec<Section<'_>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(number) = line.strip_prefix("### ") {
            let heading = Numbered { line: index + 1, number: number.trim() };
            found.push(Section { heading, tests: Vec::new() });
        } else if let Some(section) = found.last_mut()
            && let Some(test) = line.strip_prefix("* `").and_then(|it| it.strip_suffix('`'))
        {
            section.tests.push((index + 1, test));
        }
    }
    found
}

/// Returns the first cell of a table's row; `None` for other lines.
fn first_cell(line: &str) -> Option<&str> {
    let row = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    row.split('|').next().map(str::trim)
}

/// Returns true if the name is a test function that is not ignored, or a path of the tree.
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

    const CODE: &str = "#[test]\nfn bits_are_refused() {}\n\n\
        #[tokio::test]\nasync fn peers_meet() {}\n\n\
        #[test]\n#[ignore]\nfn pages_turn() {}\n\nfn helper() {}\n";

    fn found(document: &str, list: &str) -> Vec<String> {
        let files = [
            (DOCUMENT, document),
            (TESTS, list),
            ("crates/endseal-a/tests/it/x.rs", CODE),
            ("tests/s3/run", "#!/bin/bash\n"),
        ];
        run(check, &files)
    }

    fn document(numbers: &[&str]) -> String {
        let rows: String = numbers.iter().map(|it| format!("| {it} | relay | read |\n")).collect();
        format!(
            "| no. | who | cannot |\n|---|---|---|\n{rows}\n| risk | way |\n|---|---|\n| z | x |\n"
        )
    }

    #[test]
    fn promises_with_tests_pass() {
        let list = "# Tests\n\nWords.\n\n### A1\n* `a::bits_are_refused`\n* `tests/s3/run`\n\n\
            ## Others\n\n### A2\n* `a::peers_meet`\n";
        assert_eq!(found(&document(&["A1", "A2"]), list), [""; 0]);
    }

    #[test]
    fn promises_without_tests_are_found() {
        let list = "### A1\n* a::bits_are_refused\n### A2\n* `a::helper`\n\
            * `b::bits_are_refused`\n* `a::pages_turn`\n";
        assert_eq!(
            found(&document(&["A1", "A2", "A3"]), list),
            [
                "SECURITY.md:3: the promise A1 has no test in docs/promises.md",
                "SECURITY.md:5: the promise A3 has no test in docs/promises.md",
                "docs/promises.md:4: no test `a::helper`",
                "docs/promises.md:5: no test `b::bits_are_refused`",
                "docs/promises.md:6: no test `a::pages_turn`",
            ]
        );
    }

    #[test]
    fn numbers_stand_once_in_both_documents() {
        let list = "### A1\n* `a::peers_meet`\n### A2\n* `a::peers_meet`\n";
        assert_eq!(
            found(&document(&["A1", "A1"]), list),
            [
                "SECURITY.md:4: the number A1 a second time",
                "docs/promises.md:3: no promise A2 in SECURITY.md",
            ]
        );
    }

    #[test]
    fn the_document_stays_short_and_narrow() {
        let long = found(&"x\n".repeat(251), "");
        assert_eq!(long, ["SECURITY.md: 251 lines, over the limit of 250"]);
        let line = format!("{}\n", "é".repeat(101));
        assert_eq!(
            found(&line, &line),
            ["SECURITY.md:1: 101 columns, over 100", "docs/promises.md:1: 101 columns, over 100"]
        );
        assert_eq!(found(&"é".repeat(100), ""), [""; 0]);
    }
}
