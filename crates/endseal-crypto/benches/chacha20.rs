//! Nanoseconds and GB/s of ChaCha20 by each kernel of this CPU, by the public function, which
//! chooses one, and by the crate chacha20.
//!
//! `cargo bench -p endseal-crypto --bench chacha20`. Medians of rounds that interleave all
//! subjects; each encrypts one buffer again and again.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program that prints its figures")]

use core::hint::black_box;
use std::time::Instant;

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit as _, StreamCipher as _};
use endseal_crypto::chacha20::apply_keystream;
use endseal_crypto::chacha20_kernel::{self, Kernel};

const ROUNDS: usize = 101;
/// Bytes that a subject encrypts in a round, so that the clock is read seldom.
const ROUND_BYTES: usize = 1 << 17;
const KEY: [u8; 32] = [1; 32];
const NONCE: [u8; 12] = [2; 12];

type Subject = (String, Box<dyn Fn(&mut [u8])>);

fn main() {
    let mut subjects: Vec<Subject> = Vec::new();
    for kernel in Kernel::all() {
        let name = format!("{kernel:?}").to_lowercase();
        let name = name.split('(').next().unwrap_or_default().to_owned();
        subjects.push((
            name,
            Box::new(move |data| {
                chacha20_kernel::apply_keystream(kernel, black_box(&KEY), &NONCE, 0, data);
            }),
        ));
    }
    subjects.push((
        "chosen".to_owned(),
        Box::new(|data| {
            apply_keystream(black_box(&KEY), &NONCE, 0, data).expect("it is short");
        }),
    ));
    subjects.push((
        "library".to_owned(),
        Box::new(|data| {
            ChaCha20::new(black_box(&KEY).into(), &NONCE.into()).apply_keystream(data);
        }),
    ));
    print!("{:>6}", "bytes");
    subjects.iter().for_each(|(name, _)| print!(" {name:>9} {:>6}", "GB/s"));
    println!("   (ns)");
    for len in [34, 64, 66, 128, 256, 258, 512, 514, 768, 1_024, 1_026, 4_096, 16_384, 65_536] {
        row(len, &subjects);
    }
}

fn row(len: usize, subjects: &[Subject]) {
    let mut data = vec![3; len];
    let repetitions = (ROUND_BYTES / len).clamp(1, 1_000);
    let mut seconds = vec![Vec::new(); subjects.len()];
    for _ in 0..ROUNDS {
        for ((_, encrypt), seconds) in subjects.iter().zip(&mut seconds) {
            let start = Instant::now();
            for _ in 0..repetitions {
                encrypt(black_box(&mut data));
            }
            seconds.push(start.elapsed().as_secs_f64() / repetitions as f64);
        }
    }
    print!("{len:>6}");
    for mut seconds in seconds {
        seconds.sort_by(f64::total_cmp);
        let median = seconds[seconds.len() / 2];
        print!(" {:>9.1} {:>6.2}", median * 1e9, len as f64 / median / 1e9);
    }
    println!();
}
