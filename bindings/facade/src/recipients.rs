//! Recipients of content.

use std::sync::Arc;

use crate::error::Error;
use crate::identity::PublicIdentity;

/// Recipients, prepared once for any number of envelopes.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "tables of keys")]
pub struct Recipients(pub(crate) Arc<endseal_envelope::Recipients>);

impl Recipients {
    /// Prepares recipients. One who is named twice counts once.
    ///
    /// # Errors
    /// `argument` if there is none, or more than an envelope has slots.
    pub fn new(of: &[PublicIdentity]) -> Result<Self, Error> {
        let made = endseal_envelope::Recipients::from_identities(of.iter().map(|it| &it.0))?;
        Ok(Self(Arc::new(made)))
    }

    /// Returns the number of recipients.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "there is at least one")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if all have a post-quantum key.
    #[must_use]
    pub fn is_post_quantum(&self) -> bool {
        self.0.suite() == endseal_envelope::Suite::X25519MlKem768
    }
}
