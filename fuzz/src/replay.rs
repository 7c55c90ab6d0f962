//! Replays all inputs of all targets: `cargo run --bin replay`. It needs no fuzzer.
//!
//! `replay unpack TARGET FOLDER` writes the inputs of a target to files, `replay keep TARGET
//! FOLDER` keeps those that the fuzzer has minimised. `replay mutate TARGET COUNT` runs a target
//! with mutants of its inputs. Without coverage it finds less than the fuzzer.

use std::io;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;

use endseal_fuzz::{TARGETS, corpus};
use endseal_testing::SplitMix64;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        [] => replay(),
        ["unpack", target, folder] => corpus::unpack(target, Path::new(folder)).map(|_| true),
        ["keep", target, folder] => corpus::keep(target, Path::new(folder)).map(|count| {
            println!("{target}: {count} kept");
            true
        }),
        ["mutate", target, count] if count.parse::<u64>().is_ok() => {
            mutate(target, count.parse().unwrap_or_default())
        }
        _ => {
            eprintln!("usage: replay [unpack|keep TARGET FOLDER | mutate TARGET COUNT]");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn replay() -> io::Result<bool> {
    let (mut inputs, mut failures) = (0, 0);
    for (name, target) in TARGETS {
        for (i, input) in [corpus::seeds(name)?, corpus::kept(name)?].concat().iter().enumerate() {
            inputs += 1;
            if catch_unwind(|| target(input)).is_err() {
                failures += 1;
                println!("{name}: input {i} of {} bytes", input.len());
            }
        }
    }
    println!("corpus: {inputs} inputs of {} targets, {failures} failures", TARGETS.len());
    Ok(failures == 0)
}

/// Runs a target with mutants, which are the same in each run.
fn mutate(name: &str, count: u64) -> io::Result<bool> {
    let target = TARGETS.iter().find(|(own, _)| *own == name).ok_or(io::ErrorKind::NotFound)?.1;
    let seeds = [corpus::seeds(name)?, corpus::kept(name)?].concat();
    let mut random = SplitMix64::new(count);
    let mut failures = 0;
    for _ in 0..count {
        let input = match seeds.get(random.below(seeds.len() + seeds.len() / 8 + 1)) {
            Some(seed) => random.mutant(seed),
            None => (0..random.below(300)).map(|_| random.byte()).collect(),
        };
        if catch_unwind(|| target(&input)).is_err() {
            failures += 1;
            println!("{name}: {}", input.escape_ascii());
        }
    }
    println!("{name}: {count} mutants, {failures} failures");
    Ok(failures == 0)
}
