//! Reads the state of the checkout from git.

use std::path::Path;
use std::process::Command;

/// Returns the commit that is checked out, in full.
pub(crate) fn head(root: &Path) -> Result<String, String> {
    output(root, &["rev-parse", "HEAD"])
}

/// Returns true if tracked files differ from the commit that is checked out.
pub(crate) fn is_changed(root: &Path) -> Result<bool, String> {
    Ok(!output(root, &["status", "--porcelain", "--untracked-files=no"])?.is_empty())
}

/// Returns the number of commits since `commit`. Fails if that commit is not an ancestor of the
/// present one.
pub(crate) fn commits_since(root: &Path, commit: &str) -> Result<usize, String> {
    output(root, &["merge-base", "--is-ancestor", commit, "HEAD"])?;
    let count = output(root, &["rev-list", "--count", &format!("{commit}..HEAD")])?;
    count.parse().map_err(|_| format!("git counts '{count}' commits"))
}

/// Returns the files that differ from `commit`, committed or not, and untracked files.
pub(crate) fn changed_since(root: &Path, commit: &str) -> Result<Vec<String>, String> {
    let changed = output(root, &["diff", "--name-only", "--no-renames", commit])?;
    let new = output(root, &["ls-files", "--others", "--exclude-standard"])?;
    Ok(changed.lines().chain(new.lines()).map(str::to_owned).collect())
}

fn output(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(arguments).current_dir(root).output();
    let output = output.map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("git {}: {} {}", arguments.join(" "), output.status, error.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn repository() -> Scratch {
        let scratch = Scratch::with(&[("a", "1"), ("b", "1")]);
        for arguments in [
            &["init", "--quiet"][..],
            &["add", "."],
            &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "One"],
        ] {
            output(scratch.path(), arguments).unwrap();
        }
        scratch
    }

    #[test]
    fn changed_and_new_files_are_named() {
        let scratch = repository();
        let head = head(scratch.path()).unwrap();
        assert!(!is_changed(scratch.path()).unwrap());
        scratch.write("b", "2");
        scratch.write("c", "1");
        assert!(is_changed(scratch.path()).unwrap());
        assert_eq!(changed_since(scratch.path(), &head).unwrap(), ["b", "c"]);
        assert_eq!(commits_since(scratch.path(), &head).unwrap(), 0);
    }

    #[test]
    fn an_unknown_commit_is_an_error() {
        let unknown = "0123456789012345678901234567890123456789";
        assert!(commits_since(repository().path(), unknown).is_err());
    }
}
