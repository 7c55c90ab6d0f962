//! Requests to valgrind's Memcheck (`valgrind/memcheck.h`), as the instruction sequences that it
//! recognises. Without valgrind they do nothing.

use core::arch::asm;

/// Base of Memcheck's request numbers, `VG_USERREQ_TOOL_BASE('M', 'C')`.
const MEMCHECK: usize = 0x4d43_0000;
const MAKE_MEM_UNDEFINED: usize = MEMCHECK + 1;
const MAKE_MEM_DEFINED: usize = MEMCHECK + 2;
const RUNNING_ON_VALGRIND: usize = 0x1001;
const COUNT_ERRORS: usize = 0x1201;
const CHANGE_ERR_DISABLEMENT: usize = 0x1801;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("the requests are those of x86-64 Linux");

fn request(code: usize, a: usize, b: usize) -> usize {
    let arguments = [code, a, b, 0, 0, 0];
    let mut result = 0;
    // SAFETY: the rotations add up to 128 bits and the exchange is of a register with itself.
    // Valgrind reads `arguments`, which outlives the call, and changes what it knows about memory,
    // not memory.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            inout("rdx") result,
            in("rax") &raw const arguments,
            // The rotations restore the register.
            in("rdi") 0_usize,
        );
    }
    result
}

pub(crate) fn is_running() -> bool {
    request(RUNNING_ON_VALGRIND, 0, 0) != 0
}

/// Returns the number of Memcheck's reports so far.
pub(crate) fn errors() -> usize {
    request(COUNT_ERRORS, 0, 0)
}

/// Marks the bytes of `secret`: from now on Memcheck follows everything that is computed from them.
pub(crate) fn mark_secret<T: ?Sized>(secret: &T) {
    request(MAKE_MEM_UNDEFINED, (&raw const *secret).cast::<u8>().addr(), size_of_val(secret));
}

/// Removes the mark from bytes that are public.
pub(crate) fn declassify<T: ?Sized>(public: &T) {
    request(MAKE_MEM_DEFINED, (&raw const *public).cast::<u8>().addr(), size_of_val(public));
}

/// Runs `step` with reports disabled. Values keep their marks.
pub(crate) fn unreported<T>(step: impl FnOnce() -> T) -> T {
    request(CHANGE_ERR_DISABLEMENT, 1, 0);
    let out = step();
    request(CHANGE_ERR_DISABLEMENT, 1_usize.wrapping_neg(), 0);
    out
}
