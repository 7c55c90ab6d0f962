//! Functions that a board provides.

/// The hardware around the program: a serial port, a button, a light, a clock, randomness.
pub trait Board {
    /// Returns the next byte that the host sent, or `None` at once if there is none.
    fn read(&mut self) -> Option<u8>;

    /// Sends bytes to the host. Waits for the port at most, never for the host.
    fn write(&mut self, bytes: &[u8]);

    /// Returns the milliseconds since some start. The count may wrap.
    fn now(&mut self) -> u32;

    /// Returns true while the button is pressed.
    fn is_pressed(&mut self) -> bool;

    /// Switches the light on or off.
    fn light(&mut self, is_on: bool);

    /// Fills `out` with bytes of a cryptographically secure source.
    ///
    /// # Errors
    /// [`NoRandomness`] if the source fails; `out` must not be used then.
    fn random(&mut self, out: &mut [u8; 32]) -> Result<(), NoRandomness>;
}

/// The random source of the chip failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "boards make it")]
pub struct NoRandomness;
