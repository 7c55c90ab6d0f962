//! Passphrase of a key ring that the caller has.

use core::fmt;
use core::ops::Deref;
use std::sync::Arc;

use endseal_keyring::Passphrase;

/// Passphrase of a key ring that was typed or given to the program. Copies share one secret, which
/// is wiped with the last of them.
#[derive(Clone)]
pub struct GivenPassphrase(Arc<Passphrase>);

impl GivenPassphrase {
    /// Takes the passphrase.
    #[must_use]
    pub fn new(passphrase: Passphrase) -> Self {
        Self(Arc::new(passphrase))
    }
}

impl Deref for GivenPassphrase {
    type Target = Passphrase;

    fn deref(&self) -> &Passphrase {
        &self.0
    }
}

impl fmt::Debug for GivenPassphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GivenPassphrase(..)")
    }
}

/// Two are equal if they are copies of one, so that no secret is compared.
impl PartialEq for GivenPassphrase {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for GivenPassphrase {}
