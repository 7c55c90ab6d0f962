//! The C library `endseal`: `include/endseal.h` is written from the module [`abi`].
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod abi;
mod status;

pub use abi::*;
pub use status::Status;
