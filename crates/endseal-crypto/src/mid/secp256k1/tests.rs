//! The two back ends give the same bytes.

use super::{backend, portable};
use crate::mid::{hash, label};

/// The order of the group, big-endian.
const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
    0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
];

/// The prime of the field, big-endian.
const PRIME: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xfc, 0x2f,
];

fn bytes<const N: usize>(name: &str, i: u32) -> [u8; N] {
    let mut out = [0; N];
    hash::derive_into(label::ENVELOPE_HEADER, &[name.as_bytes(), &i.to_le_bytes()], &mut out);
    out
}

/// `number` + `add`, without a carry beyond the last four bytes.
fn plus(number: &[u8; 32], add: i32) -> [u8; 32] {
    let mut out = *number;
    let (_, low) = out.split_at_mut(28);
    let sum = u32::from_be_bytes([low[0], low[1], low[2], low[3]]).wrapping_add_signed(add);
    low.copy_from_slice(&sum.to_be_bytes());
    out
}

/// Random secret keys, and those next to the ends of their range.
fn secrets() -> impl Iterator<Item = [u8; 32]> {
    let small = (1..=3).map(|i| plus(&[0; 32], i));
    let large = (1..=3).map(|i| plus(&ORDER, -i));
    small.chain(large).chain((0..20).map(|i| bytes("secret", i)))
}

#[test]
fn secret_keys_are_those_below_the_order() {
    let valid = |secret: &[u8; 32]| {
        let verdict = backend::is_secret_key(secret);
        assert_eq!(verdict, portable::is_secret_key(secret), "{secret:02x?}");
        verdict
    };
    assert!(secrets().all(|secret| valid(&secret)));
    for invalid in [[0; 32], ORDER, plus(&ORDER, 1), PRIME, [0xff; 32]] {
        assert!(!valid(&invalid), "{invalid:02x?}");
    }
}

/// Both decompress the same x-coordinates. About half of all have a point.
#[test]
fn points() {
    let mut valid = 0;
    let near_prime = (-40..=40).map(|i| plus(&PRIME, i));
    let small = (0..40).map(|i| plus(&[0; 32], i));
    let random = (0..80).map(|i| bytes("x", i));
    for x in near_prime.chain(small).chain(random).chain([[0xff; 32]]) {
        let (a, b) = (backend::Point::lift_x(&x), portable::Point::lift_x(&x));
        assert_eq!(a.is_some(), b.is_some(), "{x:02x?}");
        assert!(a.is_none() || x < PRIME, "{x:02x?}");
        for secret in [bytes("secret", 1), plus(&ORDER, -2)] {
            let (mut one, mut other) = ([0; 32], [0; 32]);
            let valid = backend::Point::multiply_x_of(&x, &secret, &mut one).is_some();
            assert_eq!(valid, a.is_some(), "{x:02x?}");
            let valid = portable::Point::multiply_x_of(&x, &secret, &mut other).is_some();
            assert_eq!((valid, other), (a.is_some(), one), "{x:02x?}");
        }
        let Some((a, b)) = a.zip(b) else { continue };
        let (mut one, mut other) = ([0; 32], [1; 32]);
        a.multiply_x(&plus(&[0; 32], 1), &mut one);
        assert_eq!(one, x, "1 * P");
        for secret in [bytes("secret", 0), plus(&ORDER, -1)] {
            a.multiply_x(&secret, &mut one);
            b.multiply_x(&secret, &mut other);
            assert_eq!(one, other, "{x:02x?}");
        }
        valid += 1;
    }
    assert!((60..140).contains(&valid), "{valid}");
}

