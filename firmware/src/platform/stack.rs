//! Measures the stack in use by painting: the deepest word that has changed was used.

use core::ptr;

use super::arch::stack_pointer;

const PAINT: u32 = 0xA5C3_5A3C;
/// Bytes below the caller that are painted, which is more than any operation uses.
const REGION: usize = 48 << 10;
/// Bytes below the painter's stack pointer that are left alone. With register windows the first
/// four registers of its caller are stored there.
const MARGIN: usize = 64;

/// Runs `run` and returns the bytes of stack that it used.
#[inline(never)]
pub(crate) fn depth(run: &mut dyn FnMut()) -> usize {
    let top = stack_pointer();
    let bottom = (top - REGION) & !3;
    paint(bottom);
    run();
    top - deepest(bottom, top)
}

/// Paints from `bottom` up to its own frame.
#[inline(never)]
fn paint(bottom: usize) {
    let end = stack_pointer() - MARGIN;
    for address in (bottom..end).step_by(size_of::<u32>()) {
        // SAFETY: `link/*.ld` leave a MiB between the program and the stack's top; this is stack
        // below every frame in use.
        unsafe { ptr::with_exposed_provenance_mut::<u32>(address).write_volatile(PAINT) };
    }
}

/// Returns the address of the first word that is not paint.
fn deepest(bottom: usize, top: usize) -> usize {
    let is_paint = |address: &usize| {
        // SAFETY: the stack's memory, as in `paint`.
        unsafe { ptr::with_exposed_provenance::<u32>(*address).read_volatile() == PAINT }
    };
    (bottom..top).step_by(size_of::<u32>()).find(|address| !is_paint(address)).unwrap_or(top)
}
