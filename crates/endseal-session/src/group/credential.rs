//! MLS credentials: valid certificates for the signing key of a leaf.

use core::fmt;

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::device::{Address, Certificate, DeviceId, Succession};
use mls_rs::error::IntoAnyError;
use mls_rs::identity::basic::BasicCredential;
use mls_rs::identity::{CredentialType, SigningIdentity};
use mls_rs::time::MlsTime;
use mls_rs::{ExtensionList, IdentityProvider};
use mls_rs_core::identity::MemberValidationContext;

/// Position of identity and device in a certificate.
const ADDRESS: core::ops::Range<usize> = 1..37;

/// Credential rules of the specification ("Groups"), for the MLS library.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credentials;

/// Error for a credential that is not a valid certificate of the signing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InvalidCredential;

/// Returns the MLS identity of a device, for its own leaf.
pub(super) fn signing_identity(certificate: &Certificate) -> SigningIdentity {
    let credential = BasicCredential::new(certificate.as_bytes().to_vec()).into_credential();
    SigningIdentity::new(credential, certificate.keys().group.as_bytes().to_vec().into())
}

/// Returns the certificate of a member after a complete check.
pub(super) fn certificate(member: &SigningIdentity) -> Result<Certificate, InvalidCredential> {
    let certificate = Certificate::from_bytes(content(member)?).map_err(|_| InvalidCredential)?;
    if certificate.keys().group.as_bytes()[..] == member.signature_key[..] {
        Ok(certificate)
    } else {
        Err(InvalidCredential)
    }
}

/// Returns the address of a member, whose certificate was checked when it joined.
pub(super) fn address(member: &SigningIdentity) -> Result<Address, InvalidCredential> {
    let (identity, device) = address_bytes(member)?;
    let identity = PublicKey::from_bytes(identity).map_err(|_| InvalidCredential)?;
    Ok(Address { identity, device })
}

/// Returns identity and device from the certificate of a member.
pub(super) fn address_bytes(
    member: &SigningIdentity,
) -> Result<(&[u8; 32], DeviceId), InvalidCredential> {
    let (identity, device) =
        content(member)?[ADDRESS].split_first_chunk().ok_or(InvalidCredential)?;
    let device = device.try_into().map_err(|_| InvalidCredential)?;
    let device = DeviceId::new(u32::from_le_bytes(device)).ok_or(InvalidCredential)?;
    Ok((identity, device))
}

/// Returns the bytes of a member's certificate.
pub(super) fn content(
    member: &SigningIdentity,
) -> Result<&[u8; Certificate::LEN], InvalidCredential> {
    let content = member.credential.as_basic().ok_or(InvalidCredential)?.identifier();
    content.try_into().map_err(|_| InvalidCredential)
}

impl IdentityProvider for Credentials {
    type Error = InvalidCredential;

    fn validate_member(
        &self,
        member: &SigningIdentity,
        _: Option<MlsTime>,
        _: MemberValidationContext<'_>,
    ) -> Result<(), Self::Error> {
        certificate(member).map(drop)
    }

    /// Refuses all external senders: only members may send to a group.
    fn validate_external_sender(
        &self,
        _: &SigningIdentity,
        _: Option<MlsTime>,
        _: Option<&ExtensionList>,
    ) -> Result<(), Self::Error> {
        Err(InvalidCredential)
    }

    /// Returns the bytes of the address. The library calls it for every leaf of a tree before any
    /// is validated, so it uses no public-key operations.
    fn identity(
        &self,
        member: &SigningIdentity,
        _: &ExtensionList,
    ) -> Result<Vec<u8>, Self::Error> {
        content(member).map(|content| content[ADDRESS].to_vec())
    }

    fn valid_successor(
        &self,
        old: &SigningIdentity,
        new: &SigningIdentity,
        _: &ExtensionList,
    ) -> Result<bool, Self::Error> {
        let (old, new) = (certificate(old)?, certificate(new)?);
        let follows = || matches!(new.succession(&old), Succession::Same | Succession::Later);
        Ok(old.address() == new.address() && follows())
    }

    fn supported_types(&self) -> Vec<CredentialType> {
        vec![CredentialType::BASIC]
    }
}

impl fmt::Display for InvalidCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the credential is not a valid certificate of the signing key")
    }
}

impl core::error::Error for InvalidCredential {}

impl IntoAnyError for InvalidCredential {
    fn into_dyn_error(self) -> Result<Box<dyn core::error::Error + Send + Sync>, Self> {
        Ok(self.into())
    }
}
