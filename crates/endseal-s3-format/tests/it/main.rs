//! Tests of docs/spec/s3-object.md by the public interface: every refusal, every range, every
//! vector.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]
#![allow(clippy::cast_possible_truncation, reason = "lengths of tests are short")]

mod fixture;
mod header;
mod hostile;
mod metadata;
mod multipart;
mod names;
mod range;
mod record;
mod upload;
mod vectors;
mod whole;
