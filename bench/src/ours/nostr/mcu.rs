//! Instructions and stack on a microcontroller, as `cargo xtask firmware` counts them.
//!
//! A run takes QEMU and, for one of the chips, a compiler that is not released. Its figures are the
//! same on every machine, so they are committed: `.ci/run` compares them with a new run.

use super::count;
use crate::clock::Elapsed;
use crate::subject::{Checked, Extra, Prepared, SubjectError};
use crate::suite::nostr::ISAS;

/// Columns: isa, operation, bytes, instructions, stack, image.
const COUNTED: &str = include_str!("../../../../docs/bench/firmware.tsv");

/// NIP-44 under a kept key on one chip, for one size.
pub(super) struct Chip {
    encrypt: Counts,
    decrypt: Counts,
}

/// Counts of one operation.
#[derive(Clone, Copy)]
struct Counts {
    instructions: u64,
    stack: u64,
    image: u64,
}

impl Chip {
    pub(super) fn new(isa: usize, bytes: usize) -> Result<Self, SubjectError> {
        let found = ISAS.iter().find(|(number, _)| *number == isa as u64);
        let (_, isa) = found.ok_or_else(|| unsupported("there is no such instruction set"))?;
        let counts = |op| counts(isa, op, bytes).ok_or_else(|| unsupported("it was not counted"));
        Ok(Self { encrypt: counts("nip44_encrypt")?, decrypt: counts("nip44_decrypt")? })
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

fn unsupported(why: &str) -> SubjectError {
    SubjectError::Unsupported(why.into())
}

impl Prepared for Chip {
    /// The firmware writes a row only after its round trip.
    fn check(&mut self) -> Result<Checked, SubjectError> {
        Ok(Checked { round_trip: true, ..Checked::default() })
    }

    fn run(&mut self, _: u32) -> Result<Elapsed, SubjectError> {
        Err(unsupported("instructions are no time"))
    }

    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        Ok(vec![
            count("instructions", "1", self.encrypt.instructions),
            count("decrypt_instructions", "1", self.decrypt.instructions),
            count("stack", "B", self.encrypt.stack.max(self.decrypt.stack)),
            count("image", "B", self.encrypt.image),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Extent;
    use crate::suite::nostr::{MCU, SUITE};

    #[test]
    fn every_case_was_counted() {
        for case in SUITE.cases(Extent::Full).iter().filter(|case| case.case == MCU) {
            let param = |name| usize::try_from(case.params[name]).unwrap();
            let chip = Chip::new(param("isa"), param("bytes")).unwrap();
            assert!(chip.encrypt.instructions > 1000 && chip.encrypt.image > 10_000);
        }
    }
}
