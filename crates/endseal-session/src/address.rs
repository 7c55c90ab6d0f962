//! Who a partner is: an identity, and one of its devices.

use core::fmt;
use core::num::NonZeroU32;

use endseal_crypto::ed25519::PublicKey;

/// An identity and a device of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    identity: PublicKey,
    device: NonZeroU32,
}

impl Address {
    /// The device of that number of an identity.
    #[must_use]
    pub fn new(identity: PublicKey, device: NonZeroU32) -> Self {
        Self { identity, device }
    }

    /// The identity.
    #[must_use]
    pub fn identity(&self) -> &PublicKey {
        &self.identity
    }

    /// The device's number.
    #[must_use]
    pub fn device(&self) -> NonZeroU32 {
        self.device
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}/{}", self.identity, self.device)
    }
}
