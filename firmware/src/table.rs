//! The table of the published benchmark (`lnbits/nsec-remote-signer`): its columns, the names and
//! sizes of its rows, its summary.
//!
//! Times are estimates: instructions at the clock of a chip with this instruction set, with one
//! cycle for each.

use crate::label::Label;
use crate::meter::{self, Cost};
use crate::operation::{
    AES_DECRYPT, AES_ENCRYPT, AES_FIVE_ROUNDS, CHACHA20, FULL_NIP04, FULL_NIP44, NIP04_DECRYPT_KEY,
    NIP04_ENCRYPT_KEY, NIP04_ROUND_KEY, NIP44_DECRYPT, NIP44_DECRYPT_KEY, NIP44_ENCRYPT,
    NIP44_ENCRYPT_KEY, Operation,
};
use crate::platform::{CHIP, CLOCK_MHZ};
use crate::rounds;
use crate::workbench::Workbench;

const SIZES: &[usize] = &[16, 64, 256, 1024, 4096, 8192];
/// Sizes of the published rows of NIP-44, 1024 of the sample in its document, and 16.
const NIP44_SIZES: &[usize] = &[16, 32, 128, 512, 1024, 2048, 4096];
/// The same sizes under a cached key, and the others of AES.
const CACHED_SIZES: &[usize] = &[16, 32, 64, 256, 1024, 4096, 8192];
const NIP04_SIZES: &[usize] = &[16, 64, 256];

/// Rows of an operation at several sizes: text before the size, text after it, operation, sizes.
type Rows = (&'static str, &'static str, &'static Operation, &'static [usize]);

const PUBLISHED: &[Rows] = &[
    ("AES Encrypt", "", &AES_ENCRYPT, SIZES),
    ("AES Decrypt", "", &AES_DECRYPT, SIZES),
    ("NIP04 Encrypt", "", &NIP04_ENCRYPT_KEY, NIP04_SIZES),
    ("NIP04 Decrypt", "", &NIP04_DECRYPT_KEY, NIP04_SIZES),
    ("NIP44 Encrypt", "", &NIP44_ENCRYPT_KEY, NIP44_SIZES),
    ("NIP44 Decrypt", "", &NIP44_DECRYPT_KEY, NIP44_SIZES),
];

const OURS: &[Rows] = &[
    ("NIP44 Encrypt", " cached", &NIP44_ENCRYPT, CACHED_SIZES),
    ("NIP44 Decrypt", " cached", &NIP44_DECRYPT, CACHED_SIZES),
    ("ChaCha20", "", &CHACHA20, SIZES),
];

/// Prints the table. Returns true if each row passed.
pub(crate) fn print(bench: &mut Workbench) -> bool {
    say!("\n=== BENCHMARK SUMMARY ===");
    say!("Time is estimated: instructions at {CLOCK_MHZ} MHz ({CHIP}) and 1.0 cycle each.");
    say!("Rows have their published names; \"cached\" rows keep the key of a conversation, the");
    say!("others derive it for each message. Full rows verify the event first.");
    say!("Test Name                    | Size    | Time(ms) | Heap(B) | Throughput(B/s) | Success");
    say!("----------------------------|---------|----------|---------|-----------------|--------");
    let mut summary = Summary::default();
    for rows in PUBLISHED {
        summary.add_all(bench, rows);
    }
    let five = meter::measure(bench, &AES_FIVE_ROUNDS, 256);
    summary.add("AES 5x Encrypt/Decrypt", 2560, five);
    let cycle = meter::measure(bench, &NIP04_ROUND_KEY, 128);
    summary.add("NIP04 Full Cycle 128B", 256, cycle);
    for (name, operation) in
        [("NIP04 Full Decrypt 1KB", &FULL_NIP04), ("NIP44 Full Decrypt 1KB", &FULL_NIP44)]
    {
        let cost = meter::measure(bench, operation, 1024);
        summary.add(name, 1024, cost);
    }
    for (bytes, count) in [(1024, 10), (16, 10_000)] {
        let cost = rounds::measure(bench, bytes, count);
        let name = Label::new(format_args!("Memory Fragmentation {count}x"));
        summary.add_label(name, bytes as u64 * u64::from(count), cost);
    }
    for rows in OURS {
        summary.add_all(bench, rows);
    }
    summary.print();
    summary.passed
}

/// Figures of the rows so far, for the summary.
struct Summary {
    fastest: Option<(Label, u64)>,
    slowest: Option<(Label, u64)>,
    passed: bool,
}

impl Default for Summary {
    fn default() -> Self {
        Self { fastest: None, slowest: None, passed: true }
    }
}

impl Summary {
    fn add_all(&mut self, bench: &mut Workbench, &(before, behind, operation, sizes): &Rows) {
        for &bytes in sizes {
            let name = Label::new(format_args!("{before} {bytes}B{behind}"));
            let cost = meter::measure(bench, operation, bytes);
            self.add_label(name, bytes as u64, cost);
        }
    }

    fn add(&mut self, name: &str, bytes: u64, cost: Cost) {
        self.add_label(Label::new(format_args!("{name}")), bytes, cost);
    }

    /// Prints a row. The heap column is zero in all rows, because there is no heap.
    fn add_label(&mut self, name: Label, bytes: u64, cost: Cost) {
        let micros = cost.instructions / u64::from(CLOCK_MHZ);
        let time = Label::new(format_args!("{}.{:03}", micros / 1000, micros % 1000));
        // Speed in hundredths of a byte a second.
        let speed = bytes * u64::from(CLOCK_MHZ) * 100_000_000 / cost.instructions.max(1);
        let success = if cost.passed { "PASS" } else { "FAIL" };
        say!("{name:<28} | {bytes:>7} | {time:>8} | {:>7} | {:>15} | {success}", 0, Speed(speed));
        self.passed &= cost.passed;
        if self.fastest.is_none_or(|(_, fastest)| speed > fastest) {
            self.fastest = Some((name, speed));
        }
        if self.slowest.is_none_or(|(_, slowest)| speed < slowest) {
            self.slowest = Some((name, speed));
        }
    }

    fn print(&self) {
        let (Some((fastest, most)), Some((slowest, least))) = (self.fastest, self.slowest) else {
            return;
        };
        say!("\n=== ANALYSIS ===");
        say!("Fastest operation: {fastest} ({} B/s)", Speed(most));
        say!("Slowest operation: {slowest} ({} B/s)", Speed(least));
        say!("Performance ratio: {}x", Speed(most * 100 / least.max(1)));
        say!("\nFinal heap: 0 bytes (no allocator is linked)");
    }
}

/// A number in hundredths, printed with two decimals.
struct Speed(u64);

impl core::fmt::Display for Speed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        Label::new(format_args!("{}.{:02}", self.0 / 100, self.0 % 100)).fmt(f)
    }
}
