//! Certificates, person records and prekeys that devices publish.

use endseal_codec::hub::{Answer, Code, Welcome};
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::Certificate;

use super::Rules;
use crate::command::{Publication, refused};
use crate::store::{DeviceState, StorageError};

/// Bytes of stored prekeys of a device that serve once.
const MAX_PREKEY_BYTES: u64 = 256 << 10;
/// Microseconds between two notes of a device's visits: not each one writes.
const NOTE_VISITS: u64 = 3_600_000_000;

impl Rules<'_> {
    /// Says what there is of a node, and notes its visit.
    pub(crate) fn hello(&mut self, peer: &PeerId) -> Result<Answer, StorageError> {
        let now = self.context.now;
        let is_due = |state: &DeviceState| now.abs_diff(state.visited) >= NOTE_VISITS;
        if self.registered(peer)?.is_ok_and(|device| is_due(&device.state))
            && let Some(device) = self.change(peer)?
        {
            device.state.visited = now;
        }
        let state = match self.registered(peer)? {
            Ok(device) => device.state.clone(),
            Err(code) => return Ok(Answer::Refused(refused(code))),
        };
        let Some(person) = self.person(&state.identity)? else {
            return Ok(Answer::Refused(refused(Code::REGISTERED)));
        };
        let (prekeys, _) = self.transaction.one_time_prekeys(state.row)?;
        Ok(Answer::Welcome(Welcome {
            epoch: person.epoch(),
            digest: *person.digest().as_bytes(),
            prekeys: u32::try_from(prekeys).unwrap_or(u32::MAX),
            sequence: state.window.highest(),
            waiting: state.frames,
            acknowledged: state.acknowledged,
            published: state.published,
            dropped: state.dropped,
            time: now / 1_000,
            ..Welcome::default()
        }))
    }

    /// Stores what a device publishes.
    pub(crate) fn publish(
        &mut self,
        peer: &PeerId,
        publication: &Publication,
    ) -> Result<Answer, StorageError> {
        let refuse = |code| Ok(Answer::Refused(refused(code)));
        let state = match self.registered(peer)? {
            Ok(device) => device.state.clone(),
            Err(code) => return refuse(code),
        };
        let held = Certificate::from_bytes(&state.certificate)
            .map_err(|_| StorageError::Format("a certificate cannot be read"))?;
        let certificate = publication.certificate.as_ref().unwrap_or(&held);
        let is_own = certificate.keys().peer_id == *peer
            && certificate.address() == held.address()
            && certificate.made_at() >= held.made_at();
        if !is_own {
            return refuse(Code::CERTIFICATE);
        }
        if let Some(person) = &publication.person {
            if *person.identity().ed25519() != held.address().identity {
                return refuse(Code::CERTIFICATE);
            }
            if let Err(code) = self.check_person(person)? {
                return refuse(code);
            }
            self.put_person(person)?;
            // The record may have revoked the device that published it.
            if let Err(code) = self.registered(peer)? {
                return refuse(code);
            }
        }
        let has_last_resort = !publication.last_resort.is_empty();
        if let Some(device) = self.change(peer)? {
            device.state.certificate = certificate.as_bytes().to_vec();
            let published = publication.prekeys.len() + usize::from(has_last_resort);
            device.state.published += published as u64;
        }
        if publication.replace {
            self.transaction.delete_one_time_prekeys(state.row)?;
        }
        let (mut count, mut bytes) = self.transaction.one_time_prekeys(state.row)?;
        for prekey in &publication.prekeys {
            let length = prekey.len() as u64;
            if count >= self.context.limits.prekeys || bytes + length > MAX_PREKEY_BYTES {
                continue;
            }
            (count, bytes) = (count + 1, bytes + length);
            self.transaction.add_prekey(state.row, true, prekey)?;
        }
        if has_last_resort {
            self.transaction.add_prekey(state.row, false, &publication.last_resort)?;
        }
        self.hello(peer)
    }
}
