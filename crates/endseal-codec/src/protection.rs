//! Protection of a message: by a connection, or end to end for its recipients.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use zeroize::Zeroizing;

use crate::codec::Codec;
use crate::error::{DecodeError, EncodeError};
use crate::limits::Limits;
use crate::message::sealed_message::{Scheme, SealedMessage, SealedMessageView};
use crate::schema::unknown::Unknown;

/// A message that only its connection protects. The endpoint of the connection can read it, so it
/// must go directly to the receiver's own program and has no stored form:
///
/// ```compile_fail,E0308
/// use endseal_codec::frame::{SignatureScheme, StoredFrame, Stamp};
/// use endseal_codec::{Direct, Limits, Message};
///
/// let message: Direct<Message> = Direct::new(Message::default());
/// let stamp = Stamp { sequence: 0, timestamp: 0, sender: [1; 32] };
/// let sign = |_: &[u8]| Ok::<_, ()>(vec![0; 64]);
/// StoredFrame::build(&message, stamp, SignatureScheme::Ed25519, Limits::default(), sign);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direct<T>(T);

impl<T> Direct<T> {
    /// A message for the other end of a connection.
    pub fn new(message: T) -> Self {
        Self(message)
    }

    /// Returns the message that it holds.
    pub fn message(&self) -> &T {
        &self.0
    }

    /// Takes the message out of its wrapper.
    pub fn into_message(self) -> T {
        self.0
    }
}

/// A message `T` that is sealed end to end: relays and mailboxes may have it.
///
/// ```
/// use endseal_codec::frame::{SignatureScheme, Stamp, StoredFrame};
/// use endseal_codec::{Codec, Content, Limits, Message, Scheme, Sealed, Typing};
///
/// let typing = Typing { conversation: (*b"team").into(), ..Typing::default() };
/// let message = Message::from(Content::Typing(typing));
/// // In a program: a call of endseal-envelope. Here it is a toy, and seals nothing.
/// let toy = |plaintext: &[u8], out: &mut Vec<u8>| {
///     out.extend(plaintext.iter().map(|byte| byte ^ 0x55));
///     Ok::<(), ()>(())
/// };
/// let limits = Limits::default();
/// let sealed = Sealed::seal_with(Scheme::ENVELOPE, b"", &message, limits, toy).unwrap();
/// let opened = sealed.open_with(limits, |_, ciphertext, out| toy(ciphertext, out)).unwrap();
/// assert_eq!(opened, message);
///
/// let stamp = Stamp { sequence: 0, timestamp: 0, sender: [1; 32] };
/// let sign = |_: &[u8]| Ok::<_, ()>(vec![0; 64]);
/// StoredFrame::build(&sealed, stamp, SignatureScheme::Ed25519, limits, sign).unwrap();
/// ```
pub struct Sealed<T> {
    message: SealedMessage,
    of: PhantomData<fn() -> T>,
}

impl<T> Sealed<T> {
    /// Takes a message whose ciphertext is said to hold a `T`. Opening it shows whether it does.
    #[must_use]
    pub fn from_message(message: SealedMessage) -> Self {
        Self { message, of: PhantomData }
    }

    /// Returns the scheme by which it was sealed.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.message.scheme
    }

    /// Returns the identifier of the keys that open it, as the scheme says. Not authenticated by
    /// itself.
    #[must_use]
    pub fn context(&self) -> &[u8] {
        &self.message.context
    }

    /// The message as it is written.
    #[must_use]
    pub fn as_message(&self) -> &SealedMessage {
        &self.message
    }

    /// Takes the sealed message out of its wrapper.
    #[must_use]
    pub fn into_message(self) -> SealedMessage {
        self.message
    }
}

