//! Tests of the device program with a board and a flash in memory.
#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "they are tests")]
#![allow(clippy::cast_possible_truncation, reason = "as above")]

#[path = "it/board.rs"]
mod board;
#[path = "it/requests.rs"]
mod requests;
#[path = "it/resets.rs"]
mod resets;
#[path = "it/vectors.rs"]
mod vectors;