/// A message may have any length: each back end makes the signatures of the other, and each takes
/// them, and no changed one.
#[test]
fn signatures() {
    for (i, secret) in (0..).zip(secrets()) {
        let (a, b) = (backend::KeyPair::new(&secret), portable::KeyPair::new(&secret));
        let ((verify_a, x), (verify_b, other_x)) = (a.public(), b.public());
        assert_eq!(x, other_x);
        let lifted = backend::Point::lift_x(&x).unwrap();
        let (message, aux) = (bytes::<300>("message", i), bytes("aux", i));
        let message = &message[..[32, 0, 1, 31, 33, 64, 300][i as usize % 7]];
        let mut signature = a.sign(message, &aux);
        assert_eq!(signature, b.sign(message, &aux));
        assert_ne!(signature, a.sign(message, &[0; 32]), "the auxiliary data is in use");
        let verdict = |message: &[u8], signature: &[u8; 64]| {
            let verdict = verify_a.verify(message, signature);
            assert_eq!(verdict, verify_b.verify(message, signature));
            assert_eq!(verdict, lifted.verify(message, signature));
            verdict
        };
        assert!(verdict(message, &signature));
        assert!(!verdict(&[message, b"x"].concat(), &signature));
        for bit in [i, 255 - i, 256 + i, 511 - i] {
            signature[bit as usize / 8] ^= 1 << (bit % 8);
            assert!(!verdict(message, &signature));
            signature[bit as usize / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Both sides of an agreement find the same x-coordinate for all signs of their points.
#[test]
fn agreement() {
    let keys: alloc::vec::Vec<_> = secrets().collect();
    for pair in keys.windows(2) {
        let publics = [0, 1].map(|i| {
            (
                backend::KeyPair::new(&pair[i]).public().0,
                portable::KeyPair::new(&pair[i]).public().0,
            )
        });
        let mut shared = [[0; 32], [1; 32], [2; 32], [3; 32]];
        publics[1].0.multiply_x(&pair[0], &mut shared[0]);
        publics[0].0.multiply_x(&pair[1], &mut shared[1]);
        publics[1].1.multiply_x(&pair[0], &mut shared[2]);
        publics[0].1.multiply_x(&pair[1], &mut shared[3]);
        assert!(shared.iter().all(|one| *one == shared[0]));
    }
}

/// Keys of all kinds: random ones, sparse and dense ones, and those at which digits of windows
/// carry.
#[test]
#[ignore = "nightly: 30,000 keys"]
fn many_keys() {
    type Shape = fn([u8; 32], u32) -> [u8; 32];
    let shapes: [Shape; 4] = [
        |random, _| random,
        |random, i| {
            core::array::from_fn(|at| random[at] & bytes::<32>("and", i)[at] & random[31 - at])
        },
        |random, i| {
            core::array::from_fn(|at| random[at] | bytes::<32>("or", i)[at] | random[31 - at])
        },
        |random, i| {
            let mut out = [if i & 1 == 0 { 0 } else { 0xff }; 32];
            let at = i as usize / 2 % 31 + 1;
            out[..at].copy_from_slice(&random[..at]);
            out
        },
    ];
    let mut point = backend::KeyPair::new(&bytes("secret", 0)).public().1;
    for i in 0..30_000 {
        let secret = shapes[i as usize % 4](bytes("many", i), i);
        if !backend::is_secret_key(&secret) {
            assert!(!portable::is_secret_key(&secret), "{secret:02x?}");
            continue;
        }
        let publics =
            [backend::KeyPair::new(&secret).public().1, portable::KeyPair::new(&secret).public().1];
        assert_eq!(publics[0], publics[1], "{secret:02x?}");
        let (mut one, mut other) = ([0; 32], [1; 32]);
        backend::Point::multiply_x_of(&point, &secret, &mut one).unwrap();
        portable::Point::multiply_x_of(&point, &secret, &mut other).unwrap();
        assert_eq!(one, other, "{secret:02x?} of {point:02x?}");
        portable::Point::lift_x(&point).unwrap().multiply_x(&secret, &mut other);
        assert_eq!(one, other, "{secret:02x?} of {point:02x?}");
        point = one;
    }
}
