//! Microseconds a point of the batch kernels beside two libraries, and of the kernels side by side;
//! and the paired ratios.
//!
//! `cargo bench -p endseal-crypto --bench kernel`. Rounds interleave all subjects; a figure is the
//! median over rounds, a ratio the median of the ratios within each round.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program that prints its figures")]

use core::hint::black_box;
use std::time::Instant;

use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::montgomery::MontgomeryPoint;
use endseal_crypto::x25519_kernel::{
    HaveFma, HaveIfma, Platform, Radix, edwards_batch, edwards_on_curve_batch,
    edwards_to_montgomery_batch, montgomery_batch,
};

type Bytes = [u8; 32];

const ROUNDS: usize = 41;
const SIZES: [usize; 6] = [8, 16, 32, 100, 1000, 10_000];
/// The libraries are timed on a part of large batches; their time a point does not depend on it.
const LIBRARY_POINTS: usize = 16;

fn main() {
    if Platform::detect() == Platform::Portable {
        println!("this CPU has neither AVX-512 IFMA nor AVX2 with FMA: nothing to measure");
        return;
    }
    println!("kernel: {:?}", Platform::detect());
    println!("us a point, medians of {ROUNDS} interleaved rounds; x: times faster, paired");
    beside_aws_lc();
    if let Some(token) = HaveFma::detect() {
        rows(Platform::Fma(token));
    }
    let Some(token) = HaveIfma::detect() else { return };
    rows(Platform::Ifma(token));
    println!(
        "both kernels, whichever is chosen here; /: time of 2^51 as a part of that of 2^52, paired"
    );
    println!(
        "{:>6} {:>8} {:>8} {:>8} {:>8} | {:>7} {:>7}",
        "N", "2^51 u", "Ed25519", "2^52 u", "Ed25519", "/ u", "/ Ed"
    );
    for n in SIZES {
        kernels(token, n);
    }
}

/// Agreements by every kernel of this CPU in one round with AWS-LC.
fn beside_aws_lc() {
    let kernels: Vec<_> = Platform::all().filter(|it| *it != Platform::Portable).collect();
    println!("{:>6} {:>8} and {kernels:?}, each with its ratio to aws-lc", "N", "aws-lc");
    let scalar = random("endseal bench: scalar", 1)[0];
    let own = PrivateKey::from_private_key(&X25519, &scalar).expect("32 bytes");
    for n in [4].into_iter().chain(SIZES) {
        let keys = random("endseal bench: keys", n);
        let few = &keys[..n.min(LIBRARY_POINTS)];
        let mut out = vec![[0; 32]; n];
        let mut samples = vec![Vec::new(); 1 + kernels.len()];
        for _ in 0..ROUNDS {
            samples[0].push(time(few.len(), || few.iter().for_each(|u| by_aws_lc(&own, u))));
            for (kernel, samples) in kernels.iter().zip(&mut samples[1..]) {
                samples.push(time(n, || montgomery_batch(*kernel, &scalar, &keys, &mut out)));
                black_box(&out);
            }
        }
        print!("{n:6} {:8.3}", median(samples[0].clone()));
        for kernel in &samples[1..] {
            print!(" | {:8.3} {:5.2}x", median(kernel.clone()), paired(&samples[0], kernel));
        }
        println!();
    }
}

fn by_aws_lc(own: &PrivateKey, u: &Bytes) {
    agree(own, UnparsedPublicKey::new(&X25519, u), (), |shared| {
        black_box(shared);
        Ok(())
    })
    .unwrap_or_default();
}

fn rows(platform: Platform) {
    println!("{platform:?}");
    println!(
        "{:>6} {:>6} {:>8} {:>8} {:>8} | {:>8} {:>8} {:>8} {:>8} | {:>7} {:>7} {:>7} {:>7}",
        "N",
        "u",
        "Ed25519",
        "convert",
        "on curve",
        "aws-lc",
        "dalek",
        "Ed+aws",
        "Ed+dalek",
        "/aws-lc",
        "/dalek",
        "/Ed+aws",
        "/Ed+dal"
    );
    for n in SIZES {
        row(platform, n);
    }
}

