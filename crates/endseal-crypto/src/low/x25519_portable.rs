//! X25519 (RFC 7748) and the conversions from Ed25519, one point after another in safe Rust: the
//! twin of `x86_64`, and what converts where that one does not run.
#![forbid(unsafe_code)]

use core::hint::black_box;

use zeroize::{Zeroize, Zeroizing};

use super::field25519::Element;

/// Number of points that share one inversion.
pub(super) const RUN: usize = 64;

/// Computes out_i = X25519(scalar, us_i) for each i, one after the other.
pub(super) fn montgomery_batch(scalar: &[u8; 32], us: &[[u8; 32]], out: &mut [[u8; 32]]) {
    for (u, out) in us.iter().zip(out) {
        *out = ladder(scalar, Element::from_bytes(u));
    }
}

/// out_i = X25519(scalar, u_i), where u_i is the Montgomery form of the Edwards y-coordinate.
pub(super) fn edwards_batch(scalar: &[u8; 32], ys: &[[u8; 32]], out: &mut [[u8; 32]]) {
    edwards_to_montgomery_batch(ys, out);
    for out in out {
        *out = ladder(scalar, Element::from_bytes(out));
    }
}

/// out_i = (1 + y_i) / (1 - y_i), 0 for y_i = 1.
pub(super) fn edwards_to_montgomery_batch(ys: &[[u8; 32]], out: &mut [[u8; 32]]) {
    for (ys, out) in ys.chunks(RUN).zip(out.chunks_mut(RUN)) {
        let mut numerators = [Element::ZERO; RUN];
        let mut denominators = [Element::ONE; RUN];
        for (i, y) in ys.iter().enumerate() {
            let y = Element::from_bytes(y);
            numerators[i] = Element::ONE.add(y);
            denominators[i] = Element::ONE.sub(y);
        }
        invert_all(&mut denominators[..ys.len()]);
        for (i, out) in out.iter_mut().enumerate() {
            *out = numerators[i].mul(denominators[i]).to_bytes();
        }
    }
}

/// Sets out_i to true if (y_i^2 - 1) / (d y_i^2 + 1) is a square, zero included. Then the encoding
/// decompresses with either sign bit. The denominator is never 0, because -1/d is no square.
pub(super) fn edwards_on_curve_batch(ys: &[[u8; 32]], out: &mut [bool]) {
    for (y, out) in ys.iter().zip(out) {
        let yy = Element::from_bytes(y).square();
        let u = yy.sub(Element::ONE);
        let v = yy.mul(Element::EDWARDS_D).add(Element::ONE);
        let legendre = u.mul(v).legendre();
        *out = (legendre.zero_mask() | legendre.sub(Element::ONE).zero_mask()) != 0;
    }
}

/// Montgomery's trick; 0 stays 0 and disturbs no other.
pub(super) fn invert_all(xs: &mut [Element]) {
    debug_assert!(xs.len() <= RUN);
    let mut prefix = Zeroizing::new([Element::ONE; RUN]);
    let mut product = Element::ONE;
    for (x, prefix) in xs.iter().zip(prefix.iter_mut()) {
        *prefix = product;
        product = product.mul(x.select(Element::ONE, x.zero_mask()));
    }
    let mut inverse = product.invert();
    for (x, prefix) in xs.iter_mut().zip(prefix.iter()).rev() {
        let zero = x.zero_mask();
        let inverted = inverse.mul(*prefix).select(Element::ZERO, zero);
        inverse = inverse.mul(x.select(Element::ONE, zero));
        *x = inverted;
    }
    product.zeroize();
    inverse.zeroize();
}

/// The ladder of RFC 7748, section 5.
fn ladder(scalar: &[u8; 32], x1: Element) -> [u8; 32] {
    let scalar = clamp(scalar);
    let (mut x2, mut z2, mut x3, mut z3) = (Element::ONE, Element::ZERO, x1, Element::ONE);
    let mut previous = 0;
    for i in (0..255).rev() {
        let bit = u64::from(scalar[i / 8] >> (i % 8) & 1);
        // The compiler must not learn that the mask comes from one bit, or it might branch on it.
        let swap = black_box((bit ^ previous).wrapping_neg());
        previous = bit;
        (x2, x3) = (x2.select(x3, swap), x3.select(x2, swap));
        (z2, z3) = (z2.select(z3, swap), z3.select(z2, swap));

        let (a, b) = (x2.add(z2), x2.sub(z2));
        let (c, d) = (x3.add(z3), x3.sub(z3));
        let (aa, bb) = (a.square(), b.square());
        let (da, cb) = (d.mul(a), c.mul(b));
        let e = aa.sub(bb);
        x3 = da.add(cb).square();
        z3 = da.sub(cb).square().mul(x1);
        x2 = aa.mul(bb);
        z2 = e.mul(bb.add(e.mul_small(121_666)));
    }
    // Bit 0 of a clamped scalar is clear: no last swap.
    let out = x2.mul(z2.invert()).to_bytes();
    for element in [&mut x2, &mut z2, &mut x3, &mut z3] {
        element.zeroize();
    }
    out
}

/// RFC 7748, section 5: a multiple of 8 in 2^254..2^255.
pub(super) fn clamp(scalar: &[u8; 32]) -> Zeroizing<[u8; 32]> {
    let mut clamped = Zeroizing::new(*scalar);
    clamped[0] &= 248;
    clamped[31] &= 127;
    clamped[31] |= 64;
    clamped
}
