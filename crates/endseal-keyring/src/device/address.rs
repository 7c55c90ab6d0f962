//! Addresses of the participants of a session.

use core::fmt;
use core::num::NonZeroU32;

use base16ct::HexDisplay;
use endseal_crypto::ed25519;

/// One device of one identity. Its order is that of the bytes: identity, then device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(clippy::exhaustive_structs, reason = "the pair is what the specification says it is")]
pub struct Address {
    /// Identity of the device's owner.
    pub identity: ed25519::PublicKey,
    /// Number of the device among those of the identity.
    pub device: DeviceId,
}

/// The first 8 bytes of the identity in hexadecimal, and the device: `d75a980182b10ab7/1`. It is
/// for messages to people. It is too short to authenticate an identity: compare the whole address
/// for that.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}/{}", HexDisplay(&self.identity.as_bytes()[..8]), self.device)
    }
}

/// The number that an owner gave to a device, from 1 to 2^32 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(NonZeroU32);

impl DeviceId {
    /// Makes a device id of a number; `None` for 0.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        // `Option::map` is not const.
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number of the device, from 1.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0.get()
    }
}

impl From<NonZeroU32> for DeviceId {
    fn from(number: NonZeroU32) -> Self {
        Self(number)
    }
}

impl From<DeviceId> for NonZeroU32 {
    fn from(device: DeviceId) -> Self {
        device.0
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
