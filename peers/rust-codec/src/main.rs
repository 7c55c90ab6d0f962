//! Compares endseal-codec with prost and buffa on the same contract.
//!
//!     cargo run --release -- agree [MESSAGES] [MUTANTS]   # the same verdicts and values?
//!     cargo run --release -- time                         # what each costs, in one run

mod agree;
mod generated;
// endseal-codec's own random messages and mutants.
#[path = "../../../crates/endseal-codec/tests/it/random.rs"]
mod random;
mod sample;
mod time;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default| {
        arguments.get(index).map_or(Some(default), |argument| argument.parse::<u64>().ok())
    };
    match (arguments.first().map(String::as_str), number(1, 20_000), number(2, 40)) {
        (Some("agree"), Some(messages), Some(mutants)) => agree::run(messages, mutants),
        (Some("time"), ..) => time::run(),
        _ => {
            eprintln!("usage: endseal-peers-codec agree [MESSAGES] [MUTANTS] | time");
            ExitCode::from(2)
        }
    }
}
