//! Bytes of published vectors, which are printed in hexadecimal digits.

use alloc::vec::Vec;

/// The bytes; blanks between digits are skipped.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .map(|digit| digit.to_digit(16).unwrap().try_into().unwrap())
        .collect();
    assert!(digits.len().is_multiple_of(2), "two digits are a byte");
    digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect()
}

/// The bytes as an array.
pub(crate) fn unhex_array<const N: usize>(text: &str) -> [u8; N] {
    unhex(text).try_into().unwrap()
}
