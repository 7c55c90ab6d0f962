//! Functions that a chip provides.

use crate::status::Failure;

/// The functions of the caller. `abi` implements it by the pointers that C passes.
pub(crate) trait Platform {
    /// Fills `out` with bytes of a cryptographically secure source.
    fn random(&mut self, out: &mut [u8]) -> Result<(), Failure>;

    /// Is called before each step of bounded work, so that a watchdog is fed.
    fn between_steps(&mut self);

    /// Encrypts or decrypts blocks by AES-256-ECB where they lie, if the chip has a peripheral.
    /// Returns `None` if it has none.
    fn aes256(
        &mut self,
        key: &[u8; 32],
        decrypt: bool,
        blocks: &mut [[u8; 16]],
    ) -> Option<Result<(), Failure>>;
}

/// Draws bytes from the random source.
pub(crate) fn draw<const N: usize>(platform: &mut impl Platform) -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    platform.random(&mut bytes)?;
    Ok(bytes)
}
