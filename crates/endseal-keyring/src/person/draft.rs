//! An epoch before it is signed.

use alloc::vec::Vec;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::{hash, label};

use super::{MAX_LEN, PersonRecord};
use crate::roster::{EpochKey, GroupId, Member, RosterDraft, SignRosterError};

/// An epoch of a person that lacks its sealed key and its signature.
#[allow(missing_debug_implementations, reason = "it holds a secret")]
pub struct PersonDraft {
    roster: RosterDraft,
    key: EpochKey,
}

impl PersonDraft {
    pub(super) fn new(roster: RosterDraft, key: EpochKey) -> Self {
        Self { roster, key }
    }

    /// The key to be sealed to the members.
    #[must_use]
    pub fn epoch_key(&self) -> &EpochKey {
        &self.key
    }

    /// The members to seal to, all with an ML-KEM-768 key.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        self.roster.members()
    }

    /// The context under which the key MUST be sealed, in the hybrid suite.
    #[must_use]
    pub fn context(&self) -> Vec<u8> {
        self.roster.context()
    }

    /// Signs. `sealed_epoch_key` is an envelope from `root` to [`Self::members`] under
    /// [`Self::context`]; it is not looked into.
    ///
    /// # Errors
    /// [`SignRosterError`] if it is not the root that signs, or the record becomes too long.
    pub fn sign(
        self,
        root: &Identity,
        sealed_epoch_key: &[u8],
    ) -> Result<PersonRecord, SignRosterError> {
        let roster = self.roster.sign(root, sealed_epoch_key)?;
        if roster.as_bytes().len() > MAX_LEN {
            return Err(SignRosterError::TooLong);
        }
        Ok(PersonRecord(roster))
    }
}

/// A new epoch key, drawn before the head, which contains the user identity.
///
/// A random source that repeats itself repeats no key as long as the root, the id or the epoch
/// differs.
pub(super) fn epoch_key(
    random: &mut impl Random,
    root: &Identity,
    id: &GroupId,
    epoch: u64,
) -> Result<EpochKey, RandomError> {
    EpochKey::try_init_with(|key| {
        let mut drawn = Zeroizing::new([0; 32]);
        random.fill(&mut drawn[..])?;
        let epoch = epoch.to_le_bytes();
        let parts: [&[u8]; 4] = [&drawn[..], root.hedge().expose_secret(), id.as_bytes(), &epoch];
        hash::derive_into(label::PERSON_HEDGED_KEY, &parts, key);
        Ok(())
    })
}
