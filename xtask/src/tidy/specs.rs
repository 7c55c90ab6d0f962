//! A specification and its test vectors come in pairs, and vectors show refusals at least as often
//! as successes.

use super::{Finding, Outcome};
use crate::tree::Tree;

const SPECS: &str = "docs/spec";
const VECTORS: &str = "vectors";
/// Folder of vectors that others have published, which have their own specifications.
const FOREIGN: &str = "third-party";

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut outcome = Outcome::default();
    let specs: Vec<&str> = tree.files.iter().filter_map(|file| spec_name(&file.path)).collect();
    for name in &specs {
        let folder = format!("{VECTORS}/{name}");
        if !tree.files.iter().any(|file| file.is_below(&folder)) {
            let path = format!("{SPECS}/{name}.md");
            outcome.findings.push(Finding::of(&path, format!("has no vectors in {folder}/")));
        }
    }
    for name in tree.folders_in(VECTORS).into_iter().filter(|name| *name != FOREIGN) {
        let folder = format!("{VECTORS}/{name}");
        if !specs.contains(&name) {
            let message = format!("has no specification {SPECS}/{name}.md");
            outcome.findings.push(Finding::of(&folder, message));
        }
        let (successes, failures) = expectations(tree, &folder);
        outcome.notes.push(format!("{name}: {successes} successes, {failures} failures"));
        if failures < successes {
            let message = format!("{failures} failures for {successes} successes: too few");
            outcome.findings.push(Finding::of(&folder, message));
        }
    }
    outcome
}

/// Returns the name of `docs/spec/<name>.md`; `None` for deeper files and for the index.
fn spec_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix(SPECS)?.strip_prefix('/')?.strip_suffix(".md")?;
    (!name.contains('/') && name != "README").then_some(name)
}

/// Counts the vectors below `folder` that have `"expect": "ok"`, and those that have another
/// expectation.
fn expectations(tree: &Tree, folder: &str) -> (usize, usize) {
    let files = tree.files.iter().filter(|file| file.is_below(folder));
    let texts = files.filter(|file| file.path.ends_with(".json")).map(|file| &file.text);
    let expected: Vec<&str> = texts.flat_map(|text| text.split("\"expect\"").skip(1)).collect();
    let is_success = |rest: &&&str| {
        let value = rest.trim_start().strip_prefix(':').map(str::trim_start);
        value.is_some_and(|value| value.starts_with("\"ok\""))
    };
    let successes = expected.iter().filter(is_success).count();
    (successes, expected.len() - successes)
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    const OK: &str = "{\"comment\": \"plain\", \"expect\": \"ok\"}\n";
    const REFUSED: &str = "{\n  \"expect\" : \"auth\"\n}\n";

    #[test]
    fn a_pair_with_enough_refusals_passes() {
        let found = run(
            check,
            &[
                ("docs/spec/a.md", ""),
                ("docs/spec/figures/b.md", ""),
                ("vectors/a/one.json", OK),
                ("vectors/a/two.json", REFUSED),
                ("vectors/third-party/x/y.json", OK),
            ],
        );
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_spec_without_vectors_is_found() {
        let found = run(check, &[("docs/spec/a.md", ""), ("vectors/third-party/a/x", "")]);
        assert_eq!(found, ["docs/spec/a.md: has no vectors in vectors/a/"]);
    }

    #[test]
    fn vectors_without_a_spec_are_found() {
        let found = run(check, &[("vectors/a/one.json", REFUSED)]);
        assert_eq!(found, ["vectors/a: has no specification docs/spec/a.md"]);
    }

    #[test]
    fn more_successes_than_failures_are_found() {
        let found = run(check, &[("docs/spec/a.md", ""), ("vectors/a/one.json", OK)]);
        assert_eq!(found, ["vectors/a: 0 failures for 1 successes: too few"]);
    }
}
