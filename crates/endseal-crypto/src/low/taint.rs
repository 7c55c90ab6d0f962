//! The places where a value that depends on secrets becomes public, for the run under valgrind
//! (`tests/constant-time`), which marks secrets and reports each jump and address that depends on
//! one.

/// `value`, which the caller declares public. It does nothing unless the crate is built with
/// `--cfg endseal_taint`.
#[inline(always)]
pub(crate) fn declassify<T: Copy>(value: T) -> T {
    #[cfg(all(endseal_taint, target_arch = "x86_64", target_os = "linux"))]
    let value = {
        let mut value = value;
        make_defined((&raw mut value).cast(), size_of::<T>());
        value
    };
    value
}

/// Number of the client request `VALGRIND_MAKE_MEM_DEFINED` of `valgrind/memcheck.h`.
#[cfg(all(endseal_taint, target_arch = "x86_64", target_os = "linux"))]
fn make_defined(start: *mut u8, len: usize) {
    const MAKE_MEM_DEFINED: usize = 0x4d43_0002;
    let arguments = [MAKE_MEM_DEFINED, start.expose_provenance(), len, 0, 0, 0];
    // SAFETY: the rotations add up to 128 bits and the exchange is of a register with itself: on a
    // CPU this does nothing. Valgrind reads `arguments` and changes what it knows about memory, not
    // memory.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            inout("rdx") 0_usize => _,
            in("rax") &raw const arguments,
            // The rotations give it back as it was.
            in("rdi") 0_usize,
        );
    }
}
