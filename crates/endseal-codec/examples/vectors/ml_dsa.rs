//! A sender whose stored frames are signed with ML-DSA-65, by another library than the product uses
//! on hosts. Vectors are written and checked with it.

use ml_dsa::{ExpandedSigningKey, MlDsa65, Signature};

/// Written out again, so that an error of the crate is not repeated.
pub(crate) const CONTEXT: &[u8] = b"endseal/frame@v1 signature";

/// Start of the `SubjectPublicKeyInfo` of RFC 9881, up to the key.
const SPKI: [u8; 22] = [
    0x30, 0x82, 0x07, 0xb2, 0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03,
    0x12, 0x03, 0x82, 0x07, 0xa1, 0x00,
];

pub(crate) struct Sender(ExpandedSigningKey<MlDsa65>);

impl Sender {
    pub(crate) fn from_seed(seed: [u8; 32]) -> Self {
        Self(ExpandedSigningKey::from_seed(&seed.into()))
    }

    /// Returns the peer id (docs/spec/identity.md).
    pub(crate) fn id(&self) -> [u8; 32] {
        let key = self.0.verifying_key().encode();
        *blake3::Hasher::new_derive_key("endseal/peer@v1 id")
            .update(&SPKI)
            .update(&key)
            .finalize()
            .as_bytes()
    }

    /// Signs deterministically, so that vectors are the same each time.
    pub(crate) fn sign(&self, signed: &[u8], context: &[u8]) -> Vec<u8> {
        self.0.sign_deterministic(signed, context).unwrap().encode().to_vec()
    }

    #[allow(dead_code, reason = "the generator only writes")]
    pub(crate) fn verify(&self, signed: &[u8], signature: &[u8]) -> bool {
        Signature::try_from(signature)
            .is_ok_and(|it| self.0.verifying_key().verify_with_context(signed, CONTEXT, &it))
    }
}
