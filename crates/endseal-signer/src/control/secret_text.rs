//! Text of a command or reply that contains a secret.

use endseal_crypto::secret::Zeroizing;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Text that is wiped when dropped and has no `Debug` output, for instance a URI with its secret.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// Wraps a text that contains a secret.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// Returns the text. The caller MUST NOT log it.
    #[must_use]
    pub fn expose_secret(&self) -> &str {
        &self.0
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}
