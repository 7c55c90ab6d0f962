//! The key of an epoch.

use endseal_crypto::identity::Identity;
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::{hash, label};

use super::RosterDraft;

endseal_crypto::secret_bytes! {
    /// Key that the members of a group share in one epoch, and that encrypts content keys.
    ///
    /// ```compile_fail,E0277
    /// println!("{:?}", endseal_keyring::roster::EpochKey::from_bytes(&[7; 32]));
    /// ```
    pub struct EpochKey[32];
}

impl EpochKey {
    /// A new key for the epoch of `draft`, which `signer` will sign.
    ///
    /// A random source that repeats itself repeats no key as long as the signer, the group, the
    /// epoch or the members differ: the random bytes are hashed with the signer's hedge secret and
    /// the draft's context.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(
        random: &mut impl Random,
        signer: &Identity,
        draft: &RosterDraft,
    ) -> Result<Self, RandomError> {
        Self::try_init_with(|key| {
            let mut drawn = Zeroizing::new([0; 32]);
            random.fill(&mut drawn[..])?;
            let context = draft.context();
            let parts: [&[u8]; 3] = [&drawn[..], signer.hedge().expose_secret(), &context];
            hash::derive_into(label::ROSTER_HEDGED_KEY, &parts, key);
            Ok(())
        })
    }
}
