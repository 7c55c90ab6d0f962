//! The digest in the head of the first plaintexts, which names both sides.

use endseal_crypto::hash;
use endseal_crypto::label::SESSION_BINDING;
use endseal_crypto::x25519;
use endseal_keyring::device::{Address, Certificate};

/// The digest of both sides of a session: `BLAKE3-derive("endseal/session@v1 binding", certificate
/// of the sender || identity || device || agreement key of the recipient)` (docs/spec/session.md,
/// "Binding").
///
/// The plaintext of each pre-key message has it in its head. Without it, the agreement would name
/// keys alone, and a certificate proves no possession of the key in it: anybody could vouch for the
/// key of another and appear as the author or as the addressee of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding([u8; Self::LEN]);

impl Binding {
    /// Length in bytes.
    pub const LEN: usize = 32;

    /// The binding of a message under `certificate` to the device `recipient`, whose bundle had the
    /// key `agreement`.
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

    /// The digest.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}
