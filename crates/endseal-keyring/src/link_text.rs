//! The text that a new device shows to be linked (docs/spec/identity.md, "Link").

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use endseal_crypto::identity::{PublicIdentity, SignedKemKey, StoreKey};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::{ed25519, hash, label, mlkem768, x25519};

use crate::bech32m::{self, Case, DecodeError};

/// The human-readable part of the text (BIP-350).
const PREFIX: &str = "endseallink";
const VERSION: u8 = 1;
/// Length of the payload in bytes.
const LEN: usize = 1
    + LinkSecret::LEN
    + ed25519::PublicKey::LEN
    + mlkem768::PUBLIC_LEN
    + ed25519::Signature::LEN
    + PeerId::LEN
    + 3 * 32;

endseal_crypto::secret_bytes! {
    /// Secret of a link text, by which a new device recognises the answer.
    ///
    /// ```compile_fail,E0277
    /// println!("{:?}", endseal_keyring::LinkSecret::from_bytes(&[7; 32]));
    /// ```
    pub struct LinkSecret[32];
}

impl LinkSecret {
    /// Derives the secret of a device from the key of its store. A device shows the same text until
    /// it is linked.
    #[must_use]
    pub fn of_device(store: &StoreKey) -> Self {
        Self::from_bytes(&hash::derive(label::LINK_SECRET, &[store.expose_secret()]))
    }
}

/// Public keys of a device that asks to be linked, and the secret of its text.
#[allow(missing_debug_implementations, reason = "it holds a secret")]
#[allow(clippy::exhaustive_structs, reason = "the fields of the format")]
pub struct LinkRequest {
    /// Secret that the answer must have.
    pub secret: LinkSecret,
    /// Identity of the device, with its ML-KEM-768 key.
    pub device: PublicIdentity,
    /// Peer id of the device.
    pub peer_id: PeerId,
    /// Key for agreements, for the certificate.
    pub agreement: x25519::PublicKey,
    /// Key that signs prekeys, for the certificate.
    pub signing: ed25519::PublicKey,
    /// Key that signs in MLS groups, for the certificate.
    pub group: ed25519::PublicKey,
}

impl LinkRequest {
    /// Parses a text. White space in it is ignored: mail and terminals break long lines.
    ///
    /// # Errors
    /// [`ParseLinkError`] if the text was cut or changed, or has another version or invalid keys.
    pub fn parse(text: &str) -> Result<Self, ParseLinkError> {
        let text: Zeroizing<String> = Zeroizing::new(text.split_whitespace().collect());
        let data = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('1'));
        let data = data.ok_or(ParseLinkError::Prefix)?;
        let mut payload = Zeroizing::new(vec![0; LEN]);
        bech32m::decode(PREFIX, data, Case::Lower, &mut payload).map_err(|error| match error {
            DecodeError::Case | DecodeError::Character(_) => ParseLinkError::Character,
            DecodeError::Length => ParseLinkError::Length,
            DecodeError::Checksum => ParseLinkError::Checksum,
            DecodeError::Padding => ParseLinkError::Padding,
        })?;
        let mut rest = Fields(&payload);
        if rest.take() != [VERSION] {
            return Err(ParseLinkError::Version);
        }
        let secret = LinkSecret::from_bytes(&rest.take());
        let key = |bytes| ed25519::PublicKey::from_bytes(&bytes).map_err(|_| ParseLinkError::Key);
        let identity = key(rest.take())?;
        let kem = mlkem768::PublicKey::from_bytes(&rest.take::<{ mlkem768::PUBLIC_LEN }>());
        let kem = kem.map_err(|_| ParseLinkError::Key)?;
        let kem = SignedKemKey::new(kem, ed25519::Signature::from_bytes(&rest.take()));
        let device = PublicIdentity::verify(identity, kem);
        let device = device.map_err(|_| ParseLinkError::Signature)?;
        let peer_id = PeerId::from_bytes(&rest.take());
        let agreement = x25519::PublicKey::from_bytes(&rest.take());
        let agreement = agreement.map_err(|_| ParseLinkError::Key)?;
        let (signing, group) = (key(rest.take())?, key(rest.take())?);
        Ok(Self { secret, device, peer_id, agreement, signing, group })
    }

    /// Returns the text, which is a secret until the device is linked. `None` if the device has no
    /// ML-KEM-768 key.
    #[must_use]
    pub fn to_text(&self) -> Option<Zeroizing<String>> {
        let payload = self.payload()?;
        Some(Zeroizing::new(bech32m::encode(PREFIX, &payload, Case::Lower)))
    }

    /// Returns the number that both devices show: four groups of five digits. It is the same only
    /// if the text arrived unchanged.
    #[must_use]
    pub fn check_number(&self) -> String {
        let mut digest = [0; 20];
        let payload = self.payload().unwrap_or_default();
        hash::derive_into(label::LINK_CHECK, &[&payload[..]], &mut digest);
        let group = |bytes: &[u8]| {
            let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
            alloc::format!("{:05}", number % 100_000)
        };
        digest.chunks_exact(5).map(group).collect::<Vec<_>>().join(" ")
    }

    fn payload(&self) -> Option<Zeroizing<Vec<u8>>> {
        let kem = self.device.signed_kem_key()?;
        let mut payload = Zeroizing::new(Vec::with_capacity(LEN));
        payload.push(VERSION);
        payload.extend_from_slice(self.secret.expose_secret());
        payload.extend_from_slice(self.device.ed25519().as_bytes());
        payload.extend_from_slice(kem.key().as_bytes());
        payload.extend_from_slice(kem.signature().as_bytes());
        payload.extend_from_slice(self.peer_id.as_bytes());
        payload.extend_from_slice(self.agreement.as_bytes());
        payload.extend_from_slice(self.signing.as_bytes());
        payload.extend_from_slice(self.group.as_bytes());
        Some(payload)
    }
}

