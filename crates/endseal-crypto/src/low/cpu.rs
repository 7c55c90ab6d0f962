//! Features of this CPU, as proofs, and the kernel that suits it.

#[cfg(target_arch = "x86_64")]
use core::sync::atomic::{AtomicU8, Ordering};

/// Evaluates to true if the CPU has all of these features: by asking it (with `std`), or by the
/// compiler's target features (without).
macro_rules! cpu_has {
    ($($feature:tt),+) => {{
        #[cfg(all(target_arch = "x86_64", feature = "std"))]
        let found = $(std::arch::is_x86_feature_detected!($feature))&&+;
        #[cfg(not(all(target_arch = "x86_64", feature = "std")))]
        let found = cfg!(all(target_arch = "x86_64", $(target_feature = $feature),+));
        found
    }};
}

/// Proof that this CPU runs AVX-512 F, DQ and IFMA: only [`HaveIfma::detect`] makes one. It also
/// says which of the two kernels runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaveIfma(Radix);

/// Radix of the batch kernel's limbs. Both kernels run on every CPU with [`HaveIfma`] and give the
/// same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Radix {
    /// 2^51: fewer multiplications. Faster where only these compete for two ports.
    Bits51,
    /// 2^52: fewer operations of all kinds. Faster where all of them compete for two ports.
    Bits52,
}

impl HaveIfma {
    /// Asks the CPU (with `std`) or the compiler's target features (without), and chooses the
    /// kernel that is faster there.
    #[must_use]
    pub fn detect() -> Option<Self> {
        cpu_has!("avx512f", "avx512dq", "avx512ifma").then(|| Self(Radix::fastest()))
    }

    /// The radix of the field arithmetic, and with it the kernel, that this proof stands for.
    #[must_use]
    pub fn radix(self) -> Radix {
        self.0
    }

    /// The same proof with this kernel, so that both can be tested and measured on one CPU.
    #[must_use]
    pub fn in_radix(self, radix: Radix) -> Self {
        Self(radix)
    }
}

impl Radix {
    /// By the vendor, who is asked once: on a virtual machine CPUID goes to the hypervisor.
    #[cfg(target_arch = "x86_64")]
    fn fastest() -> Self {
        const UNKNOWN: u8 = 0;
        static BITS: AtomicU8 = AtomicU8::new(UNKNOWN);
        let mut bits = BITS.load(Ordering::Relaxed);
        if bits == UNKNOWN {
            // SAFETY: every x86-64 CPU has the instruction CPUID. It touches registers only.
            #[allow(unused_unsafe, reason = "needed before Rust 1.94")]
            let leaf = unsafe { core::arch::x86_64::__cpuid(0) };
            bits = match Self::of_vendor([leaf.ebx, leaf.edx, leaf.ecx]) {
                Self::Bits51 => 51,
                Self::Bits52 => 52,
            };
            BITS.store(bits, Ordering::Relaxed);
        }
        if bits == 51 { Self::Bits51 } else { Self::Bits52 }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn fastest() -> Self {
        Self::Bits52
    }

    /// AMD's CPUs (Zen 4 and 5) add, shift and mask beside two multiplications at a time, Intel's
    /// do everything in the ports that multiply. `docs/design/x25519-batch.md` has the figures.
    #[cfg(any(test, target_arch = "x86_64"))]
    fn of_vendor(name: [u32; 3]) -> Self {
        let amd = [*b"Auth", *b"enti", *b"cAMD"].map(u32::from_le_bytes);
        if name == amd { Self::Bits51 } else { Self::Bits52 }
    }
}

/// Proof that this CPU runs AVX2 and FMA: only [`HaveFma::detect`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaveFma(());

impl HaveFma {
    /// Asks the CPU (with `std`) or the compiler's target features (without).
    #[must_use]
    pub fn detect() -> Option<Self> {
        cpu_has!("avx2", "fma").then_some(Self(()))
    }
}

/// Proof that this CPU runs AVX2: only [`HaveAvx2::detect`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaveAvx2(());

impl HaveAvx2 {
    /// Asks the CPU (with `std`) or the compiler's target features (without).
    #[must_use]
    pub fn detect() -> Option<Self> {
        cpu_has!("avx2").then_some(Self(()))
    }
}

/// Proof that this CPU runs AVX-512 F and BW: only [`HaveAvx512::detect`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaveAvx512(());

impl HaveAvx512 {
    /// Asks the CPU (with `std`) or the compiler's target features (without).
    #[must_use]
    pub fn detect() -> Option<Self> {
        cpu_has!("avx512f", "avx512bw").then_some(Self(()))
    }
}

/// Proof that this CPU runs AES, VAES and VPCLMULQDQ on vectors of AVX-512 F, BW and VL: only
/// [`HaveVaes::detect`] makes one.
#[cfg(all(feature = "alloc", target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HaveVaes(());

#[cfg(all(feature = "alloc", target_arch = "x86_64"))]
impl HaveVaes {
    /// Asks the CPU (with `std`) or the compiler's target features (without).
    #[must_use]
    pub(crate) fn detect() -> Option<Self> {
        cpu_has!("avx512f", "avx512bw", "avx512vl", "avx2", "aes", "vaes", "vpclmulqdq")
            .then_some(Self(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_goes_by_the_vendor() {
        let vendor = |name: &[u8; 12]| {
            let words = name.as_chunks::<4>().0;
            Radix::of_vendor([0, 1, 2].map(|i: usize| u32::from_le_bytes(words[i])))
        };
        assert_eq!(vendor(b"AuthenticAMD"), Radix::Bits51);
        assert_eq!(vendor(b"GenuineIntel"), Radix::Bits52);
        assert_eq!(vendor(b"CentaurHauls"), Radix::Bits52);
    }

    /// `ENDSEAL_REQUIRE=avx2,avx512,fma,ifma,vaes` names kernels that must run here: tests of the
    /// others pass without a check.
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    #[allow(clippy::panic, clippy::print_stdout, reason = "a test that says which kernels ran")]
    #[test]
    fn required_kernels_run_on_this_cpu() {
        let kernels = [
            ("avx2", HaveAvx2::detect().is_some()),
            ("avx512", HaveAvx512::detect().is_some()),
            ("fma", HaveFma::detect().is_some()),
            ("ifma", HaveIfma::detect().is_some()),
            ("vaes", HaveVaes::detect().is_some()),
        ];
        let required = std::env::var("ENDSEAL_REQUIRE").unwrap_or_default();
        for name in required.split(',').filter(|name| !name.is_empty()) {
            let Some((_, runs)) = kernels.iter().find(|(known, _)| *known == name) else {
                panic!("there is no kernel {name}: ENDSEAL_REQUIRE names some of {kernels:?}");
            };
            assert!(runs, "ENDSEAL_REQUIRE asks for {name}, which this CPU does not have");
        }
        std::println!("kernels under test, besides the portable ones: {kernels:?}");
    }

    #[test]
    fn a_proof_is_the_same_each_time_and_takes_either_kernel() {
        let Some(token) = HaveIfma::detect() else { return };
        assert_eq!(HaveIfma::detect(), Some(token));
        for radix in [Radix::Bits51, Radix::Bits52] {
            assert_eq!(token.in_radix(radix).radix(), radix);
        }
    }
}
