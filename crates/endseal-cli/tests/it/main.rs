//! The program from outside: arguments, output, exit codes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod bad_input;
mod bench;
mod demo;
mod files;
mod groups;
mod help;
mod identities;
mod killed;
mod listener;
mod memory;
mod network;
mod peers;
mod people;
mod pipes;
mod scratch;
