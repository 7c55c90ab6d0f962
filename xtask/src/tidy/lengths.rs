//! Files must be short enough to be read in one go.

use super::{Finding, Outcome};
use crate::tree::{File, Tree};

/// Largest number of lines of a file.
const LIMIT: usize = 800;
/// Number of lines from which on files are listed, as a hint to split them by concept.
const LONG: usize = 500;
/// Largest median of the files' lengths.
const MEDIAN: usize = 250;
/// Largest number of lines of documents that are read in one go: one file, or all files below a
/// folder together.
const DOCUMENTS: [(&str, usize); 8] = [
    ("README.md", 150),
    ("ARCHITECTURE.md", 200),
    ("CHANGELOG.md", 60),
    ("docs/cli.md", 200),
    ("docs/cli-reference.md", 200),
    ("docs/json.md", 125),
    ("docs/s3.md", 250),
    ("docs/design", 120),
];

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut outcome = Outcome::default();
    let mut lengths = Vec::new();
    for file in tree.rust().filter(|file| !is_table(file)) {
        let length = file.text.lines().count();
        if length > LIMIT {
            let message = format!("{length} lines, over the limit of {LIMIT}");
            outcome.findings.push(Finding::of(&file.path, message));
        } else if length > LONG {
            outcome.notes.push(format!("{}: {length} lines, long (over {LONG})", file.path));
        }
        lengths.push(length);
    }
    for (file, limit) in tree.files.iter().filter_map(|file| Some((file, document_limit(file)?))) {
        let length = file.text.lines().count();
        if length > limit {
            let message = format!("{length} lines, over the limit of {limit}");
            outcome.findings.push(Finding::of(&file.path, message));
        }
    }
    lengths.sort_unstable();
    let (Some(median), Some(p90)) = (quantile(&lengths, 50), quantile(&lengths, 90)) else {
        return outcome;
    };
    let count = lengths.len();
    outcome.notes.push(format!("{count} files, median {median} lines, p90 {p90}"));
    if median > MEDIAN {
        let message = format!("the median file has {median} lines, over {MEDIAN}");
        outcome.findings.push(Finding::of("crates", message));
    }
    outcome
}

/// Returns the limit of a document, if it has one.
fn document_limit(file: &File) -> Option<usize> {
    let limit = DOCUMENTS.iter().find(|(path, _)| file.path == *path || file.is_below(path));
    limit.map(|(_, limit)| *limit)
}

/// Returns true for files with hundreds of constants, which are not read in one go and need not be
/// split.
fn is_table(file: &File) -> bool {
    file.path.split('/').any(|part| part == "tables") || file.path.ends_with("_table.rs")
}

/// Returns the smallest length that at least `percent` of the files do not exceed.
fn quantile(sorted: &[usize], percent: usize) -> Option<usize> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    #[test]
    fn a_file_over_the_limit_is_found() {
        let (fits, too_long) = ("\n".repeat(LIMIT), "\n".repeat(LIMIT + 1));
        let files = [("a.rs", too_long.as_str()), ("b.rs", &fits), ("c.rs", ""), ("d.rs", "")];
        assert_eq!(run(check, &files), ["a.rs: 801 lines, over the limit of 800"]);
    }

    #[test]
    fn a_document_over_its_limit_is_found() {
        let (readme, design) = ("\n".repeat(151), "\n".repeat(121));
        let files = [
            ("README.md", readme.as_str()),
            ("crates/x/README.md", &readme),
            ("docs/design/a.md", &design),
            ("docs/spec/a.md", &design),
        ];
        let expected = [
            "README.md: 151 lines, over the limit of 150",
            "docs/design/a.md: 121 lines, over the limit of 120",
        ];
        assert_eq!(run(check, &files), expected);
    }

    #[test]
    fn tables_and_other_languages_are_excepted() {
        let text = "\n".repeat(LIMIT + 1);
        let files = [("a/tables/b.rs", text.as_str()), ("a/c_table.rs", &text), ("d.json", &text)];
        assert_eq!(run(check, &files), [""; 0]);
    }

    #[test]
    fn a_median_over_the_limit_is_found() {
        let text = "\n".repeat(MEDIAN + 1);
        let files = [("a.rs", text.as_str()), ("b.rs", &text), ("c.rs", "")];
        assert_eq!(run(check, &files), ["crates: the median file has 251 lines, over 250"]);
    }

    #[test]
    fn quantiles_are_taken_from_the_list() {
        assert_eq!(quantile(&[1, 2, 3, 4], 50), Some(2));
        assert_eq!(quantile(&[1, 2, 3, 4, 5], 50), Some(3));
        assert_eq!(quantile(&[7], 90), Some(7));
        assert_eq!(quantile(&[], 90), None);
    }
}
