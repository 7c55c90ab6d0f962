//! Frames that rest in a mailbox or pass relays: self-contained, and signed or vouched for.

use alloc::vec::Vec;
use core::convert::Infallible;

use super::{BuildError, FrameError, crc32c};
use crate::codec::Codec as _;
use crate::error::{DecodeError, EncodeError};
use crate::limits::Limits;
use crate::protection::Sealed;

const VERSION: u8 = 1;
/// The payload is a `SealedMessage`.
const SEALED_MESSAGE: u8 = 1;
const CHECKSUM_AT: usize = 56;
/// The label `FRAME_SIGNATURE` of the registry in `endseal-crypto`, which compares both in its
/// tests.
const SIGNATURE_LABEL: &[u8] = b"endseal/frame@v1 signature";

/// Signature scheme of a stored frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SignatureScheme {
    /// Ed25519; the sender is its public key.
    Ed25519,
    /// ML-DSA-65 under [`context`](Self::context); the sender is the peer id, a digest of its
    /// public key.
    MlDsa65,
    /// No signature; the sender is the peer id. The taker of the frame, who knows its connection,
    /// vouches for it, and its content authenticates itself.
    Vouched,
}

impl SignatureScheme {
    /// Length of a signature of this scheme in bytes.
    #[must_use]
    pub const fn signature_len(self) -> usize {
        match self {
            Self::Ed25519 => 64,
            Self::MlDsa65 => 3309,
            Self::Vouched => 0,
        }
    }

    /// Context string of the scheme: the label of the signature for ML-DSA-65 (FIPS 204), empty for
    /// the others, which have none.
    #[must_use]
    pub const fn context(self) -> &'static [u8] {
        match self {
            Self::Ed25519 | Self::Vouched => &[],
            Self::MlDsa65 => SIGNATURE_LABEL,
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Ed25519 => 1,
            Self::MlDsa65 => 2,
            Self::Vouched => 3,
        }
    }
}

/// Sender, time and number of a stored frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the three are what the header has room for")]
pub struct Stamp {
    /// Counts the frames of this sender, from 0. A number must never be used twice, not even after
    /// a backup was restored.
    pub sequence: u64,
    /// Milliseconds since 1970, by the sender's clock.
    pub timestamp: u64,
    /// An Ed25519 public key or a peer id, as the scheme says.
    pub sender: [u8; 32],
}

/// A stored frame whose sender is authenticated: by its signature, or by the peer that vouches for
/// it.
///
/// The caller MUST then refuse a sequence that was seen before:
/// [`ReplayWindow`](super::ReplayWindow).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredFrame<'a> {
    stamp: Stamp,
    scheme: SignatureScheme,
    payload: &'a [u8],
}

impl<'a> StoredFrame<'a> {
    /// Bytes in front of the payload.
    pub const HEADER_LEN: usize = 64;

