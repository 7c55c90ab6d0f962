//! Cost of an envelope on this machine, beside a straight build from curve25519-dalek and
//! aws-lc-rs: `cargo bench -p endseal-envelope`. Medians of interleaved rounds, single thread.
#![allow(clippy::expect_used, reason = "a program that prints figures stops when it cannot")]
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use core::hint::black_box;
use core::time::Duration;
use std::io::{Read, Write};
use std::time::Instant;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use curve25519_dalek::edwards::CompressedEdwardsY;
use endseal_crypto::ed25519::Seed;
use endseal_crypto::identity::Identity;
use endseal_crypto::random::{OsRandom, Random};
use endseal_crypto::segment::{self, InputKey};
use endseal_crypto::x25519::Platform;
use endseal_crypto::{hash, hazmat, mlkem768};
use endseal_envelope::{Envelope, Opener, Policy, Recipients, Sealer, Suite};

const ROUNDS: usize = 31;
const CONTEXT: &[u8] = b"endseal/bench@v1";

/// A name, and the measurement, which gets the number of rounds.
type Section = (&'static str, fn(usize));

fn main() {
    // `cargo test --benches` runs this too: then once is enough to see that it works.
    let rounds = if std::env::args().any(|arg| arg == "--bench") { ROUNDS } else { 1 };
    println!("kernel: {:?}", Platform::detect());
    let sections: [Section; 6] = [
        ("sealing", sealing),
        ("platforms", platforms),
        ("threads", threads),
        ("opening", opening),
        ("backlog", backlog),
        ("content", content),
    ];
    // Words after `--` choose sections; without them all run.
    let chosen: Vec<_> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    for (name, run) in sections {
        if chosen.is_empty() || chosen.iter().any(|word| word == name) {
            run(rounds);
        }
    }
}

/// One envelope on one thread and on two. Needs the feature `parallel`.
#[cfg(feature = "parallel")]
fn threads(rounds: usize) {
    println!("\nseal 1 KiB, signed, us: one thread, two; times faster");
    let sender = identity(1);
    for suite in [Suite::X25519, Suite::X25519MlKem768] {
        for n in [10, 30, 100, 300, 1000] {
            let identities: Vec<_> = (0..n).map(identity).collect();
            let recipients = Recipients::from_identities(identities.iter().map(Identity::public))
                .expect("made keys are valid");
            for platform in Platform::all() {
                let sealer =
                    Sealer::new(&sender, &recipients, CONTEXT).suite(suite).platform(platform);
                let two = sealer.threads(core::num::NonZeroUsize::MIN.saturating_add(1));
                let times = interleaved(
                    rounds,
                    &mut [
                        &mut || drop(black_box(sealer.seal(&[5; 1024], &mut OsRandom))),
                        &mut || drop(black_box(two.seal(&[5; 1024], &mut OsRandom))),
                    ],
                );
                let [one, two] = [times[0] * 1e6, times[1] * 1e6];
                println!(
                    "{n:>6} members, {:<16} {:<24} {one:>9.1} {two:>9.1} {:>5.2}x",
                    suite.name(),
                    format!("{platform:?}"),
                    one / two
                );
            }
        }
    }
}

#[cfg(not(feature = "parallel"))]
fn threads(_: usize) {
    println!("\nthreads: not measured without --features parallel");
}

/// Every platform of this CPU, whichever is chosen here.
fn platforms(rounds: usize) {
    println!("\nseal 1 KiB, signed, by each platform, us; /: times faster than the portable one");
    let sender = identity(1);
    for suite in [Suite::X25519, Suite::X25519MlKem768] {
        for n in [10, 100, 1000] {
            let identities: Vec<_> = (0..n).map(identity).collect();
            let recipients = Recipients::from_identities(identities.iter().map(Identity::public))
                .expect("made keys are valid");
            let sealer = Sealer::new(&sender, &recipients, CONTEXT).suite(suite);
            let platforms: Vec<_> = Platform::all().collect();
            let mut seals: Vec<_> = platforms
                .iter()
                .map(|platform| {
                    let sealer = sealer.platform(*platform);
                    move || drop(black_box(sealer.seal(&[5; 1024], &mut OsRandom)))
                })
                .collect();
            let mut subjects: Vec<&mut dyn FnMut()> =
                seals.iter_mut().map(|seal| seal as &mut dyn FnMut()).collect();
            let seconds = interleaved(rounds, &mut subjects);
            for (platform, time) in platforms.iter().zip(&seconds) {
                println!(
                    "{n:>6} members, {:<16} {:<24} {:>9.1} {:>5.2}x",
                    suite.name(),
                    format!("{platform:?}"),
                    time * 1e6,
                    seconds[0] / time
                );
            }
        }
    }
}

fn identity(i: u32) -> Identity {
    let mut seed = [7; 32];
    seed[..4].copy_from_slice(&i.to_le_bytes());
    Identity::from_seeds(
        Seed::from_bytes(&seed),
        mlkem768::Seed::from_bytes(&[i.to_le_bytes()[0]; 64]),
    )
}

fn keys(n: u32) -> Vec<[u8; 32]> {
    (0..n)
        .map(|i| {
            let mut seed = [9; 32];
            seed[..4].copy_from_slice(&i.to_le_bytes());
            let key = endseal_crypto::ed25519::SigningKey::from_seed(Seed::from_bytes(&seed));
            *key.public_key().as_bytes()
        })
        .collect()
}

/// Seconds of one call of each subject: the median over rounds in which all take turns.
fn interleaved(rounds: usize, subjects: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut samples = vec![Vec::new(); subjects.len()];
    for round in 0..rounds {
        for k in 0..subjects.len() {
            let k = (k + round) % subjects.len();
            let start = Instant::now();
            let mut calls = 0;
            while calls == 0 || (rounds > 1 && start.elapsed() < Duration::from_micros(500)) {
                subjects[k]();
                calls += 1;
            }
            samples[k].push(start.elapsed().as_secs_f64() / f64::from(calls));
        }
    }
    for samples in &mut samples {
        samples.sort_by(f64::total_cmp);
    }
    samples.iter().map(|samples| samples[samples.len() / 2]).collect()
}

fn sealing(rounds: usize) {
    println!(
        "\nseal 1 KiB, signed          us | a member: us   bytes | other ways, us: portable  straight | ratio to straight"
    );
    let sender = identity(1);
    let content = [5; 1024];
    for n in [1, 5, 10, 25, 50, 100, 1000, 10_000] {
        let keys = keys(n);
        let recipients = Recipients::from_ed25519(&keys).expect("made keys are valid");
        let sealer = Sealer::new(&sender, &recipients, CONTEXT).suite(Suite::X25519);
        let portable = sealer.platform(Platform::Portable);
        let len = usize::try_from(sealer.sealed_len(1024).expect("short")).expect("short");
        let mut out = vec![0; len];
        let mut out_portable = vec![0; len];
        let seconds = interleaved(
            rounds,
            &mut [
                &mut || drop(black_box(sealer.seal_into(&content, &mut out, &mut OsRandom))),
                &mut || {
                    drop(black_box(portable.seal_into(&content, &mut out_portable, &mut OsRandom)));
                },
                &mut || drop(black_box(straight(&keys, &content))),
            ],
        );
        let us: Vec<f64> = seconds.iter().map(|s| s * 1e6).collect();
        println!(
            "{n:>6} members    {:>14.1} | {:>12.2} {:>7.1} | {:>24.1} {:>9.1} | {:.1}x",
            us[0],
            us[0] / f64::from(n),
            (len - 1024) as f64 / f64::from(n),
            us[1],
            us[2],
            us[2] / us[0]
        );
    }
    let recipients: Vec<_> = (0..100).map(identity).collect();
    let recipients = Recipients::from_identities(recipients.iter().map(Identity::public))
        .expect("made keys are valid");
    for suite in [Suite::X25519, Suite::X25519Compact, Suite::X25519MlKem768] {
        let sealer = Sealer::new(&sender, &recipients, CONTEXT).suite(suite);
        let mut seal = || drop(black_box(sealer.seal(&content, &mut OsRandom)));
        let us = interleaved(rounds, &mut [&mut seal])[0] * 1e6;
        println!(
            "   100 members, {:<16} {us:>9.1} us, {} bytes a member",
            suite.name(),
            suite.slot_len()
        );
    }
    let keys = keys(10_000);
    let mut check = || drop(black_box(Recipients::from_ed25519(&keys)));
    let us = interleaved(rounds, &mut [&mut check])[0] * 1e6 / 10_000.0;
    println!("checking a list of 10,000 keys once: {us:.2} us a key");
}

/// Seals as a straight build from good libraries would: one ephemeral key, dalek's conversion, an
/// agreement by aws-lc-rs, HKDF and an AES-GCM wrap for each recipient. Neither signed nor are
/// recipients hidden.
fn straight(keys: &[[u8; 32]], content: &[u8]) -> Vec<u8> {
    let mut random = [0; 64];
    OsRandom.fill(&mut random).expect("the system gives randomness");
    let (e, cek) = random.split_at(32);
    let e = PrivateKey::from_private_key(&X25519, e).expect("any 32 bytes are a key");
    let mut out = e.compute_public_key().expect("it has one").as_ref().to_vec();
    let gcm = |key: &[u8]| LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).expect("32 bytes"));
    for key in keys {
        let u = CompressedEdwardsY(*key).decompress().expect("a valid key").to_montgomery();
        let wrapping = agree(&e, UnparsedPublicKey::new(&X25519, u.to_bytes()), (), |shared| {
            let mut key = [0; 32];
            let prk = Salt::new(HKDF_SHA256, &[]).extract(shared);
            let okm = prk.expand(&[b"wrap"], HKDF_SHA256).map_err(drop)?;
            okm.fill(&mut key).map_err(drop)?;
            Ok(key)
        });
        let mut wrapped = cek.to_vec();
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        gcm(&wrapping.expect("not of low order"))
            .seal_in_place_append_tag(nonce, Aad::empty(), &mut wrapped)
            .expect("short");
        out.extend(wrapped);
    }
    let mut sealed = content.to_vec();
    gcm(cek)
        .seal_in_place_append_tag(Nonce::assume_unique_for_key([0; 12]), Aad::empty(), &mut sealed)
        .expect("short");
    out.extend(sealed);
    out
}

