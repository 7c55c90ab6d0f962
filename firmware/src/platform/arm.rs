//! Cortex-M4 on QEMU's `mps2-an386`: an UART, semihosting to end QEMU, and SysTick as the counter.

use core::arch::{asm, global_asm};
use core::ptr;

pub(crate) const ISA: &str = "cortex-m4";
pub(crate) const MACHINE: &str = "Cortex-M4, QEMU mps2-an386";
pub(crate) const CHIP: &str = "nRF52840";
pub(crate) const CLOCK_MHZ: u32 = 64;
/// SysTick runs at 25 MHz, and under `-icount shift=0` an instruction takes a nanosecond.
pub(crate) const TICK: u32 = 40;
pub(super) const COUNTER_BITS: u32 = 24;

/// Registers of the first CMSDK UART.
const UART_DATA: usize = 0x4000_4000;
const UART_STATE: usize = 0x4000_4004;
const UART_CONTROL: usize = 0x4000_4008;
const UART_DIVIDER: usize = 0x4000_4010;
const SYSTICK_CONTROL: usize = 0xE000_E010;
const SYSTICK_RELOAD: usize = 0xE000_E014;
const SYSTICK_VALUE: usize = 0xE000_E018;
/// Semihosting: SYS_EXIT_EXTENDED, and its reason ADP_Stopped_ApplicationExit.
const EXIT_EXTENDED: u32 = 0x20;
const APPLICATION_EXIT: u32 = 0x2_0026;

global_asm!(include_str!("arm.s"));

pub(super) fn start() {
    set(UART_DIVIDER, 16);
    set(UART_CONTROL, 1);
    set(SYSTICK_RELOAD, (1 << COUNTER_BITS) - 1);
    set(SYSTICK_VALUE, 0);
    // Enabled, without interrupts, at the core's clock.
    set(SYSTICK_CONTROL, 0b101);
}

pub(super) fn write(bytes: &[u8]) {
    for byte in bytes {
        while get(UART_STATE) & 1 != 0 {}
        set(UART_DATA, u32::from(*byte));
    }
}

pub(super) fn exit(code: u32) -> ! {
    let block = [APPLICATION_EXIT, code];
    loop {
        // SAFETY: the debugger's call reads the block; QEMU ends.
        unsafe { asm!("bkpt 0xAB", in("r0") EXIT_EXTENDED, in("r1") block.as_ptr()) };
    }
}

/// Returns ticks since the start, modulo 2^24: SysTick counts down.
pub(super) fn count() -> u32 {
    get(SYSTICK_VALUE).wrapping_neg()
}

#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let pointer;
    // SAFETY: copies a register.
    unsafe { asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack)) };
    pointer
}

fn set(register: usize, value: u32) {
    // SAFETY: called with registers of devices that this machine has.
    unsafe { ptr::with_exposed_provenance_mut::<u32>(register).write_volatile(value) }
}

fn get(register: usize) -> u32 {
    // SAFETY: called with registers of devices that this machine has.
    unsafe { ptr::with_exposed_provenance::<u32>(register).read_volatile() }
}
