//! Certificates of devices, signed by their identity.

use alloc::vec::Vec;
use core::fmt;

use endseal_crypto::ed25519::{self, Signature, SigningKey, VerifyingKey};
use endseal_crypto::label::SESSION_CERTIFICATE;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::x25519;

use super::{Address, DeviceId};

const VERSION: u8 = 1;
const SIGNED_LEN: usize = Certificate::LEN - Signature::LEN;

/// The keys of a device, vouched for by its owner (docs/spec/session.md, "Addresses and
/// certificates"). A value is valid: every key is one, and the signature was verified.
///
/// The caller MUST check that it is the right certificate: that its address is the one that a
/// message came under, and that no later one was seen ([`Self::succession`]).
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    bytes: [u8; Self::LEN],
    identity: ed25519::PublicKey,
    keys: DeviceKeys,
    made_at: u64,
}

/// Keys for which a certificate vouches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "the fields of the format")]
pub struct DeviceKeys {
    /// The number of the device.
    pub device: DeviceId,
    /// Peer id by which the device authenticates its connections.
    pub peer_id: PeerId,
    /// Public key of the device for agreements, which is Olm's identity key.
    pub agreement: x25519::PublicKey,
    /// The key that signs its prekeys.
    pub signing: ed25519::PublicKey,
    /// The key that signs in MLS groups.
    pub group: ed25519::PublicKey,
}

impl Certificate {
    /// Length of an encoded certificate in bytes.
    pub const LEN: usize = 237;

    /// Signs a certificate for a device, made at `made_at` milliseconds since 1970.
    ///
    /// The caller MUST NOT sign different keys for one device with one time: others refuse the
    /// second.
    #[must_use]
    pub fn issue(identity: &SigningKey, keys: &DeviceKeys, made_at: u64) -> Self {
        let public = *identity.public_key();
        let mut message = Vec::with_capacity(SESSION_CERTIFICATE.as_str().len() + SIGNED_LEN);
        message.extend_from_slice(SESSION_CERTIFICATE.as_str().as_bytes());
        message.push(VERSION);
        message.extend_from_slice(public.as_bytes());
        message.extend_from_slice(&keys.device.number().to_le_bytes());
        message.extend_from_slice(keys.peer_id.as_bytes());
        message.extend_from_slice(keys.agreement.as_bytes());
        message.extend_from_slice(keys.signing.as_bytes());
        message.extend_from_slice(keys.group.as_bytes());
        message.extend_from_slice(&made_at.to_le_bytes());
        let mut bytes = [0; Self::LEN];
        let (signed, signature) = bytes.split_at_mut(SIGNED_LEN);
        signed.copy_from_slice(&message[SESSION_CERTIFICATE.as_str().len()..]);
        signature.copy_from_slice(identity.sign(&message).as_bytes());
        Self { bytes, identity: public, keys: *keys, made_at }
    }

    /// Parses and verifies a certificate: four public keys are decoded and one signature verified.
    ///
    /// # Errors
    /// [`CertificateError`]; the cheap reasons are looked for first.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CertificateError> {
        let bytes: &[u8; Self::LEN] = bytes.try_into().map_err(|_| CertificateError::Length)?;
        let raw = Raw::of(bytes).ok_or(CertificateError::Length)?;
        if raw.version != VERSION {
            return Err(CertificateError::Version);
        }
        let device = DeviceId::new(u32::from_le_bytes(*raw.device));
        let device = device.ok_or(CertificateError::Device)?;
        let agreement = x25519::PublicKey::from_bytes(raw.agreement);
        let agreement = agreement.map_err(|_| CertificateError::Key)?;
        let identity = VerifyingKey::from_bytes(raw.identity);
        let identity = identity.map_err(|_| CertificateError::Key)?;
        let ed25519 = |bytes| ed25519::PublicKey::from_bytes(bytes);
        let signing = ed25519(raw.signing).map_err(|_| CertificateError::Key)?;
        let group = ed25519(raw.group).map_err(|_| CertificateError::Key)?;

