//! X25519 of eight points at a time with one scalar, in AVX-512 IFMA: a kernel in radix 2^51 and
//! one in radix 2^52, generic in `BITS` above the arithmetic of [`field51`] and [`field52`].
//! [`HaveIfma`](crate::low::cpu::HaveIfma) says which runs. `docs/design/x25519-batch.md` says why
//! it is as it is.
//!
//! # What is wiped
//! Scalar, masks, field elements in memory are wiped when they go out of scope, and
//! [`wipe::registers_and_stack`] clears the vector registers and the stack below its caller, where
//! the compiler spilled. Copies in general registers are few words and soon overwritten; they are
//! not found.

mod batch;
#[cfg(test)]
mod bounds_tests;
mod edwards;
mod field;
mod field51;
mod field52;
mod inversion;
mod ladder;
mod lane;
mod lanes;
mod limb;
#[cfg(test)]
mod tests;
mod wipe;

pub(super) use batch::{edwards_batch, edwards_to_montgomery_batch, montgomery_batch};
pub(super) use edwards::edwards_on_curve_batch;
pub(super) use ladder::Masks;
#[cfg(test)]
pub(super) use lane::Lane;
pub(super) use wipe::avx_registers_and_stack;
