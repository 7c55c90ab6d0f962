//! `cargo xtask firmware`: builds the Nostr core for three instruction sets, runs it in QEMU, and
//! compares instructions and stack with the budgets and with `docs/bench/firmware.tsv`.
//!
//! QEMU counts instructions (`-icount`), so that a second run differs by at most three ticks of the
//! counter. If a machine lacks a tool, a line says so.

mod goals;
mod machine;
mod measurement;

use std::fs;
use std::path::Path;

use machine::{MACHINES, Machine};
use measurement::{HEAD, Measurement};

const BASELINE: &str = "docs/bench/firmware.tsv";

/// Largest number of instructions of an operation on each instruction set, in the order of
/// [`MACHINES`]. It is a bound for regressions, which may be above the goal.
struct Budget {
    op: &'static str,
    bytes: u64,
    instructions: [u64; 3],
}

const BUDGETS: &[Budget] = &[
    Budget { op: "nip44_encrypt", bytes: 16, instructions: [65_000, 40_000, 70_000] },
    Budget { op: "nip44_encrypt", bytes: 1024, instructions: [190_000, 130_000, 220_000] },
    Budget { op: "nip44_encrypt_key", bytes: 16, instructions: [2_100_000, 1_400_000, 1_750_000] },
    Budget { op: "nip44_encrypt_key", bytes: 32, instructions: [2_100_000, 1_400_000, 1_750_000] },
];
/// Largest number of bytes of stack of an operation.
const STACK: u64 = 8 << 10;
/// Largest number of bytes of stack of a verification.
const STACK_VERIFY: u64 = 14 << 10;
/// Share by which the image's length may differ from the committed one, because it contains the
/// names of other folders.
const IMAGE_TOLERANCE: f64 = 0.02;

#[derive(Debug, Default, PartialEq)]
struct Options {
    /// Names of machines; all machines if it is empty.
    isa: Vec<String>,
    json: bool,
    write: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--json" => options.json = true,
                "--write" => options.write = true,
                "--isa" => {
                    let names = arguments.next().ok_or("--isa needs names of instruction sets")?;
                    options.isa = names.split(',').map(str::to_owned).collect();
                }
                _ => return Err(format!("firmware does not know '{argument}'")),
            }
        }
        match options.isa.iter().find(|name| !MACHINES.iter().any(|it| it.name == **name)) {
            Some(name) => {
                let names: Vec<_> = MACHINES.iter().map(|it| it.name).collect();
                Err(format!("there is no '{name}'; there are: {}", names.join(", ")))
            }
            None => Ok(options),
        }
    }

    fn wants(&self, machine: &Machine) -> bool {
        self.isa.is_empty() || self.isa.iter().any(|name| name == machine.name)
    }
}

/// Runs the requested machines that are available. Returns true if all passed.
pub(crate) fn command(root: &Path, arguments: &[String]) -> Result<bool, String> {
    run(root, &Options::parse(arguments)?)
}

fn run(root: &Path, options: &Options) -> Result<bool, String> {
    let path = root.join(BASELINE);
    let mut kept = match fs::read_to_string(&path) {
        Ok(text) => {
            measurement::parse_table(&text).map_err(|error| format!("{BASELINE}: {error}"))?
        }
        Err(_) => Vec::new(),
    };
    // With `--json`, standard output has only JSON; texts for people go to standard error.
    let say = |line: &str| if options.json { eprintln!("{line}") } else { println!("{line}") };
    let mut passed = true;
    for machine in MACHINES.iter().filter(|it| options.wants(it)) {
        if let Some(reason) = machine.missing() {
            // A machine that was requested by name must not be skipped.
            if !options.isa.is_empty() {
                return Err(format!("{}: {reason}", machine.name));
            }
            say(&format!("skipped: {}: {reason}", machine.name));
            continue;
        }
        let output = machine.build_and_run(root)?;
        say(&output.text);
        let found = measurement::parse_lines(&output.text)?;
        if options.json {
            output
                .text
                .lines()
                .filter(|line| line.starts_with('{'))
                .for_each(|it| println!("{it}"));
        }
        goals::judged(machine.isa, &found).iter().for_each(|line| say(line));
        let mut faults = over_budget(machine, &found);
        if !output.succeeded {
            faults.push("the firmware reports a failure".to_owned());
        }
        let isa = machine.isa;
        if options.write {
            kept.retain(|it| it.isa != isa);
            kept.extend(found);
        } else {
            let of_isa: Vec<_> = kept.iter().filter(|it| it.isa == isa).collect();
            faults.extend(differences(machine, &of_isa, &found));
        }
        faults.iter().for_each(|fault| say(&format!("{}: {fault}", machine.name)));
        say(&format!(
            "== {}: {}",
            machine.name,
            if faults.is_empty() { "passed" } else { "FAILED" }
        ));
        passed &= faults.is_empty();
    }
    if options.write {
        // Rows are sorted by machine, whichever machines were run.
        let order = |it: &Measurement| MACHINES.iter().position(|machine| machine.isa == it.isa);
        kept.sort_by_key(order);
        let lines: String = kept.iter().map(Measurement::to_row).collect();
        fs::write(&path, format!("{HEAD}\n{lines}"))
            .map_err(|error| format!("{BASELINE}: {error}"))?;
    }
    Ok(passed)
}