        let message = [SESSION_CERTIFICATE.as_str().as_bytes(), &bytes[..SIGNED_LEN]].concat();
        let signature = Signature::from_bytes(raw.signature);
        identity.verify(&message, &signature).map_err(|_| CertificateError::Authentication)?;
        let peer_id = PeerId::from_bytes(raw.peer_id);
        Ok(Self {
            bytes: *bytes,
            identity: *identity.public_key(),
            keys: DeviceKeys { device, peer_id, agreement, signing, group },
            made_at: u64::from_le_bytes(*raw.made_at),
        })
    }

    /// The encoding of the certificate, signed, in [`Self::LEN`] bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.bytes
    }

    /// Returns the address of the device.
    #[must_use]
    pub fn address(&self) -> Address {
        Address { identity: self.identity, device: self.keys.device }
    }

    /// Returns the keys for which it vouches.
    #[must_use]
    pub fn keys(&self) -> &DeviceKeys {
        &self.keys
    }

    /// Time of the making, in milliseconds since 1970, as the owner states it.
    #[must_use]
    pub fn made_at(&self) -> u64 {
        self.made_at
    }

    /// Returns the agreement key in the bytes of a certificate, without verifying the signature.
    /// The caller MUST have verified the same bytes before. `None` if it is not a key.
    #[must_use]
    pub fn agreement_in(bytes: &[u8; Self::LEN]) -> Option<x25519::PublicKey> {
        x25519::PublicKey::from_bytes(Raw::of(bytes)?.agreement).ok()
    }

    /// Returns the peer id in the bytes of a certificate, without verifying the signature. The
    /// caller MUST have verified the same bytes before.
    #[must_use]
    pub fn peer_id_in(bytes: &[u8; Self::LEN]) -> Option<PeerId> {
        Raw::of(bytes).map(|raw| PeerId::from_bytes(raw.peer_id))
    }

    /// Compares this certificate with `seen`, which the same address showed before. The caller MUST
    /// compare certificates of one address only.
    #[must_use]
    pub fn succession(&self, seen: &Self) -> Succession {
        debug_assert!(self.address() == seen.address(), "certificates of two addresses");
        match self.made_at.cmp(&seen.made_at) {
            core::cmp::Ordering::Greater => Succession::Later,
            core::cmp::Ordering::Less => Succession::Earlier,
            // The owner of the secret can make many signatures of one content, so contents are
            // compared.
            core::cmp::Ordering::Equal if self.keys == seen.keys => Succession::Same,
            core::cmp::Ordering::Equal => Succession::Conflict,
        }
    }

    /// Returns true if `seen`, which the same address has shown, is for another device: it is later
    /// and has other keys, or it conflicts. The caller MUST compare certificates of one address
    /// only.
    #[must_use]
    pub fn is_superseded_by(&self, seen: &Self) -> bool {
        let of = |it: &Self| (it.keys.agreement, it.keys.signing, it.keys.group);
        match self.succession(seen) {
            Succession::Same | Succession::Later => false,
            Succession::Earlier => of(self) != of(seen),
            Succession::Conflict => true,
        }
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("identity", &self.identity)
            .field("keys", &self.keys)
            .field("made_at", &self.made_at)
            .finish_non_exhaustive()
    }
}

/// Relation of a certificate to the one that was seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "an order has these cases")]
pub enum Succession {
    /// Both certificates have the same content.
    Same,
    /// The certificate is newer than the other one and replaces it.
    Later,
    /// The certificate is older than the other one, which stays valid.
    Earlier,
    /// Other keys under the same time: it must be refused.
    Conflict,
}

/// The fields as they lie there.
struct Raw<'a> {
    version: u8,
    identity: &'a [u8; 32],
    device: &'a [u8; 4],
    peer_id: &'a [u8; 32],
    agreement: &'a [u8; 32],
    signing: &'a [u8; 32],
    group: &'a [u8; 32],
    made_at: &'a [u8; 8],
    signature: &'a [u8; Signature::LEN],
}

impl<'a> Raw<'a> {
    fn of(bytes: &'a [u8; Certificate::LEN]) -> Option<Self> {
        let ([version], rest) = bytes.split_first_chunk()?;
        let (identity, rest) = rest.split_first_chunk()?;
        let (device, rest) = rest.split_first_chunk()?;
        let (peer_id, rest) = rest.split_first_chunk()?;
        let (agreement, rest) = rest.split_first_chunk()?;
        let (signing, rest) = rest.split_first_chunk()?;
        let (group, rest) = rest.split_first_chunk()?;
        let (made_at, rest) = rest.split_first_chunk()?;
        let signature = rest.first_chunk()?;
        Some(Self {
            version: *version,
            identity,
            device,
            peer_id,
            agreement,
            signing,
            group,
            made_at,
            signature,
        })
    }
}

/// Reason why bytes are not a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateError {
    /// The signature is not one of the identity: forged or damaged.
    Authentication,
    /// The number of the device is 0; numbers begin at 1.
    Device,
    /// A key is not one: damaged, or made by another program.
    Key,
    /// The bytes are not exactly 237.
    Length,
    /// A version that is not known: made by a newer program.
    Version,
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Authentication => "the signature of the certificate is wrong",
            Self::Device => "the certificate names device 0",
            Self::Key => "a key of the certificate is invalid",
            Self::Length => "the certificate does not have 237 bytes",
            Self::Version => "the version of the certificate is unknown",
        })
    }
}

impl core::error::Error for CertificateError {}
