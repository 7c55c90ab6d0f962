//! `unsafe` code is allowed in few modules; everywhere else the compiler forbids it.
//!
//! The lint is set in the root of each crate, where a reader sees it. The word is searched for as
//! well, because tests, benches and examples are crates without that line.

use super::{Finding, Outcome};
use crate::source;
use crate::tree::{File, Tree};

const FORBID: &str = "#![forbid(unsafe_code)]";
const DENY: &str = "#![deny(unsafe_code)]";
const ALLOW: &str = "#[allow(unsafe_code)]";

/// A crate that allows `unsafe` in one module and therefore denies instead of forbidding it.
struct Home {
    root: &'static str,
    /// Declaration of the module in the crate's root.
    declaration: &'static str,
    /// Path of the module, without `.rs`.
    module: &'static str,
}

/// The modules with `unsafe` code: kernels, the counting allocator of the benchmark, the functions
/// that C and JavaScript call, and the registers of chips.
const HOMES: &[Home] = &[
    Home {
        root: "crates/endseal-crypto/src/lib.rs",
        declaration: "mod low;",
        module: "crates/endseal-crypto/src/low",
    },
    Home {
        root: "bench/src/lib.rs",
        declaration: "pub mod allocation;",
        module: "bench/src/allocation",
    },
    Home { root: "bindings/c/src/lib.rs", declaration: "mod abi;", module: "bindings/c/src/abi" },
    Home {
        root: "bindings/embedded/src/lib.rs",
        declaration: "pub mod abi;",
        module: "bindings/embedded/src/abi",
    },
    Home {
        root: "bindings/embedded/device/rp2040/src/main.rs",
        declaration: "mod platform;",
        module: "bindings/embedded/device/rp2040/src/platform",
    },
    Home {
        root: "bindings/wasm/src/lib.rs",
        declaration: "mod abi;",
        module: "bindings/wasm/src/abi",
    },
    Home {
        root: "firmware/src/main.rs",
        declaration: "mod platform;",
        module: "firmware/src/platform",
    },
];

/// Folders that are checked. `fuzz/` and `peers/` call code of other projects.
const FOLDERS: &[&str] =
    &["bindings/c", "bindings/embedded", "bindings/wasm", "crates", "firmware", "xtask"];

pub(super) fn check(tree: &Tree) -> Outcome {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| FOLDERS.iter().any(|folder| file.is_below(folder))) {
        let code = source::code(&file.text);
        if is_crate_root(&file.path) {
            let denies = HOMES.iter().any(|home| home.root == file.path);
            let header = if denies { DENY } else { FORBID };
            if !code.lines().any(|line| line.trim() == header) {
                findings.push(Finding::of(&file.path, format!("lacks {header}")));
            }
        }
        if !is_home(file) {
            let of_word = |line| Finding::at(&file.path, line, "unsafe outside its home");
            findings.extend(source::lines_with_word(&code, "unsafe").into_iter().map(of_word));
        }
        check_exceptions(file, &code, &mut findings);
    }
    findings.into()
}

/// Checks that the lint is lifted only for that module.
fn check_exceptions(file: &File, code: &str, findings: &mut Vec<Finding>) {
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    for (index, line) in lines.iter().enumerate() {
        let lifts = line.contains("unsafe_code") && !line.contains(FORBID) && !line.contains(DENY);
        let is_the_one = *line == ALLOW
            && HOMES.iter().any(|home| {
                home.root == file.path && lines.get(index + 1) == Some(&home.declaration)
            });
        if lifts && !is_the_one {
            findings.push(Finding::at(&file.path, index + 1, "lifts the lint on unsafe code"));
        }
    }
}

fn is_home(file: &File) -> bool {
    HOMES
        .iter()
        .any(|home| file.is_below(home.module) || file.path == format!("{}.rs", home.module))
}

