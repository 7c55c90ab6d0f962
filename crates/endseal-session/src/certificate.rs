//! A device's keys, vouched for by its identity.

use core::fmt;
use core::num::NonZeroU32;

use endseal_crypto::ed25519::{PublicKey, Signature};

use crate::address::Address;

const LABEL: &[u8] = b"endseal/session@v1 certificate";

/// A certificate that was checked.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    bytes: [u8; Self::LEN],
    address: Address,
    group_key: PublicKey,
}

impl Certificate {
    /// Length in bytes.
    pub const LEN: usize = 237;

    /// Checks and takes a certificate.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CertificateError> {
        let bytes: [u8; Self::LEN] = bytes.try_into().map_err(|_| CertificateError::Malformed)?;
        let key = |at: usize| {
            let key = bytes[at..at + 32].try_into().map_err(|_| CertificateError::Malformed)?;
            PublicKey::from_bytes(&key).map_err(|_| CertificateError::Malformed)
        };
        let device = u32::from_le_bytes([bytes[33], bytes[34], bytes[35], bytes[36]]);
        let device = NonZeroU32::new(device).ok_or(CertificateError::Malformed)?;
        if bytes[0] != 1 {
            return Err(CertificateError::Malformed);
        }
        let identity = key(1)?;
        let group_key = key(133)?;
        let signature = bytes[173..].try_into().map_err(|_| CertificateError::Malformed)?;
        let message = [LABEL, &bytes[..173]].concat();
        identity
            .verify(&message, &Signature::from_bytes(&signature))
            .map_err(|_| CertificateError::Authentication)?;
        Ok(Self { bytes, address: Address::new(identity, device), group_key })
    }

    /// The encoding.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.bytes
    }

    /// Whose keys these are.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The key that signs in MLS groups.
    #[must_use]
    pub fn group_key(&self) -> &PublicKey {
        &self.group_key
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({:?})", self.address)
    }
}

/// Why a certificate is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateError {
    /// Not a certificate.
    Malformed,
    /// The identity has not signed it.
    Authentication,
}