    /// A frame of a sealed message. `sign` gets the bytes to sign, and returns their signature
    /// under the [context](SignatureScheme::context) of the scheme.
    ///
    /// # Errors
    /// [`BuildError::Encode`] if a reader would refuse the message; [`BuildError::Sign`] if `sign`
    /// fails; [`BuildError::Signature`] if its signature has another length than the scheme's.
    pub fn build<T, E>(
        message: &Sealed<T>,
        stamp: Stamp,
        scheme: SignatureScheme,
        limits: Limits,
        sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, BuildError<E>> {
        let message = message.as_message();
        let len = message.encoded_len(limits).map_err(BuildError::Encode)?;
        let length = u32::try_from(len).map_err(|_| BuildError::Encode(EncodeError::Limit))?;
        let mut signed = Vec::with_capacity(SIGNATURE_LABEL.len() + Self::HEADER_LEN + len);
        signed.extend_from_slice(SIGNATURE_LABEL);
        signed.extend_from_slice(&header(stamp, scheme, length));
        message.append_to(limits, &mut signed).map_err(BuildError::Encode)?;
        let signature = sign(&signed).map_err(BuildError::Sign)?;
        if signature.len() != scheme.signature_len() {
            return Err(BuildError::Signature);
        }
        let mut frame = Vec::with_capacity(Self::HEADER_LEN + len + signature.len());
        frame.extend_from_slice(&signed[SIGNATURE_LABEL.len()..]);
        frame.extend_from_slice(&signature);
        // The field is 0 until here, as the checksum wants it.
        let checksum = crc32c::checksum(&[&frame]);
        frame[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&checksum.to_le_bytes());
        Ok(frame)
    }

    /// A frame without a signature ([`SignatureScheme::Vouched`]), for a mailbox that knows its
    /// sender by the connection.
    ///
    /// # Errors
    /// [`EncodeError`] if a reader would refuse the message.
    pub fn vouched<T>(
        message: &Sealed<T>,
        stamp: Stamp,
        limits: Limits,
    ) -> Result<Vec<u8>, EncodeError> {
        let unsigned = |_: &[u8]| Ok::<_, Infallible>(Vec::new());
        match Self::build(message, stamp, SignatureScheme::Vouched, limits, unsigned) {
            Ok(frame) => Ok(frame),
            Err(BuildError::Encode(error)) => Err(error),
            Err(BuildError::Sign(never)) => match never {},
            Err(BuildError::Signature) => Err(EncodeError::Limit),
        }
    }

    /// Reads a frame that is all of `bytes`.
    ///
    /// # Errors
    /// The class of the first violation.
    pub fn parse(bytes: &'a [u8], limits: Limits) -> Result<UnverifiedFrame<'a>, FrameError> {
        let (header, rest) = bytes.split_first_chunk::<64>().ok_or(FrameError::Truncated)?;
        if header[0] != VERSION {
            return Err(FrameError::Version);
        }
        if header[1] != SEALED_MESSAGE {
            return Err(FrameError::Protocol);
        }
        if header[2..4] != [0; 2] || header[61..64] != [0; 3] {
            return Err(FrameError::Flags);
        }
        let scheme = match header[60] {
            1 => SignatureScheme::Ed25519,
            2 => SignatureScheme::MlDsa65,
            3 => SignatureScheme::Vouched,
            _ => return Err(FrameError::Scheme),
        };
        let length = u32::from_le_bytes(part(header, 4));
        if length > limits.maximum() {
            return Err(FrameError::Limit);
        }
        let (payload, signature) =
            rest.split_at_checked(length as usize).ok_or(FrameError::Truncated)?;
        if signature.len() < scheme.signature_len() {
            return Err(FrameError::Truncated);
        }
        if signature.len() > scheme.signature_len() {
            return Err(FrameError::Trailing);
        }
        let checksum = u32::from_le_bytes(part(header, CHECKSUM_AT));
        let mut header = *header;
        header[CHECKSUM_AT..CHECKSUM_AT + 4].fill(0);
        if crc32c::checksum(&[&header, payload, signature]) != checksum {
            return Err(FrameError::Checksum);
        }
        Ok(UnverifiedFrame { header, scheme, payload, signature })
    }

    /// Sequence, time and sender of the frame.
    #[must_use]
    pub fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// Returns the signature scheme that the frame names.
    #[must_use]
    pub fn scheme(&self) -> SignatureScheme {
        self.scheme
    }

    /// The payload: an encoded `SealedMessage`, which is not decoded here.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Decodes the message, which is still sealed.
    ///
    /// # Errors
    /// The class of the first violation: the sender has signed bytes that are not a message.
    pub fn message<T: crate::Codec>(&self, limits: Limits) -> Result<Sealed<T>, DecodeError> {
        Sealed::decode(self.payload, limits)
    }
}

/// A stored frame that is complete and undamaged, but not authenticated. It gives access only to
/// the fields that are needed to verify it.
#[derive(Clone, Copy, Debug)]
pub struct UnverifiedFrame<'a> {
    /// With checksum 0, as it was signed.
    header: [u8; 64],
    scheme: SignatureScheme,
    payload: &'a [u8],
    signature: &'a [u8],
}

impl<'a> UnverifiedFrame<'a> {
    /// Returns the sender that the frame names.
    #[must_use]
    pub fn sender(&self) -> [u8; 32] {
        part(&self.header, 24)
    }

    /// Returns the signature scheme that the frame names.
    #[must_use]
    pub fn scheme(&self) -> SignatureScheme {
        self.scheme
    }

    /// Verifies the signature. `verify` gets the signed bytes and the signature, and returns true
    /// if it is that of a key which the caller knows to be the sender's, under this scheme and its
    /// [context](SignatureScheme::context). A frame that is vouched for has none, and is refused.
    ///
    /// # Errors
    /// [`FrameError::Authentication`] if `verify` says no.
    pub fn verify_with(
        self,
        verify: impl FnOnce(&[u8], &[u8]) -> bool,
    ) -> Result<StoredFrame<'a>, FrameError> {
        let signed = [SIGNATURE_LABEL, &self.header, self.payload].concat();
        if self.scheme == SignatureScheme::Vouched || !verify(&signed, self.signature) {
            return Err(FrameError::Authentication);
        }
        Ok(self.accepted())
    }

    /// Takes a frame without a signature that came over the connection of `peer`, or from a hub
    /// that vouches that it did.
    ///
    /// # Errors
    /// [`FrameError::Authentication`] if it names another sender, or has a signature.
    pub fn vouched_by(self, peer: &[u8; 32]) -> Result<StoredFrame<'a>, FrameError> {
        if self.scheme != SignatureScheme::Vouched || self.sender() != *peer {
            return Err(FrameError::Authentication);
        }
        Ok(self.accepted())
    }

    fn accepted(self) -> StoredFrame<'a> {
        let stamp = Stamp {
            sequence: u64::from_le_bytes(part(&self.header, 8)),
            timestamp: u64::from_le_bytes(part(&self.header, 16)),
            sender: self.sender(),
        };
        StoredFrame { stamp, scheme: self.scheme, payload: self.payload }
    }
}

fn header(stamp: Stamp, scheme: SignatureScheme, length: u32) -> [u8; 64] {
    let mut header = [0; 64];
    header[0] = VERSION;
    header[1] = SEALED_MESSAGE;
    header[4..8].copy_from_slice(&length.to_le_bytes());
    header[8..16].copy_from_slice(&stamp.sequence.to_le_bytes());
    header[16..24].copy_from_slice(&stamp.timestamp.to_le_bytes());
    header[24..56].copy_from_slice(&stamp.sender);
    header[60] = scheme.number();
    header
}

fn part<const N: usize>(header: &[u8; 64], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&header[at..at + N]);
    part
}
