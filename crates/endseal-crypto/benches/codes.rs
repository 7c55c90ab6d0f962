//! Nanoseconds of one core for a code of HMAC-SHA-256 under a prepared key: AWS-LC's, RustCrypto's and ours.
//!
//! `cargo bench -p endseal-crypto --bench codes`. Medians of rounds in which all take turns.

#![allow(clippy::print_stdout, reason = "a program that prints its figures")]
#![allow(clippy::expect_used, reason = "a key has any length")]

use core::hint::black_box;
use std::time::Instant;

use aws_lc_rs::hmac as aws_lc;
use endseal_crypto::sha256::HmacKey;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

const KEY: [u8; 32] = [3; 32];
/// A string that is signed with Signature Version 4 has some 140 bytes.
const LENGTHS: [usize; 3] = [32, 140, 1_000];

const ROUNDS: usize = 2_001;
const CALLS: u32 = 20;

fn main() {
    let (theirs, ours) = (aws_lc::Key::new(aws_lc::HMAC_SHA256, &KEY), HmacKey::new(&KEY));
    let other = Hmac::<Sha256>::new_from_slice(&KEY).expect("any length is one of a key");
    for len in LENGTHS {
        let message = vec![7; len];
        let aws_lc = || {
            black_box(aws_lc::sign(&theirs, black_box(&message)));
        };
        let rust_crypto = || {
            let mut code = other.clone();
            code.update(black_box(&message));
            black_box(code.finalize());
        };
        let own = || {
            black_box(ours.code(&[black_box(&message)]));
        };
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            for (times, work) in times.iter_mut().zip([&aws_lc as &dyn Fn(), &rust_crypto, &own]) {
                let start = Instant::now();
                for _ in 0..CALLS {
                    work();
                }
                times.push(start.elapsed() / CALLS);
            }
        }
        for (times, name) in times.iter_mut().zip(["AWS-LC", "RustCrypto", "ours"]) {
            times.sort();
            println!("{len:>6} bytes {name:>12} {:>6} ns", times[ROUNDS / 2].as_nanos());
        }
    }
}
