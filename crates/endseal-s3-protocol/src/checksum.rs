//! The checksums of S3, which a client states for its content in headers or in a trailer.
//!
//! [`Digests`] computes what a request asks for and nothing else, since hashing costs more than
//! sealing. [`combined`] and [`composite`] make the checksum of a multipart object out of those of
//! its parts.

mod digests;
mod error;
mod hasher;
mod kind;
mod multipart;

pub use digests::{Digests, Outcome};
pub use error::ChecksumError;
pub use hasher::Hasher;
pub use kind::{ChecksumKind, ChecksumValue};
pub use multipart::{ChecksumType, combined, composite, parse_composite};
