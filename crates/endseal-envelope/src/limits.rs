//! Limits of the envelope format (docs/spec/envelope.md).

/// Largest number of slots in one envelope: 2^20.
pub const MAX_SLOTS: usize = 1 << 20;
/// Largest length of a context, in bytes.
pub const MAX_CONTEXT_LEN: usize = 1024;
