//! Checks the subjects of commits, if the history is available.

use std::path::Path;
use std::process::Command;

use super::{Finding, Outcome};
use crate::tree::Tree;

/// Last commit before the rule. Earlier subjects are not checked.
const BASE: &str = "f518426";
/// Largest number of characters of a subject.
const LENGTH: usize = 72;

pub(super) fn check(tree: &Tree) -> Outcome {
    check_from(&tree.root, BASE)
}

fn check_from(root: &Path, base: &str) -> Outcome {
    match log(root, base) {
        Some(log) => log.lines().filter_map(fault).collect::<Vec<_>>().into(),
        // An archive, or a clone without this part of the history: nothing is checked.
        None => Outcome::default(),
    }
}

/// Returns a line for each commit after `base`: its abbreviated hash, a space, the subject.
fn log(root: &Path, base: &str) -> Option<String> {
    // Without this check git would find the repository of a folder above.
    if !root.join(".git").exists() {
        return None;
    }
    let range = format!("{base}..HEAD");
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(["log", "--no-merges", "--format=%h %s", &range, "--"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

fn fault(line: &str) -> Option<Finding> {
    let (hash, subject) = line.split_once(' ')?;
    let length = subject.chars().count();
    let message = if length > LENGTH {
        format!("a subject of {length} characters, more than {LENGTH}")
    } else if subject.ends_with('.') {
        "its subject ends in a period".to_owned()
    } else {
        return None;
    };
    Some(Finding::of(&format!("commit {hash}"), message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn git(scratch: &Scratch, arguments: &[&str]) {
        let name = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let mut git = Command::new("git");
        git.arg("-C").arg(scratch.path()).args(name).args(arguments);
        assert!(git.output().unwrap().status.success(), "git {arguments:?}");
    }

    fn commit(scratch: &Scratch, subject: &str) {
        git(scratch, &["commit", "--quiet", "--allow-empty", "--message", subject]);
    }

    fn found(scratch: &Scratch) -> Vec<String> {
        let findings = check_from(scratch.path(), "base").findings;
        let message = |it: &Finding| it.to_string().split_once(": ").unwrap().1.to_owned();
        findings.iter().map(message).collect()
    }

    #[test]
    fn subjects_after_the_base_are_short_and_end_without_a_period() {
        let scratch = Scratch::with(&[]);
        git(&scratch, &["init", "--quiet"]);
        commit(&scratch, "Before the rule.");
        assert_eq!(found(&scratch), [""; 0], "without the base there is nothing to check");
        git(&scratch, &["tag", "base"]);
        commit(&scratch, &"x".repeat(72));
        assert_eq!(found(&scratch), [""; 0]);
        commit(&scratch, "End in a period.");
        commit(&scratch, &"x".repeat(73));
        let expected = ["a subject of 73 characters, more than 72", "its subject ends in a period"];
        assert_eq!(found(&scratch), expected);
    }

    #[test]
    fn a_tree_without_history_is_not_checked() {
        assert_eq!(found(&Scratch::with(&[])), [""; 0]);
    }
}
