#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! | to do this | use |
//! |---|---|
//! | find what a request is about | [`Target`], [`Operation`] |
//! | verify and make signatures | [`sigv4`] |
//! | read content as a request frames and announces it | [`content`] |
//! | take the content out of a chunked upload | [`aws_chunked`] |
//! | compute and compare checksums | [`checksum`] |
//! | read and write documents | [`xml`] |
//! | say why a request fails | [`S3Error`] |
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "there is nothing here without std"
)]

extern crate alloc;

pub mod aws_chunked;
mod byte_range;
pub mod checksum;
pub mod content;
mod error;
pub mod headers;
mod operation;
pub mod sigv4;
mod target;
pub mod xml;

pub use byte_range::ByteRange;
pub use error::S3Error;
pub use operation::Operation;
pub use target::{MAX_KEY, Query, Target, check_key_len};
