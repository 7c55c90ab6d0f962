//! Devices that register, and person records that revoke them.

use core::num::NonZeroU32;

use endseal_codec::hub::{Answer, Code};
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::Certificate;

use super::{Deletion, DeletionReason, Device, Rules};
use crate::command::{Registration, refused};
use crate::store::{DeviceState, StorageError};

/// Devices that a person can have registered in all, with those that are revoked.
const MAX_DEVICES: usize = 256;

impl Rules<'_> {
    /// Registers a device.
    pub(crate) fn register(
        &mut self,
        peer: &PeerId,
        registration: &Registration,
    ) -> Result<Answer, StorageError> {
        let Registration { token, certificate, person } = registration;
        let refuse = |code| Ok(Answer::Refused(refused(code)));
        // A registered device registers others of its person, which are pending until they do it
        // themselves: only a connection proves the key of a device.
        let identity = *person.identity().ed25519().as_bytes();
        let is_other = certificate.keys().peer_id != *peer
            && self.registered(peer)?.is_ok_and(|device| device.state.identity == identity);
        let asker = peer;
        let peer = if is_other { &certificate.keys().peer_id } else { peer };
        if !fits(peer, certificate, person) {
            return refuse(Code::CERTIFICATE);
        }
        let is_same = |state: &DeviceState| state.certificate == *certificate.as_bytes();
        match self.device(peer)?.map(|device| &device.state) {
            Some(state) if is_other && is_same(state) && !state.is_revoked => {
                return self.hello(asker);
            }
            Some(state) if state.is_pending && is_same(state) && !state.is_revoked => {
                if let Some(device) = self.change(peer)? {
                    device.state.is_pending = false;
                }
                return self.hello(peer);
            }
            // What others have said of a device is void once this registration is accepted.
            Some(state) if state.is_pending => {}
            Some(_) if is_other => return refuse(Code::CERTIFICATE),
            Some(state) if state.is_revoked => return refuse(Code::REVOKED),
            // The device is registered already: the answer to its first request was lost.
            Some(state) if is_same(state) => return self.hello(peer),
            Some(_) => return refuse(Code::CERTIFICATE),
            None => {}
        }
        let is_known = self.transaction.person(&identity)?.is_some();
        if let Err(code) = self.check_person(person)? {
            return refuse(code);
        }
        // The number of a device is never reassigned to another key.
        let all = self.devices_of(&identity)?;
        if is_number_taken(&all, certificate) {
            return refuse(Code::CERTIFICATE);
        }
        // Rows of devices stay, so that no number is given to another key.
        let is_new = self.read(peer).is_none();
        if is_new && (self.context.room == 0 || all.len() >= MAX_DEVICES) {
            return refuse(Code::SPACE);
        }
        let invitation = match token {
            Some(token) => self.transaction.use_invitation(token, self.context.now)?,
            None if !is_known || self.context.limits.invites_devices => None,
            None => (!self.transaction.is_removed(&identity)?).then(String::new),
        };
        let Some(invitation) = invitation else { return refuse(Code::TOKEN) };
        self.put_person(person)?;
        if token.is_some() {
            self.transaction.set_removed(&identity, false)?;
        }
        let (row, left) = match self.read(peer).map(|pending| pending.state.row) {
            Some(row) => {
                self.transaction.admit_device(row)?;
                self.leave_groups(peer, row)?;
                (row, self.drop_mailbox(peer)?)
            }
            None => {
                let certificate = certificate.as_bytes();
                (self.transaction.add_device(peer, &identity, certificate, &invitation)?, None)
            }
        };
        let (frames, bytes) =
            left.as_ref().map_or((0, 0), |left| (left.state.frames, left.state.bytes));
        let state = DeviceState {
            row,
            peer: *peer,
            identity,
            certificate: certificate.as_bytes().to_vec(),
            invitation,
            is_revoked: false,
            is_pending: is_other,
            window: Default::default(),
            last: 0,
            gap: (0, 0),
            frames,
            bytes,
            acknowledged: 0,
            published: 0,
            dropped: 0,
            visited: self.context.now,
        };
        let shares = left.map(|left| left.shares).unwrap_or_default();
        self.changed.insert(*peer, Device { state, shares });
        self.hello(asker)
    }

    /// Deletes what waits for a device, and all else but its row. Returns the device with what is
    /// deleted in later transactions.
    fn drop_mailbox(&mut self, peer: &PeerId) -> Result<Option<Device>, StorageError> {
        let Some(device) = self.device(peer)? else { return Ok(None) };
        let (row, up_to) = (device.state.row, device.state.last);
        self.delete(&Deletion { peer: *peer, up_to, reason: DeletionReason::Dropped })?;
        self.transaction.clear_device(row)?;
        Ok(self.read(peer).cloned())
    }

    /// Checks that a person record is the stored one or a later one.
    pub(super) fn check_person(
        &mut self,
        person: &PersonRecord,
    ) -> Result<Result<(), Code>, StorageError> {
        let identity = *person.identity().ed25519().as_bytes();
        let is_right = match self.person(&identity)? {
            None => true,
            Some(held) => person.as_bytes() == held.as_bytes() || person.supersedes(&held).is_ok(),
        };
        Ok(if is_right { Ok(()) } else { Err(Code::PERSON) })
    }

    /// Stores a person record. Devices that it no longer contains are revoked: their mailboxes are
    /// deleted, and everything else that is stored about them but their rows.
    pub(super) fn put_person(&mut self, person: &PersonRecord) -> Result<(), StorageError> {
        let identity = *person.identity().ed25519().as_bytes();
        self.transaction.put_person(&identity, person.as_bytes())?;
        for DeviceState { peer, certificate, is_revoked, .. } in self.devices_of(&identity)? {
            if is_revoked {
                continue;
            }
            let certificate = Certificate::from_bytes(&certificate)
                .map_err(|_| StorageError::Format("a certificate cannot be read"))?;
            if has_device(person, &certificate) {
                continue;
            }
            self.drop_mailbox(&peer)?;
            if let Some(device) = self.change(&peer)? {
                device.state.is_revoked = true;
            }
        }
        Ok(())
    }
}

/// Returns true if one of the devices has or had the number of a certificate with another key.
fn is_number_taken(devices: &[DeviceState], certificate: &Certificate) -> bool {
    let keys = certificate.keys();
    devices
        .iter()
        .filter_map(|it| Certificate::from_bytes(&it.certificate).ok())
        .any(|it| it.keys().device == keys.device && it.keys().peer_id != keys.peer_id)
}

/// Returns true if a certificate and a person record belong to the peer and to each other.
fn fits(peer: &PeerId, certificate: &Certificate, person: &PersonRecord) -> bool {
    let keys = certificate.keys();
    keys.peer_id == *peer
        && certificate.address().identity == *person.identity().ed25519()
        && has_device(person, certificate)
}

/// Returns true if a person record contains the device of a certificate.
fn has_device(person: &PersonRecord, certificate: &Certificate) -> bool {
    NonZeroU32::new(certificate.keys().device.number())
        .is_some_and(|it| person.device(it).is_some())
}