fn opening(rounds: usize) {
    println!("\nopen 1 KiB, signed          us");
    let (sender, reader) = (identity(1), identity(2));
    for n in [1, 10, 100, 1000, 10_000, 100_000] {
        let mut keys = keys(n - 1);
        keys.push(*reader.public().ed25519().as_bytes());
        let recipients = Recipients::from_ed25519(&keys).expect("made keys are valid");
        let envelope = Sealer::new(&sender, &recipients, CONTEXT)
            .suite(Suite::X25519)
            .seal(&[5; 1024], &mut OsRandom)
            .expect("it can be sealed");
        let opener = Opener::new(&reader, CONTEXT);
        let parsed = Envelope::parse(&envelope).expect("just sealed");
        let view = (0..parsed.slots())
            .filter_map(|i| parsed.view(i))
            .find(|view| n <= 100 && opener.open(view, &mut Policy::new()).is_ok())
            .unwrap_or_else(|| envelope.clone());
        let seconds = interleaved(
            rounds,
            &mut [&mut || drop(black_box(opener.open(&envelope, &mut Policy::new()))), &mut || {
                drop(black_box(opener.open(&view, &mut Policy::new())))
            }],
        );
        print!("{n:>6} members {:>18.1}", seconds[0] * 1e6);
        if n <= 100 {
            print!("   view {:.1}", seconds[1] * 1e6);
        }
        println!();
    }
}

