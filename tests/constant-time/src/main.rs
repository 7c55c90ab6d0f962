//! Runs secret-dependent code under valgrind's Memcheck with the secrets marked as undefined. A
//! jump or an address that depends on a marked byte is a report; a case fails if it has one.
//!
//! `cargo xtask assure` runs it. By hand, in this folder: `cargo build --release`, then
//! `valgrind --quiet --suppressions=declared.supp target/release/endseal-constant-time`.
//!
//! `declared.supp` lists each position at which the code may depend on a marked byte, with the
//! reason.

mod cases;
mod memcheck;

use std::process::ExitCode;

/// A case with its expected verdict: Memcheck must report it if `must_be_reported` is set, and must
/// not report it otherwise.
struct Case {
    name: &'static str,
    run: fn(),
    must_be_reported: bool,
}

fn main() -> ExitCode {
    if !memcheck::is_running() {
        eprintln!("error: run it under valgrind");
        return ExitCode::from(2);
    }
    let mut failures = 0;
    for case in cases::ALL {
        let before = memcheck::errors();
        (case.run)();
        let reports = memcheck::errors() - before;
        let right = (reports > 0) == case.must_be_reported;
        failures += usize::from(!right);
        println!("{} {}: {reports} reports", if right { "ok" } else { "FAILED" }, case.name);
    }
    println!("constant time: {} cases, {failures} failures", cases::ALL.len());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
