//! Goals of the firmware: figures that the project wants to reach. A missed goal is printed but
//! fails nothing; only budgets and changes can fail.

use super::measurement::Measurement;

/// Bound of one operation on one instruction set.
struct Goal {
    isa: &'static str,
    bytes: u64,
    bound: Bound,
}

/// Figure of a goal, with its bound.
enum Bound {
    /// Largest number of instructions of a NIP-44 encryption under a cached key.
    Instructions(u64),
    /// Least number of bytes a second of NIP-44 with a key that is derived each time from the bytes
    /// of the peer's, at this clock in MHz and one cycle for each instruction. The line has the
    /// figure under a cached key, too.
    Rate { clock_mhz: u64, least: u64 },
}

/// The goals, which are the same as in the benchmark's `report/goals.rs`.
const GOALS: &[Goal] = &[
    Goal { isa: "rv32imc", bytes: 16, bound: Bound::Instructions(62_000) },
    Goal { isa: "rv32imc", bytes: 1024, bound: Bound::Instructions(190_000) },
    Goal { isa: "cortex-m4", bytes: 16, bound: Bound::Instructions(40_000) },
    Goal { isa: "cortex-m4", bytes: 1024, bound: Bound::Instructions(130_000) },
    Goal { isa: "xtensa-lx7", bytes: 16, bound: Bound::Instructions(70_000) },
    Goal { isa: "xtensa-lx7", bytes: 1024, bound: Bound::Instructions(220_000) },
    Goal { isa: "xtensa-lx7", bytes: 16, bound: Bound::Rate { clock_mhz: 240, least: 3_000 } },
    Goal { isa: "xtensa-lx7", bytes: 32, bound: Bound::Rate { clock_mhz: 240, least: 3_000 } },
    Goal { isa: "xtensa-lx7", bytes: 1024, bound: Bound::Rate { clock_mhz: 240, least: 50_000 } },
];

/// Returns one line for each goal of an instruction set that was measured.
pub(super) fn judged(isa: &str, found: &[Measurement]) -> Vec<String> {
    let instructions = |op: &str, bytes: u64| {
        found.iter().find(|it| it.op == op && it.bytes == bytes).map(|it| it.instructions)
    };
    let of_isa = GOALS.iter().filter(|goal| goal.isa == isa);
    let line = |goal: &Goal| {
        let encrypt = instructions("nip44_encrypt", goal.bytes)?;
        Some(match goal.bound {
            Bound::Instructions(most) => format!(
                "goal: nip44_encrypt of {} bytes: {encrypt} instructions, at most {most}: {}",
                goal.bytes,
                verdict(encrypt, most)
            ),
            Bound::Rate { clock_mhz, least } => {
                let all = encrypt + instructions("conversation_key", 32)?;
                let rate = |all: u64| goal.bytes * clock_mhz * 1_000_000 / all.max(1);
                format!(
                    "goal: nip44_encrypt of {} bytes, its key derived: {} bytes a second at \
                     {clock_mhz} MHz ({} with a cached key), at least {least}: {}",
                    goal.bytes,
                    rate(all),
                    rate(encrypt),
                    verdict(least, rate(all))
                )
            }
        })
    };
    of_isa.filter_map(line).collect()
}

/// Formats the verdict: `smaller` should be at most `larger`.
fn verdict(smaller: u64, larger: u64) -> String {
    if smaller <= larger {
        return "reached".to_owned();
    }
    let percent = (smaller - larger) * 100 / larger.max(1);
    format!("missed by {percent} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(op: &str, bytes: u64, instructions: u64) -> Measurement {
        Measurement {
            isa: String::new(),
            op: op.to_owned(),
            bytes,
            instructions,
            stack: 0,
            image: 0,
        }
    }

    #[test]
    fn a_miss_is_a_line() {
        let found =
            [measured("nip44_encrypt", 16, 64_531), measured("nip44_encrypt", 1024, 177_000)];
        let lines = judged("rv32imc", &found);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].ends_with("at most 62000: missed by 4 %"), "{}", lines[0]);
        assert!(lines[1].ends_with("reached"), "{}", lines[1]);
    }

    #[test]
    fn rates_are_of_derivation_and_encryption() {
        let found =
            [measured("conversation_key", 32, 4_359_703), measured("nip44_encrypt", 1024, 185_427)];
        let lines = judged("xtensa-lx7", &found);
        assert!(
            lines.iter().any(|it| it.contains("54071 bytes a second") && it.ends_with("reached"))
        );
    }
}