fn is_crate_root(path: &str) -> bool {
    let inside = path.split_once("/src/").map(|(_, inside)| inside);
    let is_program = |it: &str| !it.contains('/') || it.ends_with("/main.rs");
    inside.is_some_and(|it| {
        matches!(it, "lib.rs" | "main.rs") || it.strip_prefix("bin/").is_some_and(is_program)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    const CRYPTO: &str = "#![deny(unsafe_code)]\n#[allow(unsafe_code)]\nmod low;\n";
    const FIRMWARE: &str = "#![deny(unsafe_code)]\n#[allow(unsafe_code)]\nmod platform;\n";

    #[test]
    fn unsafe_in_its_home_passes() {
        let found = run(
            check,
            &[
                ("crates/endseal-crypto/src/lib.rs", CRYPTO),
                ("crates/endseal-crypto/src/low.rs", "unsafe fn f() {}"),
                ("crates/endseal-crypto/src/low/ifma.rs", "unsafe fn f() {}"),
                ("firmware/src/main.rs", FIRMWARE),
                ("firmware/src/platform.rs", "unsafe {}"),
                ("firmware/src/platform/arm.rs", "unsafe {}"),
                ("crates/a/src/lib.rs", "//! No unsafe.\n#![forbid(unsafe_code)]\n"),
                ("crates/a/src/b.rs", "// unsafe\nconst A: &str = \"unsafe\";"),
            ],
        );
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_program_of_several_files_has_one_root() {
        let found = run(
            check,
            &[
                ("crates/a/src/bin/b.rs", "fn main() {}"),
                ("crates/a/src/bin/c/main.rs", "mod d;"),
                ("crates/a/src/bin/c/d.rs", ""),
            ],
        );
        assert_eq!(
            found,
            [
                "crates/a/src/bin/b.rs: lacks #![forbid(unsafe_code)]",
                "crates/a/src/bin/c/main.rs: lacks #![forbid(unsafe_code)]",
            ]
        );
    }

    #[test]
    fn a_crate_root_without_the_lint_is_found() {
        let found = run(
            check,
            &[
                ("crates/a/src/lib.rs", "// #![forbid(unsafe_code)]\n"),
                ("crates/a/src/bin/b.rs", ""),
                ("crates/c/src/main.rs", "#![deny(unsafe_code)]\n"),
                ("xtask/src/main.rs", ""),
            ],
        );
        assert_eq!(
            found,
            [
                "crates/a/src/bin/b.rs: lacks #![forbid(unsafe_code)]",
                "crates/a/src/lib.rs: lacks #![forbid(unsafe_code)]",
                "crates/c/src/main.rs: lacks #![forbid(unsafe_code)]",
                "xtask/src/main.rs: lacks #![forbid(unsafe_code)]",
            ]
        );
    }

    #[test]
    fn unsafe_outside_its_home_is_found() {
        let found = run(
            check,
            &[
                ("crates/endseal-crypto/src/high/a.rs", "\nunsafe {}"),
                ("crates/endseal-crypto/src/lower.rs", "unsafe {}"),
                ("crates/a/benches/b.rs", "unsafe impl X for Y {}"),
                ("firmware/src/meter.rs", "unsafe {}"),
            ],
        );
        assert_eq!(
            found,
            [
                "crates/a/benches/b.rs:1: unsafe outside its home",
                "crates/endseal-crypto/src/high/a.rs:2: unsafe outside its home",
                "crates/endseal-crypto/src/lower.rs:1: unsafe outside its home",
                "firmware/src/meter.rs:1: unsafe outside its home",
            ]
        );
    }

    #[test]
    fn a_second_exception_is_found() {
        let lib = format!("{CRYPTO}#[allow(unsafe_code)]\nmod high;\n");
        let found = run(
            check,
            &[
                ("crates/endseal-crypto/src/lib.rs", &lib),
                ("crates/endseal-crypto/src/mid.rs", "#![expect(dead_code, unsafe_code)]"),
            ],
        );
        assert_eq!(
            found,
            [
                "crates/endseal-crypto/src/lib.rs:4: lifts the lint on unsafe code",
                "crates/endseal-crypto/src/mid.rs:1: lifts the lint on unsafe code",
            ]
        );
    }
}
