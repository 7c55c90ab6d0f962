//! The Nostr core on chips, without an allocator: its instructions, its stack, and its independence
//! of secrets.
//!
//! One program for three instruction sets. It prints the official payload of "a", the table of the
//! published baseline, the constant-time checks and a line of JSON for each measurement. It exits
//! with 0 if every check passed. No function allocates: the program would not link.
#![no_std]
#![no_main]
#![deny(unsafe_code)]
#![cfg_attr(target_arch = "xtensa", feature(asm_experimental_arch))]

#[macro_use]
mod console;
mod constant_time;
mod label;
mod measurements;
mod meter;
mod operation;
mod payload;
#[allow(unsafe_code)]
mod platform;
mod rounds;
mod table;
mod workbench;

use workbench::Workbench;

/// Runs all checks and measurements. Returns true if every check passed.
fn run() -> bool {
    let mut bench = Workbench::new();
    say!("\n=== Nostr Encryption/Decryption Benchmark ===");
    say!("Machine: {}", platform::MACHINE);
    say!("Free heap: 0 bytes (no allocator is linked)");
    let payload = payload::print(&bench);
    let table = table::print(&mut bench);
    let constant_time = constant_time::print();
    let measurements = measurements::print(&mut bench);
    payload && table && constant_time && measurements
}
