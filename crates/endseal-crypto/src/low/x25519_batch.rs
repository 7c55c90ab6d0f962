//! Many X25519 agreements with one scalar, and the conversions from Ed25519 keys: vector kernels
//! where the CPU has AVX-512 IFMA, or AVX2 and FMA, their portable twin elsewhere, with the same
//! bytes.
//!
//! All functions take any 32 bytes: bit 255 is ignored and coordinates from p to 2^255 - 1 are
//! taken modulo p, as RFC 7748 says. A point of low order gives 32 zero bytes in its own place and
//! changes no other; the caller MUST reject them. Inputs and outputs MUST have the same length.
#![forbid(unsafe_code)]

pub use super::cpu::{HaveFma, HaveIfma, Radix};
use super::x25519_portable as portable;
#[cfg(target_arch = "x86_64")]
use super::{x86_64, x86_64_fma};

/// Implementation of the X25519 batch arithmetic that runs on this CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Platform {
    /// Safe Rust, point after point. Its agreements are slower than a library's: call one instead.
    Portable,
    /// Eight points at a time in AVX-512 IFMA, by the kernel that the token names.
    Ifma(HaveIfma),
    /// Four points at a time in AVX2 with FMA. Conversions of Ed25519 keys are the portable ones.
    Fma(HaveFma),
}

impl Platform {
    /// The fastest that this CPU has.
    #[must_use]
    pub fn detect() -> Self {
        let ifma = HaveIfma::detect().map(Self::Ifma);
        ifma.or_else(|| HaveFma::detect().map(Self::Fma)).unwrap_or(Self::Portable)
    }

    /// All that run on this CPU: the portable one, the kernel for AVX2 and FMA, and those of both
    /// radixes where it has IFMA, whichever [`Self::detect`] chooses. All give the same bytes; this
    /// is to test that.
    pub fn all() -> impl Iterator<Item = Self> {
        let kernels = |token: HaveIfma| {
            [Radix::Bits51, Radix::Bits52].map(|radix| Self::Ifma(token.in_radix(radix)))
        };
        let kernels = HaveIfma::detect().map(kernels);
        let portable = core::iter::once(Self::Portable);
        let fma = HaveFma::detect().map(Self::Fma);
        portable.chain(fma).chain(kernels.into_iter().flatten())
    }
}

/// `out[i] = X25519(scalar, us[i])`.
///
/// # Panics
/// If the lengths differ.
pub fn montgomery_batch(
    platform: Platform,
    scalar: &[u8; 32],
    us: &[[u8; 32]],
    out: &mut [[u8; 32]],
) {
    assert_eq!(us.len(), out.len());
    match platform {
        #[cfg(target_arch = "x86_64")]
        Platform::Ifma(token) => x86_64::montgomery_batch(token, scalar, us, out),
        #[cfg(target_arch = "x86_64")]
        Platform::Fma(token) => x86_64_fma::montgomery_batch(token, scalar, us, out),
        _ => portable::montgomery_batch(scalar, us, out),
    }
}

/// `out[i] = X25519(scalar, u)` with `u = (1 + y) / (1 - y)` for the Ed25519 keys `ys`. Neither the
/// sign bit nor whether the key is on the curve makes a difference: check keys where they come in,
/// with [`edwards_on_curve_batch`].
///
/// # Panics
/// If the lengths differ.
pub fn edwards_batch(platform: Platform, scalar: &[u8; 32], ys: &[[u8; 32]], out: &mut [[u8; 32]]) {
    assert_eq!(ys.len(), out.len());
    match platform {
        #[cfg(target_arch = "x86_64")]
        Platform::Ifma(token) => x86_64::edwards_batch(token, scalar, ys, out),
        #[cfg(target_arch = "x86_64")]
        Platform::Fma(token) => x86_64_fma::edwards_batch(token, scalar, ys, out),
        _ => portable::edwards_batch(scalar, ys, out),
    }
}

/// `out[i] = (1 + y) / (1 - y)`, canonical, and 0 for the identity (y = 1).
///
/// # Panics
/// If the lengths differ.
pub fn edwards_to_montgomery_batch(platform: Platform, ys: &[[u8; 32]], out: &mut [[u8; 32]]) {
    assert_eq!(ys.len(), out.len());
    match platform {
        #[cfg(target_arch = "x86_64")]
        Platform::Ifma(token) => x86_64::edwards_to_montgomery_batch(token, ys, out),
        _ => portable::edwards_to_montgomery_batch(ys, out),
    }
}

/// `out[i]`: whether the Ed25519 key decompresses, that is, whether an x with this y is on the
/// curve. As in curve25519-dalek, the sign bit and whether y is below p make no difference, x = 0
/// included.
///
/// # Panics
/// If the lengths differ.
pub fn edwards_on_curve_batch(platform: Platform, ys: &[[u8; 32]], out: &mut [bool]) {
    assert_eq!(ys.len(), out.len());
    match platform {
        #[cfg(target_arch = "x86_64")]
        Platform::Ifma(token) => x86_64::edwards_on_curve_batch(token, ys, out),
        _ => portable::edwards_on_curve_batch(ys, out),
    }
}
