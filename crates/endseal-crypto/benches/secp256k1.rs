//! Microseconds of one core for the operations on secp256k1.
//!
//! `cargo bench -p endseal-crypto --bench secp256k1`; with `--no-default-features` those of
//! the portable code. Medians of rounds in which all take turns.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program that prints its figures")]

use core::hint::black_box;
use std::time::Instant;

use endseal_crypto::secp256k1::{PublicKey, SecretKey, SigningKey};

const ROUNDS: usize = 101;
const REPEATS: u32 = 20;

fn main() {
    let secret = |byte| SecretKey::from_bytes(&[byte; 32]).expect("it is in range");
    let (own, signing) = (secret(1), SigningKey::new(secret(2)));
    let other = *signing.public_key();
    let x = other.to_bytes();
    let (message, aux) = ([3; 32], [4; 32]);
    let signature = signing.sign(&message, &aux);

    let operations: [(&str, &dyn Fn()); 7] = [
        ("secret key checked", &|| drop(black_box(SecretKey::from_bytes(black_box(&[1; 32]))))),
        ("public key of a secret key", &|| {
            black_box(black_box(&own).public_key());
        }),
        ("public key parsed", &|| {
            let _ = black_box(PublicKey::from_bytes(black_box(&x)));
        }),
        ("ecdh_x", &|| drop(black_box(black_box(&own).ecdh_x(black_box(&other))))),
        ("parsed, ecdh_x", &|| {
            let other = PublicKey::from_bytes(black_box(&x)).expect("it is a point");
            drop(black_box(black_box(&own).ecdh_x(&other)));
        }),
        ("sign", &|| {
            black_box(signing.sign(black_box(&message), black_box(&aux)));
        }),
        ("verify", &|| {
            other.verify(black_box(&message), black_box(&signature)).expect("just signed");
        }),
    ];
    let mut micros = [const { Vec::new() }; 7];
    for _ in 0..ROUNDS {
        for ((_, operation), micros) in operations.iter().zip(&mut micros) {
            let start = Instant::now();
            (0..REPEATS).for_each(|_| operation());
            micros.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(REPEATS));
        }
    }
    for ((name, _), mut micros) in operations.iter().zip(micros) {
        micros.sort_by(f64::total_cmp);
        println!("{name:<27} {:>6.2} us", micros[ROUNDS / 2]);
    }
}
