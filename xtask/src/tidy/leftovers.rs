//! No unfinished work in what is shipped. Clippy sees the features it was run with; this sees all.

use super::{Finding, Outcome};
use crate::source;
use crate::tree::Tree;

const MACROS: &[&str] = &["todo", "unimplemented", "dbg"];

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !source::is_test_file(&file.path)) {
        let code = source::product_code(&file.text);
        for name in MACROS {
            let of_line = |line| Finding::at(&file.path, line, format!("{name}! is left over"));
            findings.extend(calls(&code, name).into_iter().map(of_line));
        }
    }
    findings.into()
}

/// Lines on which the macro is called.
fn calls(code: &str, name: &str) -> Vec<usize> {
    let call = format!("{name}!");
    let lines: Vec<&str> = code.lines().collect();
    let is_call = |line: &usize| lines.get(line - 1).is_some_and(|line| line.contains(&call));
    source::lines_with_word(code, name).into_iter().filter(is_call).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    #[test]
    fn unfinished_work_is_found() {
        let text = "fn a() {\n    todo!()\n}\nfn b() { dbg!(1); unimplemented!(\"x\") }\n";
        assert_eq!(
            run(check, &[("crates/a/src/lib.rs", text)]),
            [
                "crates/a/src/lib.rs:2: todo! is left over",
                "crates/a/src/lib.rs:4: unimplemented! is left over",
                "crates/a/src/lib.rs:4: dbg! is left over",
            ]
        );
    }

    #[test]
    fn words_comments_and_tests_pass() {
        let text = "// todo!()\nfn todo() {}\n#[cfg(test)]\nmod tests { fn f() { todo!() } }\n";
        let files = [("crates/a/src/lib.rs", text), ("crates/a/tests/it/main.rs", "todo!()")];
        assert_eq!(run(check, &files), [""; 0]);
    }
}
