//! Points of the curve y² = x³ + 7 (SEC 2, 2.4.1), and products with secret scalars.
//!
//! The formulas of addition fail for a point and itself or its negative: z becomes zero and stays
//! zero, because each addition multiplies it by the difference of x-coordinates.
//! [`Jacobian::multiply`] finds that at the end and repeats the product with formulas for all
//! points. Before the last two additions the sum is a + b · λ times the point, where |a| or |b| is
//! above that of the addend, and both are too small for another pair of the same value. So only the
//! last two additions can fail, and they do for one scalar of all.

use core::mem;

use zeroize::Zeroize;

use super::field::Field;
use super::limbs::Mask;
use super::scalar::{PART_BITS, Scalar};
use crate::low::taint::declassify;

/// A third root of one: λ · (x, y) = (β · x, y).
const BETA: Field = Field::new([
    0x0195_01ee,
    0x025b_0a1c,
    0x0099_5c13,
    0x01d4_4bd6,
    0x019c_f049,
    0x030d_0d3a,
    0x0244_79ea,
    0x001c_41b9,
    0x022b_657c,
    0x001e_ba5a,
]);
pub(super) const GENERATOR: Affine = Affine {
    x: Field::new([
        0x02f8_1798,
        0x00a0_56c5,
        0x028d_959f,
        0x036c_b738,
        0x0302_9bfc,
        0x03a1_c2c1,
        0x0206_295c,
        0x02ee_b156,
        0x027e_f9dc,
        0x001e_6f99,
    ]),
    y: Field::new([
        0x0310_d4b8,
        0x01f4_23fe,
        0x0141_99c4,
        0x0122_9a15,
        0x00fd_17b4,
        0x0384_422a,
        0x024f_bfc0,
        0x0311_9576,
        0x0277_26a3,
        0x0012_0eb6,
    ]),
};

/// Bits of a digit of a scalar.
const WINDOW: u32 = 5;
/// Number of the odd multiples of a point up to the largest digit, 31.
const MULTIPLES: usize = 1 << (WINDOW - 1);

/// A point that is not the neutral element. x has magnitude 1, y up to 2.
#[derive(Clone, Copy)]
pub(super) struct Affine {
    pub(super) x: Field,
    pub(super) y: Field,
}

/// The point (x / z², y / z³), or the neutral element if z is zero. All have magnitude 1.
#[derive(Clone, Copy)]
pub(super) struct Jacobian {
    x: Field,
    y: Field,
    z: Field,
}

impl Affine {
    /// Returns the point with this x-coordinate and an even y-coordinate, if there is one.
    pub(super) fn lift_x(x: Field) -> Option<Self> {
        let y = x.square().mul(&x).add(&Field::SEVEN).carry().square_root()?;
        Some(Self { x, y }.with_even_y())
    }

    fn with_even_y(&self) -> Self {
        let is_odd = Mask::from_bit(self.y.lowest_bit());
        self.negate_if(is_odd)
    }

    /// Returns the negative if `mask` is true.
    #[inline(always)]
    pub(super) fn negate_if(&self, mask: Mask) -> Self {
        Self { x: self.x, y: Field::select(mask, &self.y.negate::<1>(), &self.y) }
    }

    /// Returns the entry with this index of a table, which is read as a whole.
    #[inline(never)]
    pub(super) fn look_up(table: &[Self], index: u32) -> Self {
        let mut found = Self { x: Field::ZERO, y: Field::ZERO };
        for (i, entry) in (0..).zip(table) {
            let mask = Mask::equal(index, i);
            found.x.accumulate(mask, &entry.x);
            found.y.accumulate(mask, &entry.y);
        }
        found
    }

    /// Returns `digits` · point for the number whose bits b stand for 2·b - 1. `table` has the odd
    /// multiples, and `len` is the number of bits.
    #[inline(always)]
    pub(super) fn signed_multiple(table: &[Self], digits: u32, len: u32) -> Self {
        let is_positive = digits >> (len - 1);
        let mask = Mask::from_bit(is_positive ^ 1);
        // The digits of a negative number are the inverted ones of its absolute value.
        let index = (digits ^ mask.filter((1 << len) - 1)) & ((1 << (len - 1)) - 1);
        Self::look_up(table, index).negate_if(mask)
    }
}

