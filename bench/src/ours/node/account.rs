//! Devices that a hub knows, without a state directory: for cases that end at the hub.

use core::num::NonZeroU32;

use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::Put;
use endseal_codec::{Message, Scheme, Sealed, SealedMessage};
use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_crypto::x25519;
use endseal_delivery::stored_limits;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::{Certificate, DeviceId, DeviceKeys};
use endseal_transport::TransportKey;

use super::database::Database;
use crate::subject::Failure;

/// Time of all accounts: a day in 2026, in milliseconds since 1970.
const NOW: u64 = 1_790_000_000_000;

pub(super) struct Account {
    pub(super) key: TransportKey,
    pub(super) peer: PeerId,
    identity: [u8; 32],
    certificate: Certificate,
    person: PersonRecord,
}

impl Account {
    pub(super) fn new() -> Result<Self, Failure> {
        let root = Identity::generate(&mut OsRandom)?;
        let device = Identity::generate(&mut OsRandom)?;
        let key = TransportKey::new(&device);
        let keys = DeviceKeys {
            device: DeviceId::new(1).ok_or("no device has this number")?,
            peer_id: key.peer_id(),
            agreement: x25519::SecretKey::generate(&mut OsRandom)?.public_key(),
            signing: *Identity::generate(&mut OsRandom)?.public().ed25519(),
            group: *Identity::generate(&mut OsRandom)?.public().ed25519(),
        };
        let first = NonZeroU32::MIN;
        let person = PersonRecord::create(&root, first, device.public(), &mut OsRandom)?;
        Ok(Self {
            peer: key.peer_id(),
            key,
            identity: *root.public().ed25519().as_bytes(),
            certificate: Certificate::issue(root.signing(), &keys, NOW),
            person,
        })
    }

    /// Writes accounts into the database of a hub that is not running.
    pub(super) fn enroll(database: &Database, all: &[Self]) -> Result<(), Failure> {
        let mut store = database.open()?;
        store.transact(&mut |transaction| {
            for it in all {
                transaction.put_person(&it.identity, it.person.as_bytes())?;
                transaction.add_device(
                    &it.peer,
                    &it.identity,
                    it.certificate.as_bytes(),
                    "bench",
                )?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Builds a frame whose ciphertext has `bytes` bytes.
pub(super) fn frame(sender: &PeerId, sequence: u64, bytes: usize) -> Result<Vec<u8>, Failure> {
    let message = SealedMessage {
        scheme: Scheme::PAIRWISE,
        ciphertext: vec![0x5a; bytes].into(),
        ..SealedMessage::default()
    };
    let stamp = Stamp { sequence, timestamp: 0, sender: *sender.as_bytes() };
    let sealed = Sealed::<Message>::from_message(message);
    let frame = StoredFrame::vouched(&sealed, stamp, stored_limits());
    frame.map_err(|_| "a frame is too long".into())
}

/// Builds the request that puts a frame into the mailbox of `target`.
pub(super) fn put(target: &PeerId, frame: &[u8]) -> Put {
    Put { targets: target.as_bytes()[..].into(), frame: frame.into(), ..Put::default() }
}
