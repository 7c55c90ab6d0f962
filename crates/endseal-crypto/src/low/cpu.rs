//! What this CPU can do, as proofs.

/// Proof that this CPU runs AVX-512 F and IFMA: only [`HaveIfma::detect`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaveIfma(());

impl HaveIfma {
    /// Asks the CPU (with `std`) or the compiler's target features (without).
    #[must_use]
    pub fn detect() -> Option<Self> {
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        let found = std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512ifma");
        #[cfg(not(all(target_arch = "x86_64", feature = "std")))]
        let found = cfg!(all(
            target_arch = "x86_64",
            target_feature = "avx512f",
            target_feature = "avx512ifma"
        ));
        found.then_some(Self(()))
    }
}
