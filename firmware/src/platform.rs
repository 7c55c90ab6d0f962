//! Everything that depends on the chip or its emulator: the entry point, output, the exit, the
//! counter of instructions and the stack. The only `unsafe` code of the firmware.

#[cfg_attr(target_arch = "arm", path = "platform/arm.rs")]
#[cfg_attr(target_arch = "riscv32", path = "platform/riscv32.rs")]
#[cfg_attr(target_arch = "xtensa", path = "platform/xtensa.rs")]
mod arch;
pub(crate) mod stack;

use core::fmt;
use core::panic::PanicInfo;

pub(crate) use arch::{CHIP, CLOCK_MHZ, ISA, MACHINE, TICK};

/// Exit codes besides 0 (all passed) and 1 (a check failed).
const EXIT_FAULT: u32 = 70;
const EXIT_PANIC: u32 = 101;

/// Standard output of the chip.
pub(crate) struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        arch::write(text.as_bytes());
        Ok(())
    }
}

/// Start of a count of instructions.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    count: u32,
    traps: u32,
}

impl Mark {
    pub(crate) fn now() -> Self {
        Self { traps: traps(), count: arch::count() }
    }

    /// Returns the instructions since this mark: whole ticks of [`TICK`] instructions, less those
    /// that traps added. The counter must not have wrapped around.
    pub(crate) fn elapsed(self) -> u64 {
        let mask = u32::MAX >> (u32::BITS - arch::COUNTER_BITS);
        let ticks = arch::count().wrapping_sub(self.count) & mask;
        let traps = traps().wrapping_sub(self.traps);
        let all = u64::from(ticks) * u64::from(TICK);
        all.saturating_sub(u64::from(traps) * u64::from(trap_cost()))
    }
}

/// Returns the length in bytes of code and constants.
pub(crate) fn image_bytes() -> usize {
    unsafe extern "C" {
        safe static __image_start: u8;
        safe static __image_end: u8;
    }
    (&raw const __image_end).addr() - (&raw const __image_start).addr()
}

#[cfg(target_arch = "xtensa")]
use arch::{trap_cost, traps};

#[cfg(not(target_arch = "xtensa"))]
fn traps() -> u32 {
    0
}

#[cfg(not(target_arch = "xtensa"))]
fn trap_cost() -> u32 {
    0
}

/// The first Rust function, called on a fresh stack.
#[unsafe(no_mangle)]
extern "C" fn enter() -> ! {
    arch::start();
    let passed = crate::run();
    arch::exit(u32::from(!passed))
}

#[unsafe(no_mangle)]
extern "C" fn fault() -> ! {
    arch::write(b"fault\n");
    arch::exit(EXIT_FAULT)
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let _ = fmt::Write::write_fmt(&mut Console, format_args!("{info}\n"));
    arch::exit(EXIT_PANIC)
}
