//! Measures instructions and stack of an operation.

use core::hint::black_box;

use crate::operation::Operation;
use crate::platform::{Mark, TICK, stack};
use crate::workbench::Workbench;

/// Number of repetitions if a tick of the counter is many instructions, so that its error is
/// divided among them.
const REPETITIONS: u64 = 16;

/// Cost of one run of an operation.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) instructions: u64,
    pub(crate) stack: usize,
    /// True if a vector or a round trip passed after the measurement.
    pub(crate) passed: bool,
}

/// Measures `operation` on `bytes` bytes, then checks its result.
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

/// Returns the number of instructions of `times` calls.
fn count(times: u64, mut call: impl FnMut()) -> u64 {
    let start = Mark::now();
    for _ in 0..times {
        call();
    }
    start.elapsed()
}
