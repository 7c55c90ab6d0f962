//! The key of an epoch.

use endseal_crypto::random::{Random, RandomError};

endseal_crypto::secret_bytes! {
    /// What the members of a group share in one epoch, and content keys are wrapped under.
    ///
    /// ```compile_fail,E0277
    /// println!("{:?}", endseal_keyring::roster::EpochKey::from_bytes(&[7; 32]));
    /// ```
    pub struct EpochKey[32];
}

impl EpochKey {
    /// A new key. Every epoch MUST have one of its own.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(random: &mut impl Random) -> Result<Self, RandomError> {
        Self::try_init_with(|bytes| random.fill(bytes))
    }
}
