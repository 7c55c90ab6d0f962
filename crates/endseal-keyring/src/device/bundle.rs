//! Prekey bundles, with which others begin a session with a device.

use alloc::vec::Vec;
use core::fmt;

use endseal_crypto::ed25519::Signature;
use endseal_crypto::label::SESSION_PREKEY;
use endseal_crypto::x25519;

use super::{Certificate, CertificateError};

const VERSION: u8 = 1;
const SIGNED_LEN: usize = PrekeyBundle::LEN - Signature::LEN;

/// One prekey of a device, signed by it (docs/spec/session.md, "Prekey bundle"). A value is valid:
/// the certificate and the signature were verified.
#[derive(Clone, PartialEq, Eq)]
pub struct PrekeyBundle {
    bytes: [u8; Self::LEN],
    certificate: Certificate,
    kind: PrekeyKind,
    key: x25519::PublicKey,
    made_at: u64,
}

/// Number of sessions for which a prekey serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PrekeyKind {
    /// For one session: the hub gives it to one peer only.
    OneTime,
    /// For any number of sessions, until two newer ones have been made. It is used only if no
    /// one-time key is left. Until the other side answers, sessions started with it are no safer
    /// than this one key.
    Fallback,
}

impl PrekeyKind {
    fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::OneTime),
            2 => Some(Self::Fallback),
            _ => None,
        }
    }

    fn to_byte(self) -> u8 {
        match self {
            Self::OneTime => 1,
            Self::Fallback => 2,
        }
    }
}

impl PrekeyBundle {
    /// Length of an encoded bundle in bytes.
    pub const LEN: usize = 343;

    /// Makes a bundle of a prekey, made at `made_at` milliseconds since 1970. `sign` MUST sign with
    /// the device's key in the certificate; others refuse the bundle if not.
    #[must_use]
    pub fn issue(
        certificate: &Certificate,
        kind: PrekeyKind,
        key: x25519::PublicKey,
        made_at: u64,
        sign: impl FnOnce(&[u8]) -> Signature,
    ) -> Self {
        let mut message = Vec::with_capacity(SESSION_PREKEY.as_str().len() + SIGNED_LEN);
        message.extend_from_slice(SESSION_PREKEY.as_str().as_bytes());
        message.push(VERSION);
        message.extend_from_slice(certificate.as_bytes());
        message.push(kind.to_byte());
        message.extend_from_slice(key.as_bytes());
        message.extend_from_slice(&made_at.to_le_bytes());
        let mut bytes = [0; Self::LEN];
        let (signed, signature) = bytes.split_at_mut(SIGNED_LEN);
        signed.copy_from_slice(&message[SESSION_PREKEY.as_str().len()..]);
        signature.copy_from_slice(sign(&message).as_bytes());
        Self { bytes, certificate: certificate.clone(), kind, key, made_at }
    }

    /// Parses and verifies a bundle and the certificate in it.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BundleError> {
        let bytes: &[u8; Self::LEN] = bytes.try_into().map_err(|_| BundleError::Length)?;
        let raw = Raw::of(bytes).ok_or(BundleError::Length)?;
        if raw.version != VERSION {
            return Err(BundleError::Version);
        }
        let kind = PrekeyKind::from_byte(raw.kind).ok_or(BundleError::Kind)?;
        let key = x25519::PublicKey::from_bytes(raw.key).map_err(|_| BundleError::Key)?;
        let certificate = Certificate::from_bytes(raw.certificate)?;
        let message = [SESSION_PREKEY.as_str().as_bytes(), &bytes[..SIGNED_LEN]].concat();
        let signature = Signature::from_bytes(raw.signature);
        let verdict = certificate.keys().signing.verify(&message, &signature);
        verdict.map_err(|_| BundleError::Authentication)?;
        let made_at = u64::from_le_bytes(*raw.made_at);
        Ok(Self { bytes: *bytes, certificate, kind, key, made_at })
    }

    /// The encoding of the bundle, signed, in [`Self::LEN`] bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.bytes
    }

    /// Returns the certificate of the device. The caller MUST check that the address is the one it
    /// asked for.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Returns the number of sessions for which the prekey serves.
    #[must_use]
    pub fn kind(&self) -> PrekeyKind {
        self.kind
    }

    /// The X25519 public key of the prekey.
    #[must_use]
    pub fn key(&self) -> &x25519::PublicKey {
        &self.key
    }

    /// Time of the making, in milliseconds since 1970, as the device states it.
    #[must_use]
    pub fn made_at(&self) -> u64 {
        self.made_at
    }
}

impl fmt::Debug for PrekeyBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrekeyBundle")
            .field("address", &self.certificate.address())
            .field("kind", &self.kind)
            .field("key", &self.key)
            .field("made_at", &self.made_at)
            .finish_non_exhaustive()
    }
}

/// The fields as they lie there.
struct Raw<'a> {
    version: u8,
    certificate: &'a [u8; Certificate::LEN],
    kind: u8,
    key: &'a [u8; 32],
    made_at: &'a [u8; 8],
    signature: &'a [u8; Signature::LEN],
}

impl<'a> Raw<'a> {
    fn of(bytes: &'a [u8; PrekeyBundle::LEN]) -> Option<Self> {
        let ([version], rest) = bytes.split_first_chunk()?;
        let (certificate, rest) = rest.split_first_chunk()?;
        let ([kind], rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (made_at, rest) = rest.split_first_chunk()?;
        let signature = rest.first_chunk()?;
        Some(Self { version: *version, certificate, kind: *kind, key, made_at, signature })
    }
}

/// Reason why bytes are not a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BundleError {
    /// The signature is not one of the device: forged or damaged.
    Authentication,
    /// The certificate in the bundle is not valid, for this reason.
    Certificate(CertificateError),
    /// The prekey is not a canonical X25519 key.
    Key,
    /// A kind of prekey that is not known.
    Kind,
    /// The bytes are not exactly 343.
    Length,
    /// A version that is not known: made by a newer program.
    Version,
}

impl From<CertificateError> for BundleError {
    fn from(error: CertificateError) -> Self {
        Self::Certificate(error)
    }
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Authentication => "the signature of the prekey is wrong",
            Self::Certificate(error) => return error.fmt(f),
            Self::Key => "the prekey is invalid",
            Self::Kind => "the kind of the prekey is unknown",
            Self::Length => "the prekey bundle does not have 343 bytes",
            Self::Version => "the version of the prekey bundle is unknown",
        })
    }
}

impl core::error::Error for BundleError {}
