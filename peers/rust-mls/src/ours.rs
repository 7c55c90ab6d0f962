//! A group member that uses endseal-session.

use std::time::{Duration, SystemTime};

use endseal_keyring::device::Address;
use endseal_session::group::{Group, GroupDevice, GroupKey, KeyPackageSecret, Opened, Suite};

use crate::member::{Member, Reason, Seen, certificate, group_seed};

pub(crate) struct Ours {
    device: GroupDevice,
    secret: Option<KeyPackageSecret>,
    group: Option<Group>,
}

impl Ours {
    pub(crate) fn new(number: u8) -> Result<Self, Reason> {
        let key = GroupKey::from_seed(group_seed(number));
        let device = GroupDevice::new(certificate(number)?, key).map_err(reason)?;
        Ok(Self { device, secret: None, group: None })
    }

    fn group(&mut self) -> Result<&mut Group, Reason> {
        self.group.as_mut().ok_or_else(|| "not in a group".to_owned())
    }
}

impl Member for Ours {
    fn address(&self) -> Address {
        self.device.address()
    }

    fn create(&mut self) -> Result<(), Reason> {
        self.group = Some(self.device.create(crate::GROUP, now()).map_err(reason)?);
        Ok(())
    }

    fn key_package(&mut self) -> Result<Vec<u8>, Reason> {
        let made = self.device.key_package(Suite::X25519Aes128, now());
        let (public, secret) = made.map_err(reason)?;
        self.secret = Some(secret);
        Ok(public)
    }

    fn join(&mut self, welcome: &[u8]) -> Result<(), Reason> {
        let secret = self.secret.take().ok_or("no key package")?;
        let find = |id: &[u8]| (id == secret.id).then(|| secret.data.clone());
        self.group = Some(self.device.join(welcome, find).map_err(reason)?.group);
        Ok(())
    }

    fn add(&mut self, key_package: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Reason> {
        let mut commit = self.group()?.add([key_package], now()).map_err(reason)?;
        Ok((commit.commit, commit.welcome.pop().ok_or("no welcome")?))
    }

    fn remove(&mut self, member: Address) -> Result<Vec<u8>, Reason> {
        Ok(self.group()?.remove(&[member], now()).map_err(reason)?.commit)
    }

    fn propose_removal(&mut self, _: Address) -> Option<Result<Vec<u8>, Reason>> {
        None
    }

    fn update(&mut self) -> Result<Vec<u8>, Reason> {
        Ok(self.group()?.update(now()).map_err(reason)?.commit)
    }

    fn accept(&mut self) -> Result<(), Reason> {
        self.group()?.accept_pending().map(drop).map_err(reason)
    }

    fn seal(&mut self, text: &[u8]) -> Result<Vec<u8>, Reason> {
        self.group()?.seal(text).map_err(reason)
    }

    fn open(&mut self, body: &[u8]) -> Result<Seen, Reason> {
        match self.group()?.open(body).map_err(reason)? {
            Opened::Message { sender, plaintext, .. } => {
                Ok(Seen::Text { sender, text: plaintext.to_vec() })
            }
            Opened::Proposal(_) => Ok(Seen::Proposal),
            Opened::Change(change) if change.is_removed => Ok(Seen::Removed),
            Opened::Change(_) => Ok(Seen::Change { members: self.members() }),
            other => Err(format!("{other:?}")),
        }
    }

    fn members(&self) -> Vec<Address> {
        let mut members = self.group.as_ref().map(Group::members).unwrap_or_default();
        members.sort();
        members
    }

    fn epoch(&self) -> u64 {
        self.group.as_ref().map_or(0, Group::epoch)
    }
}

fn reason(error: impl std::fmt::Display) -> Reason {
    format!("endseal: {error}")
}

/// Returns the present time, because OpenMLS creates key packages that are valid from now on.
fn now() -> Duration {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
}
