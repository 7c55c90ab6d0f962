//! Instructions and stack of an operation.

use core::hint::black_box;

use crate::operation::Operation;
use crate::platform::{Mark, TICK, stack};
use crate::workbench::Workbench;

/// Repetitions where the counter has ticks of many instructions, so that a tick is spread over all.
const REPETITIONS: u64 = 16;

/// The cost of one run.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) instructions: u64,
    pub(crate) stack: usize,
    /// Returns true if a vector or a round trip passed after the measurement.
    pub(crate) passed: bool,
}

/// Measures `operation` on `bytes` bytes.
pub(crate) fn measure(bench: &mut Workbench, operation: &Operation, bytes: usize) -> Cost {
    bench.bytes = bytes;
    (operation.setup)(bench);
    (operation.prepare)(bench);
    let run = black_box(operation.run);
    let stack = stack::depth(&mut || run(bench));
    let times = if TICK == 1 || operation.is_long { 1 } else { REPETITIONS };
    let prepare = black_box(operation.prepare);
    let both = count(times, || {
        prepare(bench);
        run(bench);
    });
    let preparations = count(times, || prepare(bench));
    let instructions = both.saturating_sub(preparations) / times;
    Cost { instructions, stack, passed: (operation.check)(bench) }
}

/// Returns the instructions of `times` calls.
fn count(times: u64, mut call: impl FnMut()) -> u64 {
    let start = Mark::now();
    for _ in 0..times {
        call();
    }
    start.elapsed()
}