impl Jacobian {
    pub(super) const NEUTRAL: Self = Self { x: Field::ONE, y: Field::ONE, z: Field::ZERO };

    pub(super) fn from_affine(point: &Affine) -> Self {
        Self { x: point.x, y: point.y.carry(), z: Field::ONE }
    }

    /// Returns true for the neutral element. The verdict is public.
    pub(super) fn is_neutral(&self) -> bool {
        self.z.is_zero()
    }

    /// Returns the affine point. The neutral element becomes (0, 0).
    pub(super) fn to_affine(self) -> Affine {
        let inverse = self.z.invert();
        let square = inverse.square();
        Affine { x: self.x.mul(&square), y: self.y.mul(&square.mul(&inverse)) }
    }

    /// Returns the x-coordinate of the affine point.
    pub(super) fn to_affine_x(self) -> Field {
        self.x.mul(&self.z.invert().square())
    }

    /// Doubles `self` `times` times.
    fn double_times(&mut self, times: u32) {
        let mut other = Self::NEUTRAL;
        let (mut point, mut next) = (&mut *self, &mut other);
        for _ in 0..times {
            *next = point.double();
            mem::swap(&mut point, &mut next);
        }
        if times % 2 == 1 {
            *self = other;
        }
    }

    /// Returns 2 · `self`.
    #[inline(never)]
    pub(super) fn double(&self) -> Self {
        let (x, y, _) = tangent(&self.x, &self.y);
        Self { x, y, z: self.y.mul(&self.z) }
    }

    /// Returns `self` + `other`, with z = 0 if `self` is `other` or its negative.
    #[inline(never)]
    pub(super) fn add_unequal(&self, other: &Affine) -> Self {
        let square = self.z.square();
        let h = square.mul(&other.x).add(&self.x.negate::<1>()).carry();
        let s2 = square.mul(&self.z).mul(&other.y);
        let i = self.y.add(&s2.negate::<1>()).carry();
        let h2 = h.square().negate::<1>();
        let h3 = h.mul(&h2);
        let t = self.x.mul(&h2);
        let x = i.square().add(&h3).add(&t.times(2)).carry();
        let y = i.mul(&t.add(&x)).add(&h3.mul(&self.y)).carry();
        Self { x, y, z: self.z.mul(&h) }
    }

    /// Returns `self` + `other` for all points. The time depends on equality.
    pub(super) fn add_any(&self, other: &Affine) -> Self {
        if self.is_neutral() {
            return Self::from_affine(other);
        }
        let sum = self.add_unequal(other);
        if !sum.is_neutral() {
            return sum;
        }
        let square = self.z.square();
        let difference = square.mul(&self.z).mul(&other.y).add(&self.y.negate::<1>());
        if difference.is_zero() { self.double() } else { Self::NEUTRAL }
    }

    /// Returns the x-coordinate of `scalar` · P, where P has the x-coordinate `x`, in constant time
    /// except for one scalar. `None` if no point of the curve has it, which is a public verdict.
    ///
    /// With g = x³ + 7, the point (g · x, g²) lies on the curve y² = x³ + 7 · g³. That curve is
    /// isomorphic to this one exactly if g is a square. One power decides that and divides by
    /// z² · g.
    pub(super) fn multiply_x(x: &Field, scalar: &Scalar) -> Option<Field> {
        let g = x.square().mul(x).add(&Field::SEVEN).carry();
        let point = Affine { x: g.mul(x), y: g.square() };
        let product = Self::multiply_unequal(&point, scalar);
        // On another curve z may be zero for many scalars, which must not show.
        let is_neutral = product.z.is_zero_mask();
        let z = Field::select(is_neutral, &Field::ONE, &product.z);
        let divisor = z.square().mul(&g);
        let inverse = divisor.inverse_root().square();
        let is_on_curve = inverse.mul(&divisor).add(&Field::ONE.negate::<1>()).is_zero();
        if !declassify(is_on_curve) {
            return None;
        }
        if declassify(product.is_neutral()) {
            return Some(Self::multiply_any(&Affine::lift_x(*x)?, scalar).to_affine_x());
        }
        Some(product.x.mul(&inverse))
    }

