//! Many X25519 agreements with one secret, and many Ed25519 keys checked and converted: a kernel
//! where the CPU has one, elsewhere a library for agreements and the portable twin for the rest.

use alloc::vec;
use alloc::vec::Vec;

use super::{backend, ed25519_verify};
use crate::low::x25519_batch as kernel;

pub use crate::low::x25519_batch::Platform;

/// The u-coordinate of the base point (RFC 7748, section 4.1).
const BASE: [u8; 32] = {
    let mut u = [0; 32];
    u[0] = 9;
    u
};

/// Number of the points, from the first on, on which the kernel agrees faster than a library does
/// one by one: lanes cost the same however few are full.
fn for_kernel(platform: Platform, points: usize) -> usize {
    match platform {
        Platform::Portable => 0,
        Platform::Ifma(_) => match points {
            1 => 0,
            _ => points,
        },
        // Four points take as long as two or more by a library.
        Platform::Fma(_) => match points % 4 {
            3 => points,
            rest => points - rest,
        },
    }
}

/// True if the kernel has a lane to spare in which the base point costs nothing.
fn has_free_lane(platform: Platform, points: usize) -> bool {
    match platform {
        Platform::Portable => false,
        Platform::Ifma(_) => points > 1 && !points.is_multiple_of(8),
        Platform::Fma(_) => matches!(points % 4, 2 | 3),
    }
}

/// `out[i] = X25519(secret, us[i])`, 32 zero bytes for a point of low order. `prepared` is the same
/// secret.
pub(crate) fn agree(
    platform: Platform,
    secret: &[u8; 32],
    prepared: &backend::X25519Secret,
    us: &[[u8; 32]],
) -> Vec<[u8; 32]> {
    let mut out = vec![[0; 32]; us.len()];
    agree_into(platform, secret, prepared, us, &mut out);
    out
}

/// [`agree`] into `out`, which is as long as `us`.
fn agree_into(
    platform: Platform,
    secret: &[u8; 32],
    prepared: &backend::X25519Secret,
    us: &[[u8; 32]],
    out: &mut [[u8; 32]],
) {
    let for_kernel = for_kernel(platform, us.len());
    if for_kernel > 0 {
        kernel::montgomery_batch(platform, secret, &us[..for_kernel], &mut out[..for_kernel]);
    }
    for (out, u) in out.iter_mut().zip(us).skip(for_kernel) {
        *out = prepared.agree(u);
    }
}

/// [`agree`] on up to `threads` threads.
#[cfg(feature = "parallel")]
pub(crate) fn agree_on_threads(
    threads: usize,
    platform: Platform,
    secret: &[u8; 32],
    prepared: &backend::X25519Secret,
    us: &[[u8; 32]],
) -> Vec<[u8; 32]> {
    /// Points of a part: enough to be worth a thread, and whole groups of every kernel.
    const PART: usize = 32;
    let mut out = vec![[0; 32]; us.len()];
    let parts = us.chunks(PART).zip(out.chunks_mut(PART));
    let threads = threads.min(parts.len());
    crate::threads::share(threads, parts, |(us, out)| {
        agree_into(platform, secret, prepared, us, out);
    });
    out
}

/// `X25519(secret, 9)` and [`agree`]. Where lanes of the kernel are free, the base point takes one:
/// that costs nothing, where a library would multiply the base point apart.
#[allow(clippy::expect_used)]
pub(crate) fn agree_with_public(
    platform: Platform,
    secret: &[u8; 32],
    us: &[[u8; 32]],
) -> ([u8; 32], Vec<[u8; 32]>) {
    if !has_free_lane(platform, us.len()) {
        let prepared = backend::X25519Secret::new(secret);
        return (prepared.public(), agree(platform, secret, &prepared, us));
    }
    let points = [us, &[BASE]].concat();
    let mut out = vec![[0; 32]; points.len()];
    kernel::montgomery_batch(platform, secret, &points, &mut out);
    let public = out.pop().expect("the base point is the last of the points");
    (public, out)
}

/// `(1 + y) / (1 - y)` of valid Ed25519 keys.
pub(crate) fn edwards_to_montgomery(keys: &[[u8; 32]]) -> Vec<[u8; 32]> {
    let mut out = vec![[0; 32]; keys.len()];
    kernel::edwards_to_montgomery_batch(Platform::detect(), keys, &mut out);
    out
}

/// The index of the first of these valid Ed25519 keys that is not in the subgroup of prime order L.
///
/// A = P + T with P in the subgroup and T one of the eight torsion points. s = 5 L - 1 is a
/// multiple of 8 with bit 254 set, so clamping leaves it as it is and \[s\]A = -P. Its u-coordinate
/// is that of A exactly if T = 0: A = -P means T = -2 P, which is in both groups, so that P = T =
/// 0, and such a key is not valid.
pub(crate) fn first_outside_subgroup(keys: &[[u8; 32]]) -> Option<usize> {
    let us = edwards_to_montgomery(keys);
    let prepared = backend::X25519Secret::new(&FIVE_L_MINUS_ONE);
    let multiples = agree(Platform::detect(), &FIVE_L_MINUS_ONE, &prepared, &us);
    us.iter().zip(&multiples).position(|(u, multiple)| u != multiple)
}

/// 5 L - 1 with L = 2^252 + 27742317777372353535851937790883648493, little-endian.
const FIVE_L_MINUS_ONE: [u8; 32] = [
    0xa0, 0x23, 0xcd, 0xd0, 0x83, 0xef, 0x5b, 0xb8, 0x2f, 0x10, 0xd6, 0x2e, 0x59, 0xe1, 0x5a, 0x68,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x50,
];

/// The index of the first key that is not canonical, not on the curve, or of low order.
pub(crate) fn first_invalid_key(keys: &[[u8; 32]]) -> Option<usize> {
    let mut on_curve = vec![false; keys.len()];
    kernel::edwards_on_curve_batch(Platform::detect(), keys, &mut on_curve);
    keys.iter().zip(on_curve).position(|(key, on_curve)| {
        !on_curve || !ed25519_verify::is_canonical(key) || ed25519_verify::is_low_order(key)
    })
}