fn kernels(token: HaveIfma, n: usize) {
    let scalar = random("endseal bench: scalar", 1)[0];
    // Any bytes are as good: nothing depends on whether they are points of the curve.
    let keys = random("endseal bench: keys", n);
    let mut out = vec![[0; 32]; n];
    let mut samples: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let kernels = [Radix::Bits51, Radix::Bits52].map(|r| Platform::Ifma(token.in_radix(r)));
        for (kernel, samples) in kernels.into_iter().zip(samples.chunks_exact_mut(2)) {
            samples[0].push(time(n, || montgomery_batch(kernel, &scalar, &keys, &mut out)));
            samples[1].push(time(n, || edwards_batch(kernel, &scalar, &keys, &mut out)));
            black_box(&out);
        }
    }
    let [u, ed] = [(0, 2), (1, 3)].map(|(a, b)| paired(&samples[a], &samples[b]));
    let [u51, ed51, u52, ed52] = samples.map(median);
    println!("{n:6} {u51:8.3} {ed51:8.3} {u52:8.3} {ed52:8.3} | {u:7.3} {ed:7.3}");
}

fn row(platform: Platform, n: usize) {
    let scalar = random("endseal bench: scalar", 1)[0];
    let keys: Vec<Bytes> = random("endseal bench: keys", n)
        .into_iter()
        .map(|seed| EdwardsPoint::mul_base_clamped(seed).compress().to_bytes())
        .collect();
    let few = &keys[..n.min(LIBRARY_POINTS)];
    let mut out = vec![[0; 32]; n];
    let mut valid = vec![false; n];
    let own = PrivateKey::from_private_key(&X25519, &scalar).expect("32 bytes");
    let aws_lc = |u: &Bytes| by_aws_lc(&own, u);
    let dalek = |u: &Bytes| {
        black_box(MontgomeryPoint(*u).mul_clamped(scalar));
    };
    let convert = |key: &Bytes| {
        let point = CompressedEdwardsY(*key).decompress().expect("on the curve");
        point.to_montgomery().to_bytes()
    };

    let mut samples: [Vec<f64>; 8] = Default::default();
    for _ in 0..ROUNDS {
        let mut times = [
            time(n, || montgomery_batch(platform, &scalar, &keys, &mut out)),
            time(n, || edwards_batch(platform, &scalar, &keys, &mut out)),
            time(n, || edwards_to_montgomery_batch(platform, &keys, &mut out)),
            time(n, || edwards_on_curve_batch(platform, &keys, &mut valid)),
            time(few.len(), || few.iter().for_each(aws_lc)),
            time(few.len(), || few.iter().for_each(dalek)),
            time(few.len(), || few.iter().for_each(|key| aws_lc(&convert(key)))),
            time(few.len(), || few.iter().for_each(|key| dalek(&convert(key)))),
        ];
        black_box((&out, &valid));
        for (samples, time) in samples.iter_mut().zip(&mut times) {
            samples.push(*time);
        }
    }
    let ratio = |subject: usize, to: usize| paired(&samples[subject], &samples[to]);
    let [u, ed, convert, curve, aws, dalek, ed_aws, ed_dalek] = samples.clone().map(median);
    println!(
        "{n:6} {u:6.3} {ed:8.3} {convert:8.3} {curve:8.3} | {aws:8.2} {dalek:8.2} {ed_aws:8.2} \
         {ed_dalek:8.2} | {:7.2} {:7.2} {:7.2} {:7.2}",
        ratio(4, 0),
        ratio(5, 0),
        ratio(6, 1),
        ratio(7, 1),
    );
}

/// Microseconds a point.
fn time(points: usize, mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64() * 1e6 / points as f64
}

/// The median of the ratios within each round.
fn paired(a: &[f64], b: &[f64]) -> f64 {
    median(a.iter().zip(b).map(|(a, b)| a / b).collect())
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn random(label: &str, n: usize) -> Vec<Bytes> {
    let mut out = vec![[0; 32]; n];
    blake3::Hasher::new_derive_key(label).finalize_xof().fill(out.as_flattened_mut());
    out
}
