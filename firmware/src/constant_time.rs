//! Checks that instruction counts do not depend on secrets: each operation must take the same
//! number for many random keys.
//!
//! The check is exact where the counter is. Elsewhere a difference of one tick is an error of the
//! counter. Equal numbers do not show that no address depends on a secret: these cores have no data
//! cache here.

use core::hint::black_box;

use endseal_crypto::secp256k1::{SecretKey, SigningKey};
use endseal_crypto::sha256::HmacKey;
use endseal_nostr::key;

use crate::payload;
use crate::platform::{Mark, TICK};

const KEYS: usize = 200;
/// Number of runs for each key of operations that take fewer instructions than some ticks.
const SHORT_RUNS: u32 = 50;
/// Number of runs for each key of operations of the curve, so that a difference of 50 instructions
/// is found where a tick has a hundred.
const CURVE_RUNS: u32 = 2;
const SEED: u64 = 0x6e6f_7374_7221_0029;

/// Prints a line for each operation; returns true if all took the same number of instructions.
pub(crate) fn print() -> bool {
    say!("\n=== CONSTANT TIME ===");
    say!("Instructions for {KEYS} random keys; the counter's tick is {TICK}.");
    let mut random = Random(SEED);
    let peer = payload::secret(2).public_key();
    let ecdh = compare("ecdh", CURVE_RUNS, |spread| {
        let own = random.secret_key();
        spread.add(|| drop(black_box(own.ecdh_x(&peer))));
    });
    let public_key = compare("public_key", CURVE_RUNS, |spread| {
        let own = random.secret_key();
        spread.add(|| _ = black_box(own.public_key()));
    });
    let sign = compare("sign", CURVE_RUNS, |spread| {
        let key = SigningKey::new(random.secret_key());
        let (message, aux) = (random.bytes(), random.bytes());
        spread.add(|| _ = black_box(key.sign(&message, &aux)));
    });
    let hmac = compare("hmac_compare", SHORT_RUNS, |spread| {
        let key = HmacKey::new(&random.bytes());
        let message = random.bytes();
        let mut mac = key.mac(&[&message]);
        // A random byte is changed in random bits. The verdict itself is public.
        let [at, difference, ..] = random.bytes();
        mac[usize::from(at % 32)] ^= difference | 1;
        spread.add(|| _ = black_box(key.verify(&[&message], &mac)));
    });
    let from_hex = compare("key_from_hex", SHORT_RUNS, |spread| {
        let mut digits = [0; key::HEX_LEN];
        key::secret_to_hex(&random.secret_key(), &mut digits);
        let digits = str::from_utf8(&digits).expect("digits are ASCII");
        spread.add(|| drop(black_box(key::secret_from_hex(digits).expect("a key"))));
    });
    let to_hex = compare("key_to_hex", SHORT_RUNS, |spread| {
        let key = random.secret_key();
        spread.add(|| {
            let mut digits = [0; key::HEX_LEN];
            key::secret_to_hex(black_box(&key), &mut digits);
            black_box(&digits);
        });
    });
    let from_nsec = compare("key_from_nsec", SHORT_RUNS, |spread| {
        let mut text = [0; key::BECH32_LEN];
        let text = key::secret_to_nsec(&random.secret_key(), &mut text)
            .expect("the buffer is large enough");
        spread.add(|| drop(black_box(key::secret_from_nsec(text).expect("a key"))));
    });
    let to_nsec = compare("key_to_nsec", SHORT_RUNS, |spread| {
        let key = random.secret_key();
        spread.add(|| {
            let mut text = [0; key::BECH32_LEN];
            let text = key::secret_to_nsec(black_box(&key), &mut text);
            black_box(text.expect("the buffer is large enough"));
        });
    });
    let texts = from_hex && to_hex && from_nsec && to_nsec;
    ecdh && public_key && sign && hmac && texts
}

/// Least and largest number of instructions of a run.
struct Spread {
    runs: u32,
    least: u64,
    most: u64,
}

impl Spread {
    fn add(&mut self, run: impl Fn()) {
        let start = Mark::now();
        for _ in 0..self.runs {
            run();
        }
        let instructions = start.elapsed();
        self.least = self.least.min(instructions);
        self.most = self.most.max(instructions);
    }
}

/// Calls `key` for each key, which adds its runs. `runs` is their number where a tick of the
/// counter is several instructions; where the counter is exact, one run is enough.
fn compare(name: &str, runs: u32, mut key: impl FnMut(&mut Spread)) -> bool {
    let runs = if TICK == 1 { 1 } else { runs };
    let mut spread = Spread { runs, least: u64::MAX, most: 0 };
    for _ in 0..KEYS {
        key(&mut spread);
    }
    let difference = spread.most - spread.least;
    let allowed = if TICK == 1 { 0 } else { u64::from(TICK) };
    let passed = difference <= allowed;
    let verdict = if passed { "PASS" } else { "FAIL" };
    let each = spread.least / u64::from(runs);
    say!("{name:<16} | {each:>9} | difference {difference:>4} in {runs:>2} runs | {verdict}");
    passed
}

/// xorshift64*, which is not secure. Nothing here needs real secrets.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for word in bytes.as_chunks_mut().0 {
            *word = self.next().to_le_bytes();
        }
        bytes
    }

    fn secret_key(&mut self) -> SecretKey {
        SecretKey::from_bytes(&self.bytes()).expect("above n once in 2^127 times")
    }
}
