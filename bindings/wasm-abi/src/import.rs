//! The one function that JavaScript provides.

#[link(wasm_import_module = "endseal")]
unsafe extern "C" {
    /// Writes random bytes at the beginning of [`ENTROPY`](crate::entropy::ENTROPY), and nowhere
    /// else. Returns 1 if it did.
    pub(crate) safe fn fill_entropy(len: usize) -> i32;
}
