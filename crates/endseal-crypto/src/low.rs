//! Kernels and foreign functions: the only place where `unsafe` is allowed.

#[cfg(feature = "std")]
pub(crate) mod mlkem768_ffi;
