//! X25519 of four points at a time with one scalar, in AVX2 and FMA, for CPUs without AVX-512 IFMA.
//!
//! Limbs are doubles that hold integers: the multiplier for them is the widest that these CPUs have
//! in vectors. [`machine`] has the operations and why they are exact, [`field`] the arithmetic
//! modulo p with its bounds. `docs/design/x25519-batch.md` says why it is as it is.
//!
//! # What is wiped
//! The same as in `x86_64`: the scalar, masks and field elements in memory, the vector registers,
//! and the stack below the caller.

mod batch;
#[cfg(test)]
mod bounds_tests;
mod field;
mod float_environment;
mod ladder;
mod machine;
#[cfg(test)]
mod tests;

#[cfg(all(test, feature = "std", target_os = "linux"))]
pub(super) use batch::montgomery_batch_unwiped;
pub(super) use batch::{edwards_batch, montgomery_batch};
