//! Groups of four through the ladder, runs of groups through one inversion.

use zeroize::Zeroizing;

use super::field::{Columns, Number};
use super::float_environment::with_default;
use super::ladder::ladder;
use super::machine::{Sum, load, store};
use crate::low::cpu::HaveFma;
use crate::low::field25519::Element;
use crate::low::x86_64::{Masks, avx_registers_and_stack};
use crate::low::x25519_portable::{RUN, clamp, edwards_to_montgomery_batch, invert_all};

/// Points in one vector.
const LANES: usize = 4;

/// Computes out_i = X25519(scalar, us_i) for each i, four keys in each vector.
pub(in crate::low) fn montgomery_batch(
    token: HaveFma,
    scalar: &[u8; 32],
    us: &[[u8; 32]],
    out: &mut [[u8; 32]],
) {
    montgomery_batch_unwiped(token, scalar, us, out);
    // SAFETY: the token proves that the CPU has AVX.
    unsafe { avx_registers_and_stack() }
}

/// out_i = X25519(scalar, u_i), where u_i is the Montgomery form of the Edwards y-coordinate, which
/// portable code computes.
pub(in crate::low) fn edwards_batch(
    token: HaveFma,
    scalar: &[u8; 32],
    ys: &[[u8; 32]],
    out: &mut [[u8; 32]],
) {
    let mut us = [[0; 32]; RUN];
    for (ys, out) in ys.chunks(RUN).zip(out.chunks_mut(RUN)) {
        let us = &mut us[..ys.len()];
        edwards_to_montgomery_batch(ys, us);
        montgomery_batch(token, scalar, us, out);
    }
}

/// The same as [`montgomery_batch`] without the wiping; a test measures the stack that it needs.
pub(in crate::low) fn montgomery_batch_unwiped(
    token: HaveFma,
    scalar: &[u8; 32],
    us: &[[u8; 32]],
    out: &mut [[u8; 32]],
) {
    // SAFETY: the token proves that the CPU has AVX2 and FMA.
    with_default(|| unsafe { agree(token, scalar, us, out) });
}

#[inline(never)]
#[target_feature(enable = "avx2,fma")]
fn agree(token: HaveFma, scalar: &[u8; 32], us: &[[u8; 32]], out: &mut [[u8; 32]]) {
    let masks = Masks::new(&clamp(scalar));
    let mut numerators = Zeroizing::new([Element::ZERO; RUN]);
    let mut denominators = Zeroizing::new([Element::ONE; RUN]);
    for (us, out) in us.chunks(RUN).zip(out.chunks_mut(RUN)) {
        for (at, us) in (0..).step_by(LANES).zip(us.chunks(LANES)) {
            let (x, z) = ladder(token, &masks, number(token, us));
            numerators[at..at + LANES].copy_from_slice(&elements(token, x));
            denominators[at..at + LANES].copy_from_slice(&elements(token, z));
        }
        invert_all(&mut denominators[..us.len()]);
        for (i, out) in out.iter_mut().enumerate() {
            *out = numerators[i].mul(denominators[i]).to_bytes();
        }
    }
}

/// At most four little-endian numbers; bit 255 is ignored, missing ones are 0.
#[target_feature(enable = "avx2,fma")]
pub(super) fn number(token: HaveFma, bytes: &[[u8; 32]]) -> Number<HaveFma> {
    let mut lanes = [[0; LANES]; 5];
    for (lane, bytes) in bytes.iter().take(LANES).enumerate() {
        for (limb, lanes) in Element::from_bytes(bytes).limbs().into_iter().zip(&mut lanes) {
            lanes[lane] = limb;
        }
    }
    let [a, b, c, d, e] = lanes.map(|limb| Sum { word: load(token, &limb), offset: 0 });
    Columns([a, b, c, d, e]).carry(token)
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn elements(token: HaveFma, x: Number<HaveFma>) -> [Element; LANES] {
    let limbs = Zeroizing::new(x.positive(token).map(|limb| store(token, limb)));
    core::array::from_fn(|lane| Element::from_limbs(limbs.map(|limb| limb[lane])))
}