    /// Returns `scalar` · `point` in constant time, except for one scalar.
    pub(super) fn multiply(point: &Affine, scalar: &Scalar) -> Self {
        let product = Self::multiply_unequal(point, scalar);
        // The verdict is the same for all scalars but one.
        if declassify(product.is_neutral()) { Self::multiply_any(point, scalar) } else { product }
    }

    /// Returns `scalar` · `point` in constant time, or z = 0 if that adds a point to itself or its
    /// negative.
    #[inline(never)]
    fn multiply_unequal(point: &Affine, scalar: &Scalar) -> Self {
        let (mut own, mut lambda) = scalar.split();
        let mut multiples = [GENERATOR; MULTIPLES];
        let z = odd_multiples(point, &mut multiples);
        let mut lambdas = multiples;
        for point in &mut lambdas {
            point.x = BETA.mul(&point.x);
        }
        let mut sum = Self::NEUTRAL;
        for index in (0..PART_BITS).step_by(WINDOW as usize).rev() {
            let digit = own.bits(index, WINDOW);
            let term = Affine::signed_multiple(&multiples, digit, WINDOW);
            if index + WINDOW as usize == PART_BITS {
                sum = Self::from_affine(&term);
            } else {
                sum.double_times(WINDOW);
                sum = sum.add_unequal(&term);
            }
            let digit = lambda.bits(index, WINDOW);
            sum = sum.add_unequal(&Affine::signed_multiple(&lambdas, digit, WINDOW));
        }
        sum.z = sum.z.mul(&z);
        own.zeroize();
        lambda.zeroize();
        sum
    }

    /// Returns `scalar` · `point` for all scalars, bit by bit.
    pub(super) fn multiply_any(point: &Affine, scalar: &Scalar) -> Self {
        (0..256).rev().fold(Self::NEUTRAL, |sum, index| {
            let double = sum.double();
            if scalar.bit(index) == 1 { double.add_any(point) } else { double }
        })
    }
}

/// Returns x and y of the doubled point, for z = y · z, and y².
#[inline(always)]
fn tangent(x: &Field, y: &Field) -> (Field, Field, Field) {
    let s = y.square();
    let l = x.square().times(3).half();
    let t = x.mul(&s).negate::<1>();
    let x = l.square().add(&t.times(2)).carry();
    let y = l.mul(&t.add(&x)).add(&s.square()).negate::<2>().carry();
    (x, y, s)
}

