//! Identities and devices of a backlog's receiver and senders, and the interface of senders.

use endseal_crypto::ed25519::{PublicKey, Seed, SigningKey};
use endseal_keyring::device::{Address, DeviceId};

use crate::subject::Failure;

/// Number of the receiver's identity; the senders' numbers follow.
pub(super) const RECEIVER: u8 = 1;
/// Time of all messages: a day in 2026, in milliseconds since 1970.
pub(super) const NOW: u64 = 1_790_000_000_000;

/// Seals the messages of one conversation. Each backlog is sealed from the same state on.
pub(super) trait Sender {
    /// Seals all contents in order, from the state after the last message before the backlog.
    fn seal_all(&mut self, contents: &[&[u8]]) -> Result<Vec<Vec<u8>>, Failure>;
}

/// Returns the identity that sends in a pairwise conversation.
pub(super) fn sender(conversation: usize) -> SigningKey {
    let number = u8::try_from(conversation).unwrap_or(u8::MAX - 2) + RECEIVER + 1;
    identity(number)
}

/// Returns the device that sends in a pairwise conversation.
pub(super) fn address(conversation: usize) -> Address {
    let identity: PublicKey = *sender(conversation).public_key();
    Address { identity, device: FIRST }
}

/// Device number of every device here.
pub(super) const FIRST: DeviceId = match DeviceId::new(1) {
    Some(device) => device,
    None => unreachable!(),
};

/// Returns the identity with a number.
pub(super) fn identity(number: u8) -> SigningKey {
    SigningKey::from_seed(Seed::from_bytes(&[number; 32]))
}