fn over_budget(machine: &Machine, found: &[Measurement]) -> Vec<String> {
    let mut faults = Vec::new();
    let place = MACHINES.iter().position(|it| it.isa == machine.isa);
    for Budget { op, bytes, instructions } in BUDGETS {
        let most = place.and_then(|place| instructions.get(place)).copied().unwrap_or(0);
        match found.iter().find(|it| it.op == *op && it.bytes == *bytes) {
            None => faults.push(format!("{op} of {bytes} bytes was not measured")),
            Some(it) if it.instructions > most => faults.push(format!(
                "{op} of {bytes} bytes: {} instructions, over the budget of {most}",
                it.instructions
            )),
            Some(_) => {}
        }
    }
    for it in found {
        let most = if it.op == "verify" { STACK_VERIFY } else { STACK };
        if it.stack > most {
            faults.push(format!(
                "{} of {} bytes: {} bytes of stack, over the budget of {most}",
                it.op, it.bytes, it.stack
            ));
        }
    }
    faults
}

/// Compares with the committed measurements: instructions within the tolerance, the stack exactly.
fn differences(machine: &Machine, kept: &[&Measurement], found: &[Measurement]) -> Vec<String> {
    let mut faults = Vec::new();
    for new in found {
        let Some(old) = kept.iter().find(|it| it.op == new.op && it.bytes == new.bytes) else {
            faults.push(format!("{} of {} bytes is not in {BASELINE}", new.op, new.bytes));
            continue;
        };
        let change = new.instructions.abs_diff(old.instructions);
        #[allow(clippy::cast_precision_loss, reason = "a few hundred thousand bytes")]
        let image = (new.image as f64 / old.image as f64 - 1.0).abs();
        if change > machine.tolerance || new.stack != old.stack || image > IMAGE_TOLERANCE {
            faults.push(format!(
                "{} of {} bytes CHANGED: instructions {} (was {}), stack {} ({}), image {} ({})",
                new.op,
                new.bytes,
                new.instructions,
                old.instructions,
                new.stack,
                old.stack,
                new.image,
                old.image
            ));
        }
    }
    for old in kept {
        if !found.iter().any(|it| it.op == old.op && it.bytes == old.bytes) {
            faults.push(format!("{} of {} bytes is no longer measured", old.op, old.bytes));
        }
    }
    if !faults.is_empty() {
        faults.push(format!("a change that is meant is committed with --write to {BASELINE}"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Options, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    fn measured(op: &str, bytes: u64, instructions: u64, stack: u64) -> Measurement {
        Measurement {
            isa: "rv32imc".to_owned(),
            op: op.to_owned(),
            bytes,
            instructions,
            stack,
            image: 100_000,
        }
    }

    #[test]
    fn options_are_understood() {
        let options = parse("--isa rv32,lx7 --json").unwrap();
        assert_eq!(options.isa, ["rv32", "lx7"]);
        assert!(options.json && !options.write);
        assert!(parse("--isa x86").is_err_and(|it| it.contains("rv32, cortex-m4, lx7")));
        assert!(parse("--isa").is_err());
        assert!(parse("rv32").is_err());
    }

    #[test]
    fn budgets_hold_instructions_and_stack() {
        let [machine, ..] = MACHINES else { panic!("no machine") };
        let within = [
            measured("nip44_encrypt", 16, 65_000, STACK),
            measured("nip44_encrypt", 1024, 190_000, STACK),
            measured("nip44_encrypt_key", 16, 2_100_000, STACK),
            measured("nip44_encrypt_key", 32, 2_100_000, STACK),
            measured("verify", 32, 4_000_000, STACK_VERIFY),
        ];
        assert_eq!(over_budget(machine, &within), [""; 0]);
        let beyond = [
            measured("nip44_encrypt", 16, 65_001, STACK + 1),
            measured("verify", 32, 4_000_000, STACK_VERIFY + 1),
        ];
        let faults = over_budget(machine, &beyond);
        assert_eq!(faults.len(), 6, "{faults:?}");
    }

    #[test]
    fn the_tolerance_is_no_change() {
        let [machine, ..] = MACHINES else { panic!("no machine") };
        let kept = measured("sign", 32, 1_000, 100);
        let of = |instructions, stack| {
            differences(machine, &[&kept], &[measured("sign", 32, instructions, stack)])
        };
        assert_eq!(of(1_000 + machine.tolerance, 100), [""; 0]);
        assert!(of(1_001 + machine.tolerance, 100)[0].contains("CHANGED"));
        assert!(of(1_000, 104)[0].contains("CHANGED"));
        assert!(differences(machine, &[&kept], &[])[0].contains("no longer"));
        assert!(differences(machine, &[], &[kept])[0].contains("is not in"));
    }
}