/// Computes the odd multiples 1, 3, 5, … of a point as the affine points of an isomorphic curve:
/// (x · z², y · z³), and returns z. The coefficient 7 is in none of the formulas.
fn odd_multiples(point: &Affine, multiples: &mut [Affine; MULTIPLES]) -> Field {
    let y = point.y.carry();
    // The double has z = y. The point becomes (x · y², y · y³).
    let (x2, y2, square) = tangent(&point.x, &y);
    let mut double = Affine { x: x2, y: y2 };
    multiples[0] = Affine { x: point.x.mul(&square), y: square.square() };
    let mut ratios = [Field::ONE; MULTIPLES];
    for i in 1..MULTIPLES {
        // Both points have the same z, and so have both results (co-Z addition).
        let before = &multiples[i - 1];
        let h = before.x.add(&double.x.negate::<1>()).carry();
        let slope = before.y.add(&double.y.negate::<1>()).carry();
        let square = h.square();
        let x = square.mul(&double.x);
        let minus_other = square.mul(&before.x).negate::<1>();
        let y = double.y.mul(&x.add(&minus_other));
        // y = -double.y · (other - x).
        let sum_x = slope.square().add(&x.negate::<1>()).add(&minus_other).carry();
        let sum_y = slope.mul(&x.add(&sum_x.negate::<1>())).add(&y).carry();
        double = Affine { x, y: y.negate::<1>().carry() };
        multiples[i] = Affine { x: sum_x, y: sum_y };
        ratios[i] = h;
    }
    // Brings all to the last z.
    let mut z = ratios[MULTIPLES - 1];
    for i in (0..MULTIPLES - 1).rev() {
        let square = z.square();
        let entry = &mut multiples[i];
        *entry = Affine { x: square.mul(&entry.x), y: square.mul(&z).mul(&entry.y) };
        z = z.mul(&ratios[i]);
    }
    y.mul(&z)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A third root of one modulo n, for which λ · (x, y) = (β · x, y).
    const LAMBDA: [u8; 32] = [
        0x53, 0x63, 0xad, 0x4c, 0xc0, 0x5c, 0x30, 0xe0, 0xa5, 0x26, 0x1c, 0x02, 0x88, 0x12, 0x64,
        0x5a, 0x12, 0x2e, 0x22, 0xea, 0x20, 0x81, 0x66, 0x78, 0xdf, 0x02, 0x96, 0x7c, 0x1b, 0x23,
        0xbd, 0x72,
    ];

    fn small(number: i32) -> Scalar {
        let mut bytes = [0; 32];
        bytes[28..].copy_from_slice(&number.unsigned_abs().to_be_bytes());
        let scalar = Scalar::reduce(&bytes);
        if number < 0 { scalar.negate() } else { scalar }
    }

    /// 26 · λ is the only scalar for which a sum within the product fails. The others are like
    /// it.
    #[test]
    fn scalars_that_add_equal_points() {
        let lambda = Scalar::reduce(&LAMBDA);
        for a in [-62, -31, -1, 0, 1, 2, 62] {
            for b in [-62, -26, -1, 1, 2, 26, 62] {
                let scalar = small(a).add(&lambda.mul(&small(b)));
                let expected = Jacobian::multiply_any(&GENERATOR, &scalar).to_affine();
                let product = Jacobian::multiply(&GENERATOR, &scalar).to_affine();
                assert_eq!(product.x.to_bytes(), expected.x.to_bytes(), "{a} + {b} λ");
                assert_eq!(product.y.to_bytes(), expected.y.to_bytes(), "{a} + {b} λ");
                let unequal = Jacobian::multiply_unequal(&GENERATOR, &scalar);
                assert_eq!(unequal.is_neutral(), (a, b) == (0, 26), "{a} + {b} λ");
            }
        }
    }

    /// Agreement with an unchecked x-coordinate is that with a lifted one, for all scalars.
    #[test]
    fn products_of_unchecked_coordinates() {
        let lambda = Scalar::reduce(&LAMBDA);
        let scalars = [lambda.mul(&small(26)), small(1), small(-1), small(7).add(&lambda)];
        let mut valid = 0;
        for x in 0..40 {
            let x = Field::from_bytes(&small(x).to_bytes()).unwrap();
            let lifted = Affine::lift_x(x);
            valid += u32::from(lifted.is_some());
            for scalar in &scalars {
                let expected = lifted.map(|point| Jacobian::multiply(&point, scalar).to_affine_x());
                let product = Jacobian::multiply_x(&x, scalar);
                assert_eq!(product.map(Field::to_bytes), expected.map(Field::to_bytes));
            }
        }
        assert!((10..30).contains(&valid));
    }

    #[test]
    fn sums_of_all_pairs() {
        let double = Jacobian::from_affine(&GENERATOR).double().to_affine();
        let minus = GENERATOR.negate_if(Mask::from_bit(1));
        let one = Jacobian::from_affine(&GENERATOR);
        assert!(one.add_any(&minus).is_neutral());
        assert_eq!(one.add_any(&GENERATOR).to_affine().x.to_bytes(), double.x.to_bytes());
        let neutral = Jacobian::NEUTRAL;
        assert_eq!(neutral.add_any(&minus).to_affine().y.to_bytes(), minus.y.to_bytes());
        assert!(neutral.double().is_neutral());
        assert!(Jacobian::multiply_any(&GENERATOR, &small(0)).is_neutral());
        assert!(Jacobian::multiply_any(&GENERATOR, &small(1).add(&small(-1))).is_neutral());
    }
}
