//! Interface of a group member for the scenarios, implemented with either library.

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::{Address, Certificate, DeviceId, DeviceKeys};

/// Reason why a scenario failed.
pub(crate) type Reason = String;

/// Content of a message as a member reads it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Text { sender: Address, text: Vec<u8> },
    Change { members: Vec<Address> },
    Removed,
    Proposal,
}

/// A device that is in one group, or that is about to join one.
pub(crate) trait Member {
    fn address(&self) -> Address;
    fn create(&mut self) -> Result<(), Reason>;
    fn key_package(&mut self) -> Result<Vec<u8>, Reason>;
    fn join(&mut self, welcome: &[u8]) -> Result<(), Reason>;
    /// Adds a member. Returns commit and welcome; the commit is pending.
    fn add(&mut self, key_package: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Reason>;
    fn remove(&mut self, member: Address) -> Result<Vec<u8>, Reason>;
    /// Returns a proposal to remove a member; `None` for a library that makes no proposals.
    fn propose_removal(&mut self, member: Address) -> Option<Result<Vec<u8>, Reason>>;
    /// Returns a commit that replaces this member's keys and includes all pending proposals.
    fn update(&mut self) -> Result<Vec<u8>, Reason>;
    fn accept(&mut self) -> Result<(), Reason>;
    fn seal(&mut self, text: &[u8]) -> Result<Vec<u8>, Reason>;
    fn open(&mut self, body: &[u8]) -> Result<Seen, Reason>;
    /// Returns the addresses of all members, sorted.
    fn members(&self) -> Vec<Address>;
    fn epoch(&self) -> u64;
}

/// Returns the seed of the group key of a device, by its number.
pub(crate) fn group_seed(number: u8) -> Seed {
    Seed::from_bytes(&[number ^ 0x40; 32])
}

/// Returns the certificate of a device, by its number.
pub(crate) fn certificate(number: u8) -> Result<Certificate, Reason> {
    let identity = SigningKey::from_seed(Seed::from_bytes(&[number; 32]));
    let keys = DeviceKeys {
        device: DeviceId::new(1).ok_or("device 0")?,
        peer_id: PeerId::from_bytes(&[number; 32]),
        agreement: identity.public_key().to_x25519(),
        signing: *identity.public_key(),
        group: *SigningKey::from_seed(group_seed(number)).public_key(),
    };
    Ok(Certificate::issue(&identity, &keys, 1_790_000_000_000))
}
