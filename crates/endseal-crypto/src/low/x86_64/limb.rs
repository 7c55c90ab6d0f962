//! Limbs of a radix: their masks, and the bounds between operations.

/// Returns the mask of a limb of `bits` bits.
pub(super) const fn limb_mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// Returns the mask of limb 4, which ends at bit 255.
pub(super) const fn top_mask(bits: u32) -> u64 {
    (1 << (255 - 4 * bits)) - 1
}

/// Bounds of the limbs between the operations of one radix; columns in units of 2^52.
pub(super) struct LimbBounds {
    /// Limbs 0 to 3 and limb 4 that were carried: none is above.
    pub(super) reduced: [u64; 2],
    /// Columns of products and squares: all are below.
    pub(super) product: u64,
    /// The same with the bias.
    pub(super) biased: u64,
    /// Columns that may be subtracted from biased columns.
    pub(super) subtracted: u64,
    /// Columns that may be carried.
    pub(super) carried: u64,
}
