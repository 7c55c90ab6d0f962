//! Secret types, segments, key agreement and signatures of endseal.
#![no_std]
#![deny(unsafe_code)]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[allow(unsafe_code)]
mod low;
