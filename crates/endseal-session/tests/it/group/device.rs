//! Devices and groups for the tests.

use core::time::Duration;
use std::collections::BTreeMap;

use endseal_crypto::ed25519::{PublicKey, Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Certificate, DeviceId, DeviceKeys};
use endseal_session::group::{
    Commit, EpochState, Group, GroupChanges, GroupDevice, GroupKey, Joined, Suite,
};

/// A time in 2026, since 1970.
pub(crate) const NOW: Duration = Duration::from_secs(1_790_000_000);
pub(crate) const ID: &[u8] = b"team";

/// Returns the certificate of device 1 of identity `number`.
pub(crate) fn certificate(number: u8, group: PublicKey) -> Certificate {
    let identity = identity(number);
    let keys = DeviceKeys {
        device: DeviceId::new(1).unwrap(),
        peer_id: PeerId::from_bytes(&[number; 32]),
        agreement: identity.public_key().to_x25519(),
        signing: *identity.public_key(),
        group,
    };
    Certificate::issue(&identity, &keys, 1_790_000_000_000)
}

fn identity(number: u8) -> SigningKey {
    SigningKey::from_seed(Seed::from_bytes(&[number; 32]))
}

pub(crate) fn group_key(number: u8) -> GroupKey {
    GroupKey::from_seed(Seed::from_bytes(&[number ^ 0x40; 32]))
}

pub(crate) fn device(number: u8) -> GroupDevice {
    let key = group_key(number);
    GroupDevice::new(certificate(number, *key.public_key()), key).unwrap()
}

/// Adds a device to `group`, and lets it join. The other members still have to open the commit.
pub(crate) fn admit(group: &mut Group, device: &GroupDevice) -> (Group, Commit) {
    let (package, secret) = device.key_package(Suite::default(), NOW).unwrap();
    let commit = group.add([package.as_slice()], NOW).unwrap();
    group.accept_pending().unwrap();
    let find = |id: &[u8]| (id == secret.id).then(|| secret.data.clone());
    let Joined { group: joined, key_package: used, inviter, .. } =
        device.join(&commit.welcome[0], find).unwrap();
    assert_eq!((inviter, commit.added.as_slice()), (group.address(), &[device.address()][..]));
    assert_eq!(used, secret.id);
    (joined, commit)
}

/// Returns a group of `count` devices, the creator first. All are added by one commit.
pub(crate) fn group_of(count: u8) -> Vec<Group> {
    let creator = device(1);
    let mut group = creator.create(ID, NOW).unwrap();
    let devices: Vec<_> = (2..=count).map(device).collect();
    if devices.is_empty() {
        return vec![group];
    }
    let packages: Vec<_> =
        devices.iter().map(|it| it.key_package(Suite::default(), NOW).unwrap()).collect();
    let commit = group.add(packages.iter().map(|(public, _)| public.as_slice()), NOW).unwrap();
    group.accept_pending().unwrap();
    let mut groups = vec![group];
    for (device, (_, secret)) in devices.iter().zip(&packages) {
        let find = |id: &[u8]| (id == secret.id).then(|| secret.data.clone());
        groups.push(device.join(&commit.welcome[0], find).unwrap().group);
    }
    groups
}

/// Rows of a group in a store.
#[derive(Default, Clone)]
pub(crate) struct Stored {
    pub(crate) state: Vec<u8>,
    pub(crate) tree: Vec<u8>,
    pub(crate) epochs: BTreeMap<u64, Zeroizing<Vec<u8>>>,
}

impl Stored {
    pub(crate) fn write(&mut self, changes: GroupChanges) {
        self.state = changes.state.to_vec();
        self.tree = changes.tree.unwrap_or_else(|| core::mem::take(&mut self.tree));
        for past in changes.epoch_inserts {
            assert!(self.epochs.insert(past.epoch, past.state).is_none(), "inserted twice");
        }
        for past in changes.epoch_updates {
            assert!(self.epochs.insert(past.epoch, past.state).is_some(), "not there to update");
        }
        self.epochs = self.epochs.split_off(&changes.trim_below);
    }

    pub(crate) fn load(&self, device: &GroupDevice) -> Group {
        let epochs = self.epochs.iter();
        let epochs = epochs.map(|(&epoch, state)| EpochState { epoch, state: state.clone() });
        device.load(&self.state, &self.tree, epochs).unwrap()
    }
}
