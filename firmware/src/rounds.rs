//! Many rounds in the same memory: the published fragmentation test, in a program without a heap.

use crate::meter::Cost;
use crate::operation::aes_round;
use crate::platform::{Mark, stack};
use crate::workbench::Workbench;

/// Encrypts and decrypts `bytes` bytes with AES `rounds` times. The test passes if every round
/// returns its message and the last one uses no more stack than the first.
pub(crate) fn measure(bench: &mut Workbench, bytes: usize, rounds: u32) -> Cost {
    bench.bytes = bytes;
    let mut cost = Cost { instructions: 0, stack: 0, passed: true };
    let mut first = 0;
    for round in 0..rounds {
        if round == 0 || round == rounds - 1 {
            cost.stack = stack::depth(&mut || cost.passed &= aes_round(bench));
            first = if round == 0 { cost.stack } else { first };
        }
        let start = Mark::now();
        let is_same = aes_round(bench);
        cost.instructions += start.elapsed();
        cost.passed &= is_same;
    }
    cost.passed &= cost.stack == first;
    cost
}
