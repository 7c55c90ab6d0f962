//! Devices whose certificate comes from another device of the person.

use alloc::vec::Vec;

use endseal_crypto::ed25519::{PublicKey, Seed};
use endseal_crypto::random::Random;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::x25519;
use endseal_keyring::device::Certificate;
use endseal_store::Store;

use super::records;
use crate::group::{GroupDevice, GroupKey};
use crate::{Engine, EngineError, PairwiseAccount};

/// Public keys of a device that has no certificate yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the keys of a certificate")]
pub struct PreparedKeys {
    /// Key for agreements.
    pub agreement: x25519::PublicKey,
    /// Key that signs prekeys.
    pub signing: PublicKey,
    /// Key that signs in MLS groups.
    pub group: PublicKey,
}

impl<A: PairwiseAccount> Engine<A> {
    /// Makes the keys of a device in a store that holds none. Another device signs their
    /// certificate, and [`Self::certify`] makes the device of it. A second call returns the same
    /// keys.
    ///
    /// # Errors
    /// [`EngineError::DeviceExists`] if the store holds a device, which is not changed;
    /// [`EngineError`] if the store or the random source fails.
    pub fn prepare(
        store: &mut Store,
        random: &mut impl Random,
    ) -> Result<PreparedKeys, EngineError> {
        if Self::is_in(store)? {
            return Err(EngineError::DeviceExists);
        }
        let held = store.read()?.record(records::PREPARED, &[])?;
        let (account, group) = match held {
            Some(state) => Self::load_prepared(&state)?,
            None => {
                let account = A::generate();
                let group = GroupKey::generate(random).map_err(|_| EngineError::Random)?;
                let saved = account.save();
                let mut state = Zeroizing::new(Vec::with_capacity(Seed::LEN + saved.len()));
                state.extend_from_slice(group.seed().expose_secret());
                state.extend_from_slice(&saved);
                let transaction = store.begin()?;
                transaction.put_record(records::PREPARED, &[], &state)?;
                transaction.commit()?;
                (account, group)
            }
        };
        let keys = account.keys();
        let group = *group.public_key();
        Ok(PreparedKeys { agreement: keys.agreement, signing: keys.signing, group })
    }

    /// Makes a device of prepared keys and their certificate, and opens the engine.
    ///
    /// # Errors
    /// [`EngineError::NoDevice`] if no keys were prepared, [`EngineError::Damaged`] if the
    /// certificate is for other keys; [`EngineError`] if the store fails.
    pub fn certify(mut store: Store, certificate: Certificate) -> Result<Self, EngineError> {
        let restorations = store.restorations();
        let transaction = store.begin()?;
        let state = transaction.record(records::PREPARED, &[])?.ok_or(EngineError::NoDevice)?;
        let (account, group) = Self::load_prepared(&state)?;
        let (keys, own) = (certificate.keys(), account.keys());
        if keys.agreement != own.agreement || keys.signing != own.signing {
            return Err(EngineError::Damaged("certificate"));
        }
        let groups = GroupDevice::new(certificate, group)
            .map_err(|_| EngineError::Damaged("certificate"))?;
        records::put_device(&transaction, &groups, &account.save(), restorations)?;
        transaction.remove_record(records::PREPARED, &[])?;
        transaction.commit()?;
        Self::open(store)
    }

    fn load_prepared(state: &[u8]) -> Result<(A, GroupKey), EngineError> {
        let damaged = || EngineError::Damaged("prepared keys");
        let (seed, account) = state.split_first_chunk().ok_or_else(damaged)?;
        let group = GroupKey::from_seed(Seed::from_bytes(seed));
        Ok((A::load(account).map_err(|_| damaged())?, group))
    }
}
