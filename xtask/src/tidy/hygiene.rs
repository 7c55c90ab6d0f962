//! Text files must look alike in every editor and diff, and scripts must be executable.

use super::{Finding, Outcome};
use crate::tree::{File, Tree};

const CHECKED: &[&str] = &["json", "md", "proto", "py", "rs", "sh", "toml", "yml"];
/// Folder of files that are kept byte for byte as their authors published them.
const FOREIGN: &str = "vectors/third-party";
const CI: &str = ".ci/run";

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| is_checked(file)) {
        check_text(file, &mut findings);
    }
    for file in &tree.files {
        if (file.path == CI || file.path.ends_with(".sh")) && !file.executable {
            findings.push(Finding::of(&file.path, "is not executable"));
        }
    }
    if tree.file(CI).is_none() {
        findings.push(Finding::of(CI, "is missing"));
    }
    findings.into()
}

fn check_text(file: &File, findings: &mut Vec<Finding>) {
    let mut found = |line, message| findings.push(Finding::at(&file.path, line, message));
    let mut count = 0;
    for (index, line) in file.text.split('\n').enumerate() {
        let number = index + 1;
        let content = line.strip_suffix('\r').unwrap_or(line);
        if content.len() < line.len() {
            found(number, "ends in a carriage return");
        }
        if content.ends_with([' ', '\t']) {
            found(number, "ends in blanks");
        }
        if file.is_rust() && content.contains('\t') {
            found(number, "contains a tab");
        }
        count = number;
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        found(count, "the last line does not end");
    }
    if file.text.ends_with("\n\n") {
        found(count - 1, "the file ends in an empty line");
    }
}

fn is_checked(file: &File) -> bool {
    if file.is_below(FOREIGN) {
        return false;
    }
    let name = file.name();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    file.path == CI
        || name.starts_with("LICENSE")
        || extension.is_some_and(|it| CHECKED.contains(&it))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{run, run_in};
    use super::*;
    use crate::scratch::Scratch;

    /// Runs the rule over a made-up tree with an executable script.
    fn with(files: &[(&str, &str)]) -> Vec<String> {
        let scratch = Scratch::with(files);
        scratch.write_program(CI, "#!/bin/bash\n");
        run_in(check, &scratch)
    }

    #[test]
    fn clean_text_passes() {
        assert_eq!(with(&[("a.rs", "fn f() {}\n\nfn g() {}\n"), ("b.md", "")]), [""; 0]);
    }

    #[test]
    fn unclean_text_is_found() {
        let found = with(&[
            ("a.rs", "fn f() {}\n\tx \ny"),
            ("b.md", "one\r\n"),
            ("c.toml", "one\n\n"),
            ("vectors/third-party/d.json", "one\t"),
            ("e.bin", "one\t"),
        ]);
        assert_eq!(
            found,
            [
                "a.rs:2: ends in blanks",
                "a.rs:2: contains a tab",
                "a.rs:3: the last line does not end",
                "b.md:1: ends in a carriage return",
                "c.toml:2: the file ends in an empty line",
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn scripts_that_do_not_run_are_found() {
        assert_eq!(
            run(check, &[(CI, ""), ("peers/python/run-vectors.sh", "")]),
            [".ci/run: is not executable", "peers/python/run-vectors.sh: is not executable",]
        );
        assert_eq!(run(check, &[("a", "")]), [".ci/run: is missing"]);
    }
}
