//! Nanoseconds of one core for the keys of two streams of one input key: one after the other, and side by side.
//!
//! `cargo bench -p endseal-crypto --bench keys`. Medians of rounds in which both take turns; the input key is
//! prepared anew each time, as for an object.

#![allow(clippy::print_stdout, reason = "a program that prints its figures")]

use core::hint::black_box;
use std::time::Instant;

use endseal_crypto::segment::{InputKey, KeySource, SALT_LEN};

/// As long as those of a sealed object's content and record.
const CONTEXTS: [&[u8]; 2] = [&[1; 33], &[2; 30]];

const ROUNDS: usize = 2_001;
const CALLS: u32 = 20;

fn main() {
    let key = InputKey::from_bytes(&[3; 32]);
    let salts = [[4; SALT_LEN], [5; SALT_LEN]];
    let apart = || {
        let source = KeySource::new(black_box(&key));
        black_box((source.derive(&salts[0], CONTEXTS[0]), source.keys(&salts[1], CONTEXTS[1])));
    };
    let beside = || {
        let source = KeySource::new(black_box(&key));
        black_box(source.derive_with((&salts[0], CONTEXTS[0]), (&salts[1], CONTEXTS[1])));
    };
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..ROUNDS {
        for (times, work) in times.iter_mut().zip([&apart as &dyn Fn(), &beside]) {
            let start = Instant::now();
            for _ in 0..CALLS {
                work();
            }
            times.push(start.elapsed() / CALLS);
        }
    }
    for (times, name) in times.iter_mut().zip(["one after the other", "side by side"]) {
        times.sort();
        println!("{name:>20} {:>6} ns", times[ROUNDS / 2].as_nanos());
    }
}