/// Takes fields of a payload whose length is known.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *field
    }
}

/// Reason why a text does not ask to link a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseLinkError {
    /// A character that the form does not have.
    Character,
    /// The checksum is wrong: a typing error.
    Checksum,
    /// A key is not valid.
    Key,
    /// Cut or extended: usually a part of it was copied.
    Length,
    /// Bits after the payload are set.
    Padding,
    /// The text does not begin with `endseallink1`.
    Prefix,
    /// The ML-KEM-768 key is not that of the device.
    Signature,
    /// A later version of the program made the text.
    Version,
}

impl ParseLinkError {
    /// Returns the class that docs/spec/identity.md names.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Character => "character",
            Self::Checksum => "checksum",
            Self::Key => "key",
            Self::Length => "length",
            Self::Padding => "padding",
            Self::Prefix => "prefix",
            Self::Signature => "signature",
            Self::Version => "version",
        }
    }
}

impl fmt::Display for ParseLinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Character | Self::Checksum | Self::Length | Self::Padding => {
                "the link text was cut or changed"
            }
            Self::Key | Self::Signature => "a key in the link text is not valid",
            Self::Prefix => "a link text begins with endseallink1",
            Self::Version => "a later version of endseal made the link text",
        })
    }
}

impl core::error::Error for ParseLinkError {}

#[cfg(test)]
mod tests {
    use super::*;
    use endseal_crypto::identity::Identity;

    fn request() -> LinkRequest {
        let seeds = (ed25519::Seed::from_bytes(&[1; 32]), mlkem768::Seed::from_bytes(&[2; 64]));
        let device = Identity::from_seeds(seeds.0, seeds.1);
        let key = *device.public().ed25519();
        LinkRequest {
            secret: LinkSecret::of_device(&device.store_key()),
            device: device.public().clone(),
            peer_id: PeerId::from_bytes(&[3; 32]),
            agreement: *device.agreement().public_key(),
            signing: key,
            group: key,
        }
    }

    #[test]
    fn a_text_comes_back_and_a_changed_one_is_refused() {
        let request = request();
        let text = request.to_text().unwrap();
        let wrapped: Vec<_> =
            text.as_bytes().chunks(76).map(|it| str::from_utf8(it).unwrap()).collect();
        for text in [(*text).clone(), wrapped.join("\n"), alloc::format!(" {}\r\n", &*text)] {
            let read = LinkRequest::parse(&text).unwrap();
            assert!(read.secret == request.secret && read.device == request.device);
            assert_eq!(read.check_number(), request.check_number());
            assert!(read.to_text() == request.to_text());
        }
        let refused = |text: &str| LinkRequest::parse(text).err();
        assert_eq!(refused("endsealpq1qq"), Some(ParseLinkError::Prefix));
        assert_eq!(refused(&text[..text.len() - 1]), Some(ParseLinkError::Length));
        assert_eq!(refused(&text.replace('q', "p")), Some(ParseLinkError::Checksum));
    }

    #[test]
    fn each_field_changes_the_number() {
        let number = request().check_number();
        assert_eq!(number.len(), 23);
        let other = [4; 32];
        let mut changed = request();
        changed.secret = LinkSecret::from_bytes(&other);
        assert_ne!(changed.check_number(), number);
        changed = request();
        changed.peer_id = PeerId::from_bytes(&other);
        assert_ne!(changed.check_number(), number);
    }

    #[test]
    fn a_kem_key_of_another_device_is_refused() {
        let request = request();
        let mut payload = request.payload().unwrap();
        payload[70] ^= 1;
        let text = bech32m::encode(PREFIX, &payload, Case::Lower);
        assert_eq!(LinkRequest::parse(&text).err(), Some(ParseLinkError::Signature));
        payload[0] = 2;
        let text = bech32m::encode(PREFIX, &payload, Case::Lower);
        assert_eq!(LinkRequest::parse(&text).err(), Some(ParseLinkError::Version));
    }
}
