//! The sending side of groups.

use core::time::Duration;

use endseal_crypto::ed25519::{PublicKey, Seed, SigningKey};
use endseal_crypto::hash;
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::{Certificate, DeviceKeys};
use endseal_session::group::{Group, GroupDevice, GroupKey, Suite};
use endseal_session::{Engine, Message};

use super::people::{FIRST, NOW, Sender};
use crate::subject::Failure;

const NOW_SINCE_1970: Duration = Duration::from_millis(NOW);

/// The member who writes.
struct Writer(Group);

/// Returns the id of a group.
pub(super) fn id(conversation: usize) -> Vec<u8> {
    format!("group-{conversation}").into_bytes()
}

/// Creates a group of `members` members. One of them writes, another one is the receiver.
pub(super) fn meet(
    receiver: &mut Engine,
    conversation: usize,
    members: usize,
) -> Result<Box<dyn Sender>, Failure> {
    let mut group = device(conversation, 0)?.create(&id(conversation), NOW_SINCE_1970)?;
    let suite = Suite::default();
    let own = receiver.transaction(|it| it.key_package(suite, NOW_SINCE_1970))?;
    let mut packages = vec![own];
    for member in 2..members {
        packages.push(device(conversation, member)?.key_package(suite, NOW_SINCE_1970)?.0);
    }
    let commit = group.add(packages.iter().map(Vec::as_slice), NOW_SINCE_1970)?;
    group.accept_pending()?;
    let welcome = commit.welcome.first().ok_or("the commit has no welcome message")?;
    receiver.transaction(|it| it.join_group(welcome))?;
    Ok(Box::new(Writer(group)))
}

/// Returns a member's device by its number.
fn device(conversation: usize, member: usize) -> Result<GroupDevice, Failure> {
    let seed = |role: &str| {
        let name = format!("{role} {member} of group {conversation}");
        Seed::from_bytes(&hash::digest(name.as_bytes()))
    };
    let identity = SigningKey::from_seed(seed("member"));
    let key = GroupKey::from_seed(seed("key"));
    let group: PublicKey = *key.public_key();
    let keys = DeviceKeys {
        device: FIRST,
        peer_id: PeerId::from_bytes(&[3; 32]),
        agreement: identity.public_key().to_x25519(),
        signing: *identity.public_key(),
        group,
    };
    Ok(GroupDevice::new(Certificate::issue(&identity, &keys, NOW), key)?)
}

impl Sender for Writer {
    fn seal_all(&mut self, contents: &[&[u8]]) -> Result<Vec<Vec<u8>>, Failure> {
        // As with a ratchet, each backlog starts from the same state.
        let mut group = self.0.fork();
        contents
            .iter()
            .map(|content| Ok(Message::Group(&group.seal(content)?).to_bytes()?))
            .collect()
    }
}
