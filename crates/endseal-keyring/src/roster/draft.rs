//! An epoch before it is signed.

use alloc::string::String;
use alloc::vec::Vec;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::ed25519;
use endseal_crypto::identity::Identity;

use super::appointment::Appointment;
use super::changes::Changed;
use super::head::{self, Head};
use super::transfer::Transfer;
use super::{KEY, MAX_LEN, Member, OwnerOnly, Roster, SIGNATURE, SignRosterError, signed_text};
use crate::name::Name;

/// An epoch that lacks its sealed key and its signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RosterDraft {
    head: Head,
    /// Owner who can sign the draft: the former one if it hands the group on.
    signing_owner: ed25519::PublicKey,
    /// Admins of the epoch before, who can sign the draft too.
    admins: Vec<(Name, ed25519::PublicKey)>,
    appoint: Vec<(Name, ed25519::PublicKey)>,
    owner_only: Option<OwnerOnly>,
    opening: String,
    members: String,
}

impl RosterDraft {
    /// The draft of a first epoch.
    pub(super) fn first(head: Head) -> Self {
        let owner = head.owner;
        let changed = Changed { head, appoint: Vec::new(), owner_only: None };
        Self::new(changed, owner, Vec::new())
    }

    /// The draft of the epoch after `current`.
    pub(super) fn after(current: &Roster, changed: Changed) -> Self {
        let admins = current.admins().map(|it| (it.name().clone(), *it.identity().ed25519()));
        Self::new(changed, *current.owner(), admins.collect())
    }

    fn new(
        changed: Changed,
        signing_owner: ed25519::PublicKey,
        admins: Vec<(Name, ed25519::PublicKey)>,
    ) -> Self {
        let Changed { head, appoint, owner_only } = changed;
        let (opening, members) = (head.encode_opening(), head.encode_members());
        Self { head, signing_owner, admins, appoint, owner_only, opening, members }
    }

    /// The epoch of the draft; the first one is 1, and each change adds 1.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.head.epoch
    }

    /// The members in the order of their names. The epoch key MUST be sealed to exactly these.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        self.head.members.as_slice()
    }

    /// The context under which a fresh [`EpochKey`](super::EpochKey) MUST be sealed to the members,
    /// so that the envelope is of no use in another group, epoch or list of members.
    #[must_use]
    pub fn context(&self) -> Vec<u8> {
        self.head.context(&head::digest(&self.opening, &self.members))
    }

    /// Signs the draft, and the appointments and the transfer that it contains. `signer` is the
    /// owner of the epoch before, or one of its admins unless the changes are the owner's alone.
    /// `sealed_epoch_key` is an envelope from `signer` to [`Self::members`] under
    /// [`Self::context`]. It is not opened here.
    ///
    /// # Errors
    /// [`SignRosterError`] if `signer` cannot sign these changes, or the roster becomes too long.
    pub fn sign(
        mut self,
        signer: &Identity,
        sealed_epoch_key: &[u8],
    ) -> Result<Roster, SignRosterError> {
        let key = signer.public().ed25519();
        if *key == self.signing_owner {
            self.sign_rights(signer);
        } else {
            self.head.signer = Some(self.admin_who_may_sign(key)?.clone());
        }
        if sealed_epoch_key.is_empty() {
            return Err(SignRosterError::NoEpochKey);
        }
        let head_digest = head::digest(&self.opening, &self.members);
        let mut text = [self.opening, self.head.encode_rights(), self.members].concat();
        if text.len().saturating_add(sealed_epoch_key.len()) > MAX_LEN {
            return Err(SignRosterError::TooLong);
        }
        push_field(&mut text, KEY, &Base64::encode_string(sealed_epoch_key));
        let signature = signer.signing().sign(&signed_text::roster_message(&text));
        push_field(&mut text, SIGNATURE, &signed_text::encode(&signature));
        if text.len() > MAX_LEN {
            return Err(SignRosterError::TooLong);
        }
        Ok(Roster {
            head: self.head,
            head_digest,
            sealed_epoch_key: sealed_epoch_key.into(),
            text: text.into(),
        })
    }

    /// Signs the transfer and the new appointments as the owner.
    fn sign_rights(&mut self, owner: &Identity) {
        let head = &mut self.head;
        let (id, epoch) = (head.id, head.epoch);
        if self.owner_only == Some(OwnerOnly::HandOn) {
            let transfer = Transfer::sign(&id, epoch, owner, &head.owner);
            head.transfers = head.transfers.iter().cloned().chain([transfer]).collect();
        }
        for (name, key) in self.appoint.drain(..) {
            head.appointments.push(Appointment::sign(&id, epoch, owner, name, &key));
        }
        head.appointments.sort_by(|a, b| a.admin.cmp(&b.admin));
    }

    /// Returns the name of the admin with that key, who stays one and may make these changes.
    fn admin_who_may_sign(&self, key: &ed25519::PublicKey) -> Result<&Name, SignRosterError> {
        let (name, _) = self
            .admins
            .iter()
            .find(|(_, admin)| admin == key)
            .ok_or(SignRosterError::NotPermitted)?;
        if let Some(change) = self.owner_only {
            return Err(SignRosterError::OwnerOnly(change));
        }
        self.head.appointment(name.as_str()).ok_or(SignRosterError::RemovesSigner)?;
        Ok(name)
    }
}

fn push_field(text: &mut String, field: &str, value: &str) {
    text.push_str(field);
    text.push(' ');
    text.push_str(value);
    text.push('\n');
}
