//! Groups with members of endseal-session and of OpenMLS: each library in each position of a group
//! of four, and conversations of endseal-session that an OpenMLS member follows.
//!
//!     cargo run --release

mod conversations;
mod member;
mod ours;
mod scenarios;
mod theirs;

use std::process::ExitCode;

use member::{Member, Reason};

/// Id of the group that all scenarios use.
const GROUP: &[u8] = b"interoperability";
const MEMBERS: u8 = 4;

/// One scenario with its name.
type Scenario = (&'static str, fn(&mut [Box<dyn Member>]) -> Result<(), Reason>);

const SCENARIOS: &[Scenario] = &[
    ("grow", scenarios::grow),
    ("update", scenarios::update),
    ("reorder", scenarios::reorder),
    ("damage", scenarios::damage),
    ("remove", scenarios::remove),
    ("propose", scenarios::propose),
];

fn main() -> ExitCode {
    let mut failures = 0;
    for places in 0..1_u8 << MEMBERS {
        let name: String =
            (0..MEMBERS).map(|i| if is_ours(places, i) { 'e' } else { 'o' }).collect();
        match run(places) {
            Ok(()) => println!("{name}: {} scenarios", SCENARIOS.len()),
            Err(reason) => {
                failures += 1;
                eprintln!("{name}: {reason}");
            }
        }
    }
    match conversations::run() {
        Ok(epochs) => println!("conversations: the same secrets in {epochs} epochs"),
        Err(reason) => {
            failures += 1;
            eprintln!("conversations: {reason}");
        }
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn is_ours(places: u8, index: u8) -> bool {
    places >> index & 1 == 0
}

fn run(places: u8) -> Result<(), Reason> {
    let mut members: Vec<Box<dyn Member>> = Vec::new();
    for index in 0..MEMBERS {
        members.push(if is_ours(places, index) {
            Box::new(ours::Ours::new(index + 1)?)
        } else {
            Box::new(theirs::Theirs::new(index + 1)?)
        });
    }
    for (name, scenario) in SCENARIOS {
        scenario(&mut members).map_err(|reason| format!("{name}: {reason}"))?;
    }
    Ok(())
}
