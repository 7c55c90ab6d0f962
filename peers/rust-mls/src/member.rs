//! Interface of a member for the scenarios, for either library.

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::{Address, Certificate, DeviceId, DeviceKeys};

/// Why a scenario failed.
pub(crate) type Reason = String;

/// Content of a message for a member.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Text { sender: Address, text: Vec<u8> },
    Change { members: Vec<Address> },
    Removed,
    Proposal,
}

/// A device that is in one group, or about to be.
pub(crate) trait Member {
    fn address(&self) -> Address;
    fn create(&mut self) -> Result<(), Reason>;
    fn key_package(&mut self) -> Result<Vec<u8>, Reason>;
    fn join(&mut self, welcome: &[u8]) -> Result<(), Reason>;
    /// Commit and welcome; the commit is pending.
    fn add(&mut self, key_package: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Reason>;
    fn remove(&mut self, member: Address) -> Result<Vec<u8>, Reason>;
    /// A proposal, of a library that makes some.
    fn propose_removal(&mut self, member: Address) -> Option<Result<Vec<u8>, Reason>>;
    /// A commit, with what was proposed.
    fn update(&mut self) -> Result<Vec<u8>, Reason>;
    fn accept(&mut self) -> Result<(), Reason>;
    fn seal(&mut self, text: &[u8]) -> Result<Vec<u8>, Reason>;
    fn open(&mut self, body: &[u8]) -> Result<Seen, Reason>;
    /// By address, sorted.
    fn members(&self) -> Vec<Address>;
    fn epoch(&self) -> u64;
}

/// The seed of the group key of a device by its number.
pub(crate) fn group_seed(number: u8) -> Seed {
    Seed::from_bytes(&[number ^ 0x40; 32])
}

/// The certificate of a device by its number.
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
