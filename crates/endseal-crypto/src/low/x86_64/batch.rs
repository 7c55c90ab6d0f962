//! The batch operations: groups of eight through the ladder, runs of groups through one inversion.

use super::field::Reduced;
use super::inversion::{Fractions, RUN};
use super::ladder::{Masks, ladder};
use super::lanes::Lanes;
use super::wipe;
use crate::low::cpu::{HaveIfma, Radix};
use crate::low::x25519_portable::clamp;

/// Computes out_i = X25519(scalar, us_i) for each i, eight keys in each vector.
pub(in crate::low) fn montgomery_batch(
    token: HaveIfma,
    scalar: &[u8; 32],
    us: &[[u8; 32]],
    out: &mut [[u8; 32]],
) {
    // SAFETY: the token proves that the CPU has AVX-512 F, DQ and IFMA.
    unsafe { agree::<false>(token.radix(), scalar, us, out) }
}

/// out_i = X25519(scalar, u_i), where u_i is the Montgomery form of the Edwards y-coordinate.
pub(in crate::low) fn edwards_batch(
    token: HaveIfma,
    scalar: &[u8; 32],
    ys: &[[u8; 32]],
    out: &mut [[u8; 32]],
) {
    // SAFETY: the token proves that the CPU has AVX-512 F, DQ and IFMA.
    unsafe { agree::<true>(token.radix(), scalar, ys, out) }
}

/// out_i = (1 + y_i) / (1 - y_i), 0 for y_i = 1.
pub(in crate::low) fn edwards_to_montgomery_batch(
    token: HaveIfma,
    ys: &[[u8; 32]],
    out: &mut [[u8; 32]],
) {
    // SAFETY: the token proves that the CPU has AVX-512 F, DQ and IFMA.
    unsafe { convert(token.radix(), ys, out) }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn agree<const EDWARDS: bool>(
    radix: Radix,
    scalar: &[u8; 32],
    keys: &[[u8; 32]],
    out: &mut [[u8; 32]],
) {
    match radix {
        Radix::Bits51 => agree_in::<51, EDWARDS>(scalar, keys, out),
        Radix::Bits52 => agree_in::<52, EDWARDS>(scalar, keys, out),
    }
    wipe::registers_and_stack();
}

/// The same without the wiping, to measure the stack that must be wiped.
#[cfg(all(test, feature = "std", target_os = "linux"))]
pub(super) fn agree_unwiped<const BITS: u32, const EDWARDS: bool>(
    _: HaveIfma,
    scalar: &[u8; 32],
    keys: &[[u8; 32]],
    out: &mut [[u8; 32]],
) {
    // SAFETY: the token proves that the CPU has AVX-512 F, DQ and IFMA.
    unsafe { agree_in::<BITS, EDWARDS>(scalar, keys, out) }
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn agree_in<const BITS: u32, const EDWARDS: bool>(
    scalar: &[u8; 32],
    keys: &[[u8; 32]],
    out: &mut [[u8; 32]],
) {
    let masks = Masks::new(&clamp(scalar));
    let mut fractions = Fractions::<BITS>::new();
    for (keys, out) in keys.chunks(8 * RUN).zip(out.chunks_mut(8 * RUN)) {
        if EDWARDS {
            divide_into(&mut fractions, keys, out);
        } else {
            out.copy_from_slice(keys);
        }
        for group in out.chunks(8) {
            let (x, z) = ladder(&masks, Lanes::<BITS>::from_bytes(group).columns());
            fractions.push(x, z);
        }
        fractions.divide(|i, x| Lanes::<BITS>::of(x.0).to_bytes(&mut out[8 * i..]));
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn convert(radix: Radix, ys: &[[u8; 32]], out: &mut [[u8; 32]]) {
    match radix {
        Radix::Bits51 => convert_in::<51>(ys, out),
        Radix::Bits52 => convert_in::<52>(ys, out),
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn convert_in<const BITS: u32>(ys: &[[u8; 32]], out: &mut [[u8; 32]]) {
    let mut fractions = Fractions::<BITS>::new();
    for (ys, out) in ys.chunks(8 * RUN).zip(out.chunks_mut(8 * RUN)) {
        divide_into(&mut fractions, ys, out);
    }
}

/// u = (1 + y) / (1 - y).
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn divide_into<const BITS: u32>(
    fractions: &mut Fractions<BITS>,
    ys: &[[u8; 32]],
    out: &mut [[u8; 32]],
) {
    let one = Reduced::small(1).columns();
    for group in ys.chunks(8) {
        let y = Lanes::<BITS>::from_bytes(group).columns();
        fractions.push(one.plus(y), one.biased().minus(y));
    }
    fractions.divide(|i, x| Lanes::<BITS>::of(x.0).to_bytes(&mut out[8 * i..]));
}
