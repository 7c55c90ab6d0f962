//! Kernels and foreign functions: the only place where `unsafe` is allowed.

pub(crate) mod chacha20;
pub(crate) mod cpu;
mod divsteps25519;
pub(crate) mod field25519;
#[cfg(test)]
mod interval;
mod limbs25519;
#[cfg(feature = "aws-lc")]
pub(crate) mod mldsa65_ffi;
#[cfg(feature = "aws-lc")]
pub(crate) mod mlkem768_ffi;
#[cfg(test)]
mod reference25519;
#[cfg(feature = "aws-lc")]
pub(crate) mod scrypt_ffi;
#[cfg(feature = "aws-lc")]
pub(crate) mod secp256k1_ffi;
pub(crate) mod taint;
#[cfg(all(feature = "alloc", target_arch = "x86_64"))]
pub(crate) mod vaes;
pub(crate) mod wipe;
pub(crate) mod x25519_batch;
pub(crate) mod x25519_portable;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;
#[cfg(target_arch = "x86_64")]
mod x86_64_fma;
#[cfg(target_arch = "xtensa")]
pub(crate) mod xtensa;