fn backlog(rounds: usize) {
    println!("\nopen a backlog of 1 KiB envelopes to 10 members: us each, one by one and at once");
    let reader = identity(2);
    let mut list = keys(9);
    list.push(*reader.public().ed25519().as_bytes());
    let recipients = Recipients::from_ed25519(&list).expect("made keys are valid");
    for (senders, name) in [(1, "1 sender"), (100, "100 senders"), (1000, "each its sender")] {
        let senders: Vec<_> = (0..senders).map(|i| identity(1000 + i)).collect();
        let envelopes: Vec<_> = (0..1000)
            .map(|i| {
                Sealer::new(&senders[i % senders.len()], &recipients, CONTEXT)
                    .suite(Suite::X25519)
                    .seal(&[5; 1024], &mut OsRandom)
                    .expect("it can be sealed")
            })
            .collect();
        let backlog: Vec<_> = envelopes.iter().map(|envelope| &envelope[..]).collect();
        let opener = Opener::new(&reader, CONTEXT);
        for n in [10, 100, 1000] {
            let seconds = interleaved(
                rounds,
                &mut [
                    &mut || {
                        for envelope in &backlog[..n] {
                            drop(black_box(opener.open(envelope, &mut Policy::new())));
                        }
                    },
                    &mut || drop(black_box(opener.open_many(&backlog[..n], &mut Policy::new()))),
                ],
            );
            let each: Vec<f64> = seconds.iter().map(|s| s * 1e6 / n as f64).collect();
            println!(
                "{n:>6}, {name:<16} {:>8.1} {:>8.1}   {:.1}x",
                each[0],
                each[1],
                each[0] / each[1]
            );
        }
    }
}

