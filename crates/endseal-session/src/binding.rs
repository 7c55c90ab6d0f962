//! Digest of both sides of a session, at the start of the first plaintexts.

use endseal_crypto::hash;
use endseal_crypto::label::SESSION_BINDING;
use endseal_crypto::x25519;
use endseal_keyring::device::{Address, Certificate};

/// The digest of both sides of a session: `BLAKE3-derive("endseal/session@v1 binding", certificate
/// of the sender || identity || device || agreement key of the recipient)` (docs/spec/session.md,
/// "Binding").
///
/// The plaintext of each pre-key message has it in its head. Without it, the key agreement would
/// name keys only. A certificate does not prove possession of the key in it, so anyone could
/// certify another device's key and appear as the author or as the recipient of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding([u8; Self::LEN]);

impl Binding {
    /// Length of a binding, in bytes.
    pub const LEN: usize = 32;

    /// Computes the binding of a message that is sent under `certificate` to the device
    /// `recipient`, whose bundle contained the key `agreement`.
    #[must_use]
    pub fn of(
        certificate: &[u8; Certificate::LEN],
        recipient: &Address,
        agreement: &x25519::PublicKey,
    ) -> Self {
        let (identity, device) = (recipient.identity.as_bytes(), recipient.device.number());
        let parts: [&[u8]; 4] =
            [certificate, identity, &device.to_le_bytes(), agreement.as_bytes()];
        let mut digest = [0; Self::LEN];
        hash::derive_into(SESSION_BINDING, &parts, &mut digest);
        Self(digest)
    }

    /// Returns the bytes of the digest.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}
