//! The product's lock file stays small enough to be reviewed. `deny.toml` lists packages that must
//! not be in it.

use super::{Finding, Outcome};
use crate::tree::Tree;

const PATH: &str = "Cargo.lock";
/// Largest number of packages on all platforms. To add more, this line must be changed
/// deliberately.
const BUDGET: usize = 380;

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = tree.file(PATH) else {
        outcome.findings.push(Finding::of(PATH, "is missing"));
        return outcome;
    };
    let count = file.text.lines().filter(|line| *line == "[[package]]").count();
    outcome.notes.push(format!("{count} packages, at most {BUDGET}"));
    if count > BUDGET {
        let message = format!("{count} packages, over the budget of {BUDGET}");
        outcome.findings.push(Finding::of(PATH, message));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    #[test]
    fn only_a_large_or_missing_lock_file_is_found() {
        let lock = |count| "[[package]]\nname = \"a\"\n".repeat(count);
        assert_eq!(run(check, &[("Cargo.lock", &lock(BUDGET))]), [""; 0]);
        let found = run(check, &[("Cargo.lock", &lock(BUDGET + 1))]);
        assert_eq!(found, ["Cargo.lock: 381 packages, over the budget of 380"]);
        assert_eq!(run(check, &[("a", "")]), ["Cargo.lock: is missing"]);
    }
}