fn content(rounds: usize) {
    println!(
        "\ncontent, GB/s a core     segments seal  open | envelope seal  open | stream seal  open | BLAKE3 | AES-256-GCM in one piece"
    );
    let (sender, reader) = (identity(1), identity(2));
    let recipients = Recipients::from_identities([reader.public()]).expect("made keys are valid");
    let sealer = Sealer::new(&sender, &recipients, CONTEXT).suite(Suite::X25519);
    let opener = Opener::new(&reader, CONTEXT);
    let key = InputKey::from_bytes(&[1; 32]);
    let gcm = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &[1; 32]).expect("32 bytes"));
    for len in [16 << 10, 1 << 20, 16 << 20] {
        let data = vec![5; len];
        let sealed = segment::seal(&key, b"", &data, &mut OsRandom).expect("it can be sealed");
        let envelope = sealer.seal(&data, &mut OsRandom).expect("it can be sealed");
        let mut out = envelope.clone();
        let mut in_place = data.clone();
        let mut chunks = sealed.clone();
        let mut opened = vec![0; len];
        let mut opened_stream = vec![0; len];
        let mut streamed = Vec::with_capacity(envelope.len());
        let seconds = interleaved(
            rounds,
            &mut [
                &mut || {
                    let source = segment::KeySource::new(&key);
                    let (keys, _) = hazmat::seal_keys(&source, &[0; 24], b"");
                    let mut sealer = segment::SliceSealer::new(keys, &mut chunks[56..]);
                    sealer.push(black_box(&data));
                    sealer.finish();
                },
                &mut || {
                    let salt = sealed.first_chunk().expect("it has a salt");
                    let source = segment::KeySource::new(&key);
                    let keys = hazmat::uncommitted_keys(&source, salt, b"");
                    let mut opener =
                        segment::SliceOpener::new(keys, &sealed[56..]).expect("just sealed");
                    opener.pull(black_box(&mut opened)).expect("just sealed");
                },
                &mut || drop(black_box(sealer.seal_into(&data, &mut out, &mut OsRandom))),
                &mut || drop(black_box(opener.open(&envelope, &mut Policy::new()))),
                &mut || {
                    streamed.clear();
                    let writer = sealer.writer(&mut streamed, &mut OsRandom);
                    let mut writer = writer.expect("it can be sealed");
                    writer.write_all(black_box(&data)).expect("memory takes it");
                    writer.finish().expect("memory takes it");
                },
                &mut || {
                    let reader = opener.reader(&envelope[..], Policy::new());
                    let mut reader = reader.expect("just sealed");
                    let mut rest = &mut opened_stream[..];
                    while !rest.is_empty() {
                        let len = reader.read(black_box(rest)).expect("just sealed");
                        rest = &mut rest[len..];
                    }
                    assert_eq!(reader.read(&mut [0]).expect("just sealed"), 0);
                },
                &mut || {
                    black_box(hash::digest(&data));
                },
                &mut || {
                    let nonce = Nonce::assume_unique_for_key([0; 12]);
                    let tag = gcm.seal_in_place_separate_tag(nonce, Aad::empty(), &mut in_place);
                    drop(black_box(tag));
                },
            ],
        );
        let speed: Vec<f64> = seconds.iter().map(|s| len as f64 / s / 1e9).collect();
        println!(
            "{:>10} KiB {:>19.1} {:>6.1} | {:>13.1} {:>5.1} | {:>11.1} {:>5.1} | {:>6.1} | {:>6.1}",
            len >> 10,
            speed[0],
            speed[1],
            speed[2],
            speed[3],
            speed[4],
            speed[5],
            speed[6],
            speed[7]
        );
    }
}
