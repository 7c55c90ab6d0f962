//! Removes what the compiler left behind.

use core::arch::asm;
use core::arch::x86_64::_mm256_zeroall;
use core::hint::black_box;

/// More than the frames of the ladder and what it calls; a test paints the stack and measures.
const STACK: usize = 64 * 1024;

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
            // Writes all 64 bits, the upper ones with zeros.
            ".irp i, 0,1,2,3,4,5,6,7",
            "kxorw k\\i, k\\i, k\\i",
            ".endr",
            out("k0") _,
            out("k1") _,
            out("k2") _,
            out("k3") _,
            out("k4") _,
            out("k5") _,
            out("k6") _,
            out("k7") _,
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

/// Clears the registers ymm0 to ymm15 and the stack below the caller's frame: all that a kernel
/// without AVX-512 uses.
#[inline(never)]
#[target_feature(enable = "avx")]
pub(in crate::low) fn avx_registers_and_stack() {
    black_box(&mut [0_u8; STACK]);
    _mm256_zeroall();
}

#[cfg(all(test, feature = "std", target_os = "linux"))]
#[allow(clippy::expect_used, reason = "these are tests")]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;
    use core::arch::asm;
    use core::hint::black_box;
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    use super::{STACK, avx_registers_and_stack, registers_and_stack};
    use crate::low::cpu::{HaveFma, HaveIfma};
    use crate::low::x86_64::batch;
    use crate::low::x86_64_fma;

    /// More than all that the tests call.
    const PAINTED: usize = 4 * STACK;

    #[inline(never)]
    fn paint() {
        black_box(&mut [0xa5_u8; PAINTED]);
    }

    /// The memory below a frame, read by the system: no reference to it can be had. Last byte
    /// first.
    fn below(frame: usize) -> Vec<u8> {
        let mut memory = vec![0; PAINTED];
        let own = File::open("/proc/self/mem").expect("a process reads its memory");
        own.read_exact_at(&mut memory, (frame - PAINTED) as u64).expect("it is the stack");
        memory.reverse();
        memory
    }

    /// Bytes below a frame that `work` wrote to, at the farthest.
    #[inline(never)]
    fn depth(work: impl FnOnce()) -> usize {
        let here = black_box(0_u8);
        paint();
        work();
        // Below the paint lies the last byte of `paint`'s own frame: all that is not paint counts
        // up to there.
        let memory = below((&raw const here).addr());
        memory[..PAINTED - 4_096].iter().rposition(|byte| *byte != 0xa5).unwrap_or(0)
    }

    #[test]
    fn the_kernels_need_less_stack_than_is_cleared() {
        let Some(token) = HaveIfma::detect() else { return };
        needs_less::<51, false>(token);
        needs_less::<51, true>(token);
        needs_less::<52, false>(token);
        needs_less::<52, true>(token);
    }

    #[test]
    fn the_kernel_for_fma_needs_less_stack_than_is_cleared() {
        let Some(token) = HaveFma::detect() else { return };
        let keys = vec![[9; 32]; 200];
        let mut out = vec![[0; 32]; keys.len()];
        let needed =
            depth(|| x86_64_fma::montgomery_batch_unwiped(token, &[7; 32], &keys, &mut out));
        assert!(needed > 4 * 1024, "the measurement sees the run: {needed}");
        assert!(needed + 1_024 < STACK, "it needs {needed} bytes");
    }

    fn needs_less<const BITS: u32, const EDWARDS: bool>(token: HaveIfma) {
        let keys = vec![[9; 32]; 600];
        let mut out = vec![[0; 32]; keys.len()];
        let needed =
            depth(|| batch::agree_unwiped::<BITS, EDWARDS>(token, &[7; 32], &keys, &mut out));
        assert!(needed > 16 * 1024, "the measurement sees the run: {needed}");
        assert!(needed + 1_024 < STACK, "radix 2^{BITS} needs {needed} bytes");
    }

    #[test]
    fn the_stack_below_the_caller_is_cleared() {
        #[inline(never)]
        fn painted_and_cleared(clear: unsafe fn()) -> Vec<u8> {
            let here = black_box(0_u8);
            paint();
            // SAFETY: the caller found that the CPU has what it needs.
            unsafe { clear() }
            below((&raw const here).addr())
        }
        let check = |clear| {
            let memory = painted_and_cleared(clear);
            // The look itself writes to the nearest bytes.
            assert!(memory[8_192..STACK].iter().all(|byte| *byte == 0));
            assert!(
                memory[STACK + 1_024..2 * STACK].iter().all(|byte| *byte == 0xa5),
                "the rest is paint"
            );
        };
        if HaveIfma::detect().is_some() {
            check(registers_and_stack);
        }
        if HaveFma::detect().is_some() {
            check(avx_registers_and_stack);
        }
    }

    #[test]
    fn vector_registers_of_avx_are_cleared() {
        if HaveFma::detect().is_none() {
            return;
        }
        // SAFETY: the CPU has AVX2.
        assert_eq!(unsafe { avx_registers_after(avx_registers_and_stack) }, [0; 4]);
        // SAFETY: as above.
        let vectors = unsafe { avx_registers_after(nothing) };
        assert_eq!(vectors, [u64::MAX; 4], "the look finds what is there");
    }

    /// The lowest and the highest word of ymm0 and ymm15, after both were filled with ones.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    fn avx_registers_after(clear: unsafe fn()) -> [u64; 4] {
        let mut vectors = [0_u64; 8];
        // SAFETY: the function is called with the stack aligned and with all registers declared
        // that calls clobber; the array has as many bytes as are written.
        unsafe {
            asm!(
                "vpcmpeqd ymm0, ymm0, ymm0",
                "vpcmpeqd ymm15, ymm15, ymm15",
                "call {clear}",
                "vmovdqu [r12], ymm0",
                "vmovdqu [r12 + 32], ymm15",
                clear = in(reg) clear,
                in("r12") vectors.as_mut_ptr(),
                clobber_abi("C"),
            );
        }
        [vectors[0], vectors[3], vectors[4], vectors[7]]
    }

    #[test]
    fn vector_and_mask_registers_are_cleared() {
        if HaveIfma::detect().is_none() {
            return;
        }
        // SAFETY: the CPU has AVX-512 F.
        let (masks, vectors) = unsafe { registers_after(true) };
        assert_eq!((masks, vectors), ([0; 7], [0; 3]));
        // SAFETY: as above.
        let (masks, vectors) = unsafe { registers_after(false) };
        assert_eq!((masks, vectors), ([0xffff; 7], [u64::MAX; 3]), "the look finds what is there");
    }

    /// k1 to k7, and a word of zmm0, zmm15 and zmm31, after all were filled with ones.
    #[inline(never)]
    #[target_feature(enable = "avx512f")]
    fn registers_after(cleared: bool) -> ([u32; 7], [u64; 3]) {
        let (mut masks, mut vectors) = ([0_u32; 7], [0_u64; 3]);
        let clear: unsafe fn() = if cleared { registers_and_stack } else { nothing };
        // SAFETY: the function is called with the stack aligned and with all registers declared
        // that calls clobber; the two arrays have as many bytes as are written.
        unsafe {
            asm!(
                ".irp i, 1,2,3,4,5,6,7",
                "kxnorw k\\i, k\\i, k\\i",
                ".endr",
                ".irp i, 0,15,31",
                "vpternlogd zmm\\i, zmm\\i, zmm\\i, 0xff",
                ".endr",
                "call {clear}",
                ".irp i, 1,2,3,4,5,6,7",
                "kmovw eax, k\\i",
                "mov [r12 + 4 * \\i - 4], eax",
                ".endr",
                "vmovq [r13], xmm0",
                "vmovq [r13 + 8], xmm15",
                "vpextrq rax, xmm31, 0",
                "mov [r13 + 16], rax",
                clear = in(reg) clear,
                in("r12") masks.as_mut_ptr(),
                in("r13") vectors.as_mut_ptr(),
                clobber_abi("C"),
            );
        }
        (masks, vectors)
    }

    #[inline(never)]
    fn nothing() {}
}
