//! RV32IMC on QEMU's `virt`: an UART, a device that ends QEMU, and an exact counter.

use core::arch::{asm, global_asm};
use core::ptr;

pub(crate) const ISA: &str = "rv32imc";
pub(crate) const MACHINE: &str = "RV32IMC, QEMU virt";
pub(crate) const CHIP: &str = "ESP32-C3";
pub(crate) const CLOCK_MHZ: u32 = 160;
pub(crate) const TICK: u32 = 1;
pub(super) const COUNTER_BITS: u32 = 32;

/// Transmit register of the first 16550 UART. Its FIFO never fills in QEMU.
const UART: usize = 0x1000_0000;
/// Register of the SiFive test finisher, which ends QEMU.
const FINISHER: usize = 0x10_0000;
const FINISHER_PASS: u32 = 0x5555;
const FINISHER_FAIL: u32 = 0x3333;

global_asm!(include_str!("riscv32.s"));

pub(super) fn start() {}

pub(super) fn write(bytes: &[u8]) {
    let transmit = ptr::with_exposed_provenance_mut::<u8>(UART);
    for byte in bytes {
        // SAFETY: the register of a device that this machine has.
        unsafe { transmit.write_volatile(*byte) };
    }
}

pub(super) fn exit(code: u32) -> ! {
    let value = if code == 0 { FINISHER_PASS } else { FINISHER_FAIL | code << 16 };
    let finisher = ptr::with_exposed_provenance_mut::<u32>(FINISHER);
    loop {
        // SAFETY: the register of a device that this machine has; QEMU ends.
        unsafe { finisher.write_volatile(value) };
    }
}

/// Returns the number of retired instructions, lower half.
pub(super) fn count() -> u32 {
    let count;
    // SAFETY: reads a counter.
    unsafe { asm!("csrr {}, minstret", out(reg) count) };
    count
}

#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let pointer;
    // SAFETY: copies a register.
    unsafe { asm!("mv {}, sp", out(reg) pointer, options(nomem, nostack)) };
    pointer
}
