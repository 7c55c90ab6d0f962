//! Arithmetic modulo p for tests: schoolbook on 64-bit words, no limb to overflow.

/// The prime 2^255 - 19 in four limbs, least significant first.
pub(super) const P: [u64; 4] = [u64::MAX - 18, u64::MAX, u64::MAX, u64::MAX >> 1];

/// Sum of limb_i * 2^(radix * i), any 64-bit limbs, modulo 2^512.
pub(super) fn of_limbs(limbs: &[u64], radix: usize) -> [u64; 8] {
    let mut sum = [0; 8];
    for (i, limb) in limbs.iter().enumerate() {
        let (word, bit) = (radix * i / 64, radix * i % 64);
        let shifted = u128::from(*limb) << bit;
        add_at(&mut sum, word, low(shifted));
        add_at(&mut sum, word + 1, low(shifted >> 64));
    }
    sum
}

/// The canonical encoding of x * y + z modulo p, for x and y below 2^256.
pub(super) fn multiply_add(x: &[u64; 8], y: &[u64; 8], z: &[u64; 8]) -> [u8; 32] {
    assert_eq!([&x[4..], &y[4..]], [&[0; 4]; 2]);
    let mut product = *z;
    for (i, x) in x[..4].iter().enumerate() {
        for (j, y) in y[..4].iter().enumerate() {
            let term = u128::from(*x) * u128::from(*y);
            add_at(&mut product, i + j, low(term));
            add_at(&mut product, i + j + 1, low(term >> 64));
        }
    }
    // 2^256 = 38.
    while product[4..] != [0; 4] {
        let high = [product[4], product[5], product[6], product[7]];
        product[4..].fill(0);
        for (i, word) in high.into_iter().enumerate() {
            let term = u128::from(word) * 38;
            add_at(&mut product, i, low(term));
            add_at(&mut product, i + 1, low(term >> 64));
        }
    }
    let mut x = [product[0], product[1], product[2], product[3]];
    while x.iter().rev().ge(P.iter().rev()) {
        let mut borrow = false;
        for (x, p) in x.iter_mut().zip(P) {
            let (difference, under) = x.overflowing_sub(p);
            let (difference, under_again) = difference.overflowing_sub(borrow.into());
            (*x, borrow) = (difference, under | under_again);
        }
    }
    let mut out = [0; 32];
    out.as_chunks_mut::<8>().0.copy_from_slice(&x.map(u64::to_le_bytes));
    out
}

/// A stream of words that is the same each time.
pub(super) fn random_words(label: &str) -> impl FnMut() -> u64 {
    let mut stream = blake3::Hasher::new_derive_key(label).finalize_xof();
    move || {
        let mut word = [0; 8];
        stream.fill(&mut word);
        u64::from_le_bytes(word)
    }
}

fn add_at(sum: &mut [u64; 8], word: usize, mut add: u64) {
    for word in &mut sum[word..] {
        let (next, carry) = word.overflowing_add(add);
        *word = next;
        add = carry.into();
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the low half is meant")]
fn low(x: u128) -> u64 {
    x as u64
}
