//! Products modulo p of secp256k1 in Xtensa's instructions (windowed ABI), which take three
//! quarters of the compiler's.

use core::arch::global_asm;
use core::mem::MaybeUninit;

global_asm!(include_str!("xtensa/field26.s"));

unsafe extern "C" {
    fn endseal_field26_multiply(product: *mut [u32; 10], a: *const [u32; 10], b: *const [u32; 10]);
    fn endseal_field26_square(square: *mut [u32; 10], a: *const [u32; 10]);
}

/// Returns `a` · `b` modulo p in limbs of 26 bits, within the bounds of the portable function.
#[inline(always)]
pub(crate) fn multiply(a: &[u32; 10], b: &[u32; 10]) -> [u32; 10] {
    let mut product = MaybeUninit::uninit();
    // SAFETY: the function reads both factors and writes the product, all of ten words.
    unsafe { endseal_field26_multiply(product.as_mut_ptr(), a, b) };
    // SAFETY: the function has written all words.
    unsafe { product.assume_init() }
}

/// Sets `square` to `a`² modulo p.
#[inline(always)]
pub(crate) fn square_to(square: &mut [u32; 10], a: &[u32; 10]) {
    // SAFETY: the function reads the factor and writes the square, both of ten words.
    unsafe { endseal_field26_square(square, a) };
}

/// Returns `a`² modulo p.
#[inline(always)]
pub(crate) fn square(a: &[u32; 10]) -> [u32; 10] {
    let mut square = MaybeUninit::uninit();
    // SAFETY: the function reads the factor and writes the square, both of ten words.
    unsafe { endseal_field26_square(square.as_mut_ptr(), a) };
    // SAFETY: the function has written all words.
    unsafe { square.assume_init() }
}
