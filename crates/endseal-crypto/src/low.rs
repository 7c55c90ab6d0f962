//! Kernels: the only place where `unsafe` is allowed.
