//! The settings of floating-point arithmetic, in the register MXCSR.

use core::arch::asm;

/// Rounds to nearest, keeps subnormal numbers, raises no exception: what Rust assumes, and what a
/// process has unless someone changed it.
const DEFAULT: u32 = 0x1f80;

/// Runs `work` with the default settings and gives the caller's back, with its exception flags.
///
/// A caller in another language may have changed them. An inexact result, which each product of the
/// kernel has, would then stop the process or be rounded in another direction.
pub(super) fn with_default<T>(work: impl FnOnce() -> T) -> T {
    let caller = Restored(read());
    write(DEFAULT);
    let out = work();
    drop(caller);
    out
}

/// Settings that are written back when this is dropped, by a panic, too.
struct Restored(u32);

impl Drop for Restored {
    fn drop(&mut self) {
        write(self.0);
    }
}

pub(super) fn read() -> u32 {
    let mut settings = 0_u32;
    // SAFETY: writes four bytes, which this function owns. All x86-64 CPUs have the register.
    unsafe {
        asm!("stmxcsr [{}]", in(reg) &raw mut settings, options(nostack, preserves_flags));
    }
    settings
}

/// `work` of [`with_default`] is a call, over which the compiler moves no arithmetic, because this
/// may change memory.
pub(super) fn write(settings: u32) {
    // SAFETY: reads four bytes of a value that [`read`] gave, [`DEFAULT`] or a test's.
    unsafe {
        asm!("ldmxcsr [{}]", in(reg) &raw const settings, options(nostack, preserves_flags));
    }
}
