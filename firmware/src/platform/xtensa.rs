//! Code for Xtensa LX7 on QEMU's `sim` with the core dc233c, which is not an LX7: it lacks MULUH.
//! An exception handler emulates that instruction, and its cost is subtracted.

use core::arch::{asm, global_asm};

pub(crate) const ISA: &str = "xtensa-lx7";
pub(crate) const MACHINE: &str =
    "code for Xtensa LX7, QEMU sim -cpu dc233c: not the chip; MULUH is emulated and subtracted";
pub(crate) const CHIP: &str = "ESP32-S3";
pub(crate) const CLOCK_MHZ: u32 = 240;
/// The core runs at 10 MHz, and under `-icount shift=0` an instruction takes a nanosecond.
pub(crate) const TICK: u32 = 100;
pub(super) const COUNTER_BITS: u32 = 32;

/// Numbers of calls of QEMU's simulator.
const SIMCALL_EXIT: u32 = 1;
const SIMCALL_WRITE: u32 = 4;
const STANDARD_OUTPUT: u32 = 1;

/// Registers as the handler in `xtensa.s` stores them, and the number of its runs.
#[unsafe(no_mangle)]
static mut MULUH_STATE: [u32; 17] = [0; 17];
/// Number of instructions of the handler, less the one that it emulates.
static mut TRAP: u32 = 0;

global_asm!(include_str!("xtensa.s"));

/// Measures the cost of a trap: the difference between products by MULUH and as many by MULL, which
/// the core has.
pub(super) fn start() {
    const PRODUCTS: u32 = 1000;
    macro_rules! ticks {
        ($instruction:literal) => {{
            let start = count();
            let product: u32;
            // SAFETY: a loop over registers; the handler changes nothing but the result.
            unsafe {
                asm!(
                    "2:",
                    concat!($instruction, " {product}, {a}, {b}"),
                    "addi {n}, {n}, -1",
                    "bnez {n}, 2b",
                    product = out(reg) product,
                    a = in(reg) 0xDEAD_BEEF_u32,
                    b = in(reg) 0x9E37_79B9_u32,
                    n = inout(reg) PRODUCTS => _,
                )
            };
            (count().wrapping_sub(start), product)
        }};
    }
    let (trapped, high) = ticks!("muluh");
    let (direct, low) = ticks!("mull");
    assert_eq!(u64::from(high) << 32 | u64::from(low), 0xDEAD_BEEF * 0x9E37_79B9_u64);
    let instructions = (trapped - direct) * TICK;
    // SAFETY: there is one thread, and no reference to it.
    unsafe { TRAP = (instructions + PRODUCTS / 2) / PRODUCTS };
}

pub(super) fn write(bytes: &[u8]) {
    // SAFETY: the simulator reads `bytes` and changes two registers.
    unsafe {
        asm!(
            ".byte 0x00, 0x51, 0x00",
            inout("a2") SIMCALL_WRITE => _,
            inout("a3") STANDARD_OUTPUT => _,
            in("a4") bytes.as_ptr(),
            in("a5") bytes.len(),
        )
    }
}

pub(super) fn exit(code: u32) -> ! {
    loop {
        // SAFETY: the simulator ends.
        unsafe { asm!(".byte 0x00, 0x51, 0x00", in("a2") SIMCALL_EXIT, in("a3") code) };
    }
}

pub(super) fn count() -> u32 {
    let count;
    // SAFETY: reads a counter.
    unsafe { asm!("rsr {}, ccount", out(reg) count) };
    count
}

/// Returns the number of products that the handler computed.
pub(super) fn traps() -> u32 {
    // SAFETY: the handler changes it between two instructions, so it is read as a device is.
    unsafe { (&raw const MULUH_STATE[16]).read_volatile() }
}

/// Returns the number of instructions that each of these products adds.
pub(super) fn trap_cost() -> u32 {
    // SAFETY: there is one thread, and no reference to it.
    unsafe { TRAP }
}

#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let pointer;
    // SAFETY: copies a register.
    unsafe { asm!("mov {}, a1", out(reg) pointer, options(nomem, nostack)) };
    pointer
}