impl<T: Codec> Sealed<T> {
    /// Encodes `message` and hands the encoding to `seal`, which appends the ciphertext to `out`.
    /// It must authenticate what it encrypts, and bind `context` if the scheme does. The encoding
    /// is wiped afterwards; `message` is the caller's to wipe.
    ///
    /// # Errors
    /// [`SealError::Encode`] if a reader would refuse the message (in front of or behind the
    /// encryption), [`SealError::Seal`] if `seal` fails.
    pub fn seal_with<E>(
        scheme: Scheme,
        context: &[u8],
        message: &T,
        limits: Limits,
        seal: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Self, SealError<E>> {
        // Allocated once, in its size: nothing of it is left behind by growing.
        let plaintext = Zeroizing::new(message.to_vec(limits).map_err(SealError::Encode)?);
        let mut ciphertext = Vec::new();
        seal(&plaintext, &mut ciphertext).map_err(SealError::Seal)?;
        let message = SealedMessage {
            scheme,
            context: context.into(),
            ciphertext: ciphertext.into_boxed_slice(),
            unknown: Unknown::default(),
        };
        message.encoded_len(limits).map_err(SealError::Encode)?;
        Ok(Self::from_message(message))
    }

    /// Hands context and ciphertext to `open`, which appends the plaintext to `out`, and decodes
    /// it. `open` must fail if the ciphertext is not authentic. `out` has the capacity of the
    /// ciphertext's length, and is wiped afterwards; the caller must wipe the decoded message.
    ///
    /// # Errors
    /// [`OpenError::Open`] if `open` fails, [`OpenError::Decode`] if the plaintext is no `T`.
    pub fn open_with<E>(
        &self,
        limits: Limits,
        open: impl FnOnce(&[u8], &[u8], &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<T, OpenError<E>> {
        let mut plaintext = room_for(&self.message.ciphertext);
        open(&self.message.context, &self.message.ciphertext, &mut plaintext)
            .map_err(OpenError::Open)?;
        T::decode(&plaintext, limits).map_err(OpenError::Decode)
    }

    /// [`Self::decode`] and [`Self::open_with`] in one, without a copy of the ciphertext: for a
    /// reader that does not keep the sealed form. `open` gets the scheme as well.
    ///
    /// # Errors
    /// As both; [`OpenError::Sealed`] if the payload is no `SealedMessage`.
    pub fn open_payload<E>(
        payload: &[u8],
        limits: Limits,
        open: impl FnOnce(Scheme, &[u8], &[u8], &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<T, OpenError<E>> {
        let sealed = SealedMessage::view(payload, limits).map_err(OpenError::Sealed)?;
        let mut plaintext = room_for(sealed.ciphertext);
        open(sealed.scheme, sealed.context, sealed.ciphertext, &mut plaintext)
            .map_err(OpenError::Open)?;
        T::decode(&plaintext, limits).map_err(OpenError::Decode)
    }

    /// Reads the payload of a frame with the flag `sealed`.
    ///
    /// # Errors
    /// The class of the first violation.
    pub fn decode(payload: &[u8], limits: Limits) -> Result<Self, DecodeError> {
        SealedMessage::view(payload, limits)
            .map(SealedMessageView::to_owned)
            .map(Self::from_message)
    }
}

/// A buffer for the plaintext. A plaintext is no longer than its ciphertext under any cipher that
/// does not compress, so the buffer never grows, and no copy of it stays in freed memory.
fn room_for(ciphertext: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(Vec::with_capacity(ciphertext.len()))
}

impl<T> Clone for Sealed<T> {
    fn clone(&self) -> Self {
        Self::from_message(self.message.clone())
    }
}

impl<T> PartialEq for Sealed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl<T> Eq for Sealed<T> {}

impl<T> fmt::Debug for Sealed<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Sealed").field(&self.message).finish()
    }
}

/// Reason why a message is not sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealError<E> {
    /// A reader would refuse the message, or the sealed one.
    Encode(EncodeError),
    /// The function that seals it failed.
    Seal(E),
}

/// Reason why a message is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenError<E> {
    /// The function that opens it failed: it is for others, or not authentic.
    Open(E),
    /// It was decrypted, but the plaintext is not a message of this type: its sender has made a
    /// mistake.
    Decode(DecodeError),
    /// The bytes to be opened are no sealed message.
    Sealed(DecodeError),
}

impl<E: fmt::Display> fmt::Display for SealError<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encode(error) => error.fmt(formatter),
            Self::Seal(error) => error.fmt(formatter),
        }
    }
}

impl<E: fmt::Display> fmt::Display for OpenError<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => error.fmt(formatter),
            Self::Decode(error) | Self::Sealed(error) => error.fmt(formatter),
        }
    }
}

impl<E: core::error::Error> core::error::Error for SealError<E> {}

impl<E: core::error::Error> core::error::Error for OpenError<E> {}
