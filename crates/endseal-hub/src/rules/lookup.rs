//! Persons that are looked up, and prekeys that are handed out.

use endseal_codec::hub::{Answer, Code, Person, Prekey};
use endseal_crypto::peer_id::PeerId;

use super::Rules;
use crate::command::{By, refused};
use crate::store::StorageError;

impl Rules<'_> {
    /// Looks up a person.
    pub(crate) fn find(&mut self, by: &By) -> Result<Answer, StorageError> {
        let identity = match by {
            By::Identity(identity) => Some(*identity),
            By::Peer(peer) => {
                let device = self.device(peer)?.filter(|device| !device.state.is_pending);
                device.map(|device| device.state.identity)
            }
        };
        let person = identity.map(|it| self.person_with_devices(&it, false)).transpose()?.flatten();
        let person = person.filter(|it| !it.certificates.is_empty());
        Ok(person.map_or(Answer::Refused(refused(Code::NONE)), Answer::Person))
    }

    /// Gives the record of a person who has proved to be it, also one without a device.
    pub(crate) fn recover(&mut self, identity: &[u8; 32]) -> Result<Answer, StorageError> {
        let person = self.person_with_devices(identity, true)?;
        Ok(person.map_or(Answer::Refused(refused(Code::NONE)), Answer::Person))
    }

    /// The record of a person and the certificates of its devices that are not revoked, with those
    /// that have not registered themselves or without.
    fn person_with_devices(
        &mut self,
        identity: &[u8; 32],
        with_pending: bool,
    ) -> Result<Option<Person>, StorageError> {
        let Some(record) = self.transaction.person(identity)? else { return Ok(None) };
        let own = self.devices_of(identity)?.into_iter().filter(|it| !it.is_revoked);
        let own = own.filter(|it| with_pending || !it.is_pending);
        let certificates = own.map(|it| it.certificate.into()).collect();
        Ok(Some(Person { person: record.into(), certificates }))
    }

    /// Hands out a prekey of a device.
    pub(crate) fn take(&mut self, peer: &PeerId, device: &PeerId) -> Result<Answer, StorageError> {
        let asker = match self.registered(peer)? {
            Ok(asker) => asker.state.row,
            Err(code) => return Ok(Answer::Refused(refused(code))),
        };
        let none = Answer::Refused(refused(Code::NONE));
        let Ok(device) = self.registered(device)? else { return Ok(none) };
        let row = device.state.row;
        let interval =
            u64::try_from(self.context.limits.prekey_interval.as_micros()).unwrap_or(u64::MAX);
        let since = self.context.now.saturating_sub(interval);
        let prekey = self.transaction.take_prekey(row, asker, since, self.context.now)?;
        Ok(prekey.map_or(none, |prekey| Answer::Prekey(Prekey { prekey: prekey.into() })))
    }
}
