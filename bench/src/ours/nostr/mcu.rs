//! Instructions and stack on a microcontroller, as `cargo xtask firmware` counts them.
//!
//! A run needs QEMU and, for one of the chips, an unreleased compiler. Its figures are the same on
//! every machine, so they are committed: `.ci/run` compares them with a new run.

use crate::subject::{Checked, Extra, Failure, Prepared};

/// Committed measurements. Columns: isa, operation, bytes, instructions, stack, image.
const COUNTED: &str = include_str!("../../../../docs/bench/firmware.tsv");

/// Number in the parameter `isa` and name of each instruction set, with the clock of a chip in MHz
/// as in `firmware/src/platform`: ESP32-C3, nRF52840, ESP32-S3.
const CHIPS: [(usize, &str, u64); 3] =
    [(1, "rv32imc", 160), (2, "cortex-m4", 64), (3, "xtensa-lx7", 240)];

/// NIP-44 under a cached key on one chip, for one size, with the figures that follow from its
/// instruction counts.
pub(super) struct Chip {
    bytes: u64,
    clock_mhz: u64,
    encrypt: Counts,
    decrypt: Counts,
    /// Derivation of the conversation key.
    derive: Counts,
    aes: Counts,
}

/// Counts of one operation.
#[derive(Clone, Copy)]
struct Counts {
    instructions: u64,
    stack: u64,
    image: u64,
}

impl Chip {
    pub(super) fn new(isa: usize, bytes: usize) -> Result<Self, Failure> {
        let found = CHIPS.iter().find(|(number, _, _)| *number == isa);
        let (_, isa, clock_mhz) = *found.ok_or("there is no such instruction set")?;
        let counts = |op, bytes| counts(isa, op, bytes).ok_or("it was not counted");
        Ok(Self {
            bytes: bytes as u64,
            clock_mhz,
            encrypt: counts("nip44_encrypt", bytes)?,
            decrypt: counts("nip44_decrypt", bytes)?,
            derive: counts("conversation_key", 32)?,
            aes: counts("aes_encrypt", bytes)?,
        })
    }

    /// Returns the rate in bytes a second at the chip's clock, with one cycle for each instruction.
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn rate(&self, metric: &'static str, instructions: u64) -> Extra {
        let rate = (self.bytes * self.clock_mhz * 1_000_000) as f64 / instructions as f64;
        Extra::more(metric, "B/s", vec![rate])
    }
}

fn counts(isa: &str, op: &str, bytes: usize) -> Option<Counts> {
    let bytes = bytes.to_string();
    let row = COUNTED
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .find(|row| row.get(..3) == Some(&[isa, op, &bytes]))?;
    let number = |i: usize| row.get(i)?.parse().ok();
    Some(Counts { instructions: number(3)?, stack: number(4)?, image: number(5)? })
}

impl Prepared for Chip {
    /// The firmware prints a row only after its round trip has succeeded.
    fn check(&mut self) -> Result<Checked, Failure> {
        Ok(Checked::round_trip(true))
    }

    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        let count = |metric, unit, value: u64| Extra::less(metric, unit, vec![value as f64]);
        Ok(vec![
            count("instructions", "1", self.encrypt.instructions),
            count("decrypt_instructions", "1", self.decrypt.instructions),
            count("stack", "B", self.encrypt.stack.max(self.decrypt.stack)),
            count("image", "B", self.encrypt.image),
            self.rate("derived_rate", self.derive.instructions + self.encrypt.instructions),
            self.rate("aes_rate", self.aes.instructions),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn rates_are_those_of_the_chip() {
        let mut chip = Chip::new(3, 1024).unwrap();
        let extra = chip.extra().unwrap();
        let rate = extra.iter().find(|it| it.metric == "derived_rate").unwrap().samples[0];
        let instructions = chip.derive.instructions + chip.encrypt.instructions;
        assert!((rate - 1024.0 * 240e6 / instructions as f64).abs() < 1.0, "{rate}");
        // An x86 CPU reaches some hundred times this rate.
        assert!(rate < 1e6, "{rate}");
    }
}
