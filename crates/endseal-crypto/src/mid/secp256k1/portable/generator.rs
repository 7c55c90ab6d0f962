//! Products of the generator with secret scalars, from a table in constant memory.
//!
//! A scalar has 264 bits b, each of which stands for (2·b - 1) · 2^i. They are four blocks of six
//! rows of eleven bits. A term of a block is a column of it, one bit of each row, and the table has
//! all columns of all blocks whose highest bit is one. So ten doublings are enough.

use zeroize::Zeroize;

use super::field::Field;
use super::limbs::Mask;
use super::point::{Affine, GENERATOR, Jacobian};
use super::scalar::Scalar;
use crate::low::taint::declassify;

const BLOCKS: usize = 4;
const ROWS: usize = 6;
const COLUMNS: usize = 11;
const ENTRIES: usize = 1 << (ROWS - 1);

/// 2^264 - 1 modulo n.
const OFFSET: Scalar = Scalar::new([
    0x01be_beff,
    0x005c_cbf2,
    0x0044_02da,
    0x0142_dd7f,
    0x0151_2319,
    0x0000_0051,
    0,
    0,
    0,
    0,
]);

/// x and y of all entries, a line of 64 hexadecimal digits each. A test computes them.
const TEXT: &[u8] = include_bytes!("generator.txt");
const LINE_LEN: usize = 65;

static TABLE: [[Affine; ENTRIES]; BLOCKS] = {
    let mut table = [[GENERATOR; ENTRIES]; BLOCKS];
    let mut i = 0;
    while i < BLOCKS * ENTRIES {
        let (x, y) = (line(2 * i), line(2 * i + 1));
        table[i / ENTRIES][i % ENTRIES] = Affine { x, y };
        i += 1;
    }
    table
};

/// Returns the number of a line of the table.
const fn line(number: usize) -> Field {
    let mut limbs = [0; 10];
    let mut i = 0;
    while i < 256 {
        // The lowest digit is the last one.
        let digit = TEXT[number * LINE_LEN + 63 - i / 4];
        let value = if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 };
        limbs[i / 26] |= ((value >> (i % 4) & 1) as u32) << (i % 26);
        i += 1;
    }
    Field::new(limbs)
}

/// Returns `scalar` · generator in constant time, except for scalars that add equal points on the
/// way: random ones do not.
pub(super) fn multiply(scalar: &Scalar) -> Jacobian {
    let mut bits = scalar.add(&OFFSET).half();
    let mut sum = Jacobian::NEUTRAL;
    for column in (0..COLUMNS).rev() {
        if column + 1 < COLUMNS {
            sum = sum.double();
        }
        for (block, table) in TABLE.iter().enumerate() {
            let bit = |row| bits.bit((block * ROWS + row) * COLUMNS + column) << row;
            let digits = (0..ROWS).map(bit).sum();
            let term = Affine::signed_multiple(table, digits, ROWS_BITS);
            let is_first = column + 1 == COLUMNS && block == 0;
            sum = if is_first { Jacobian::from_affine(&term) } else { sum.add_unequal(&term) };
        }
    }
    bits.zeroize();
    // The verdict is the same for all random scalars.
    let is_wrong = declassify(sum.is_neutral());
    if is_wrong { Jacobian::multiply_any(&GENERATOR, scalar) } else { sum }
}

/// Number of bits of a column.
#[allow(clippy::cast_possible_truncation, reason = "six")]
const ROWS_BITS: u32 = ROWS as u32;

/// Returns the public key of a secret scalar, and the scalar of its point with an even y.
pub(super) fn key_pair(scalar: &Scalar) -> (Affine, Scalar) {
    let point = multiply(scalar).to_affine();
    let is_odd = Mask::from_bit(point.y.lowest_bit());
    (point.negate_if(is_odd), Scalar::select(is_odd, &scalar.negate(), scalar))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each entry is the sum that its column stands for.
    #[test]
    fn the_table_is_the_generators() {
        let mut row = Jacobian::from_affine(&GENERATOR);
        let mut rows = [GENERATOR; BLOCKS * ROWS];
        for entry in &mut rows {
            *entry = row.to_affine();
            row = (0..COLUMNS).fold(row, |row, _| row.double());
        }
        for (rows, table) in rows.chunks(ROWS).zip(&TABLE) {
            for (column, entry) in (0_u32..).zip(table) {
                let sum = (0..ROWS - 1).fold(Jacobian::from_affine(&rows[ROWS - 1]), |sum, row| {
                    let minus = Mask::from_bit(!(column >> row) & 1);
                    sum.add_any(&rows[row].negate_if(minus))
                });
                let sum = sum.to_affine();
                assert_eq!(sum.x.to_bytes(), entry.x.to_bytes(), "{column}");
                assert_eq!(sum.y.to_bytes(), entry.y.to_bytes(), "{column}");
            }
        }
    }
}
