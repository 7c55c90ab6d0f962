//! Removes what the compiler left behind.

use core::arch::asm;
use core::hint::black_box;

/// More than the frames of the ladder and what it calls.
const STACK: usize = 48 * 1024;

/// Clears the vector and mask registers and the stack below the caller's frame, where the functions
/// that it called before had theirs.
#[inline(never)]
#[target_feature(enable = "avx512f")]
pub(super) fn registers_and_stack() {
    // One fill; the black box keeps it.
    black_box(&mut [0_u8; STACK]);
    // SAFETY: writes only the registers that are declared as clobbered.
    unsafe {
        asm!(
            "vzeroall",
            ".irp i, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
            "vpxord zmm\\i, zmm\\i, zmm\\i",
            ".endr",
            out("zmm0") _,
            out("zmm1") _,
            out("zmm2") _,
            out("zmm3") _,
            out("zmm4") _,
            out("zmm5") _,
            out("zmm6") _,
            out("zmm7") _,
            out("zmm8") _,
            out("zmm9") _,
            out("zmm10") _,
            out("zmm11") _,
            out("zmm12") _,
            out("zmm13") _,
            out("zmm14") _,
            out("zmm15") _,
            out("zmm16") _,
            out("zmm17") _,
            out("zmm18") _,
            out("zmm19") _,
            out("zmm20") _,
            out("zmm21") _,
            out("zmm22") _,
            out("zmm23") _,
            out("zmm24") _,
            out("zmm25") _,
            out("zmm26") _,
            out("zmm27") _,
            out("zmm28") _,
            out("zmm29") _,
            out("zmm30") _,
            out("zmm31") _,
            options(nomem, nostack, preserves_flags),
        );
    }
}
