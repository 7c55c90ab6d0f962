//! Errors of the client of a remote signer.

use core::fmt;

use endseal_crypto::random::RandomError;
use endseal_relay::address::AddressError;

/// Reason why a remote signer gave no result. Texts of signers and relays are shortened, and
/// control and direction characters are removed.
#[derive(Debug)]
#[non_exhaustive]
pub enum RemoteError {
    /// All relay URLs in the URI are malformed, or neither encrypted nor local.
    Relay(AddressError),
    /// The operating system returned no random bytes.
    Random(RandomError),
    /// The request is longer than the longest event that relays accept.
    Length,
    /// No relay of the URI could be connected to. The text is the reason of one of them, if known.
    Unreachable(Option<String>),
    /// All relays refuse the request. The text is the reason of one of them.
    Rejected(String),
    /// The signer did not respond before the timeout.
    Silent,
    /// The signer refused the request with this text.
    Refused(String),
    /// The signer's response does not fit the request.
    Answer,
    /// The signer returned an event that is not the requested one, or whose signature is wrong.
    Event,
}

impl RemoteError {
    /// Returns true if a relay was refused only because its URL is `ws://`.
    /// [`RemoteSigner::new_insecure`](super::RemoteSigner::new_insecure) accepts it.
    #[must_use]
    pub const fn is_unencrypted(&self) -> bool {
        matches!(self, Self::Relay(AddressError::Plain))
    }
}

impl From<RandomError> for RemoteError {
    fn from(error: RandomError) -> Self {
        Self::Random(error)
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relay(error) => error.fmt(f),
            Self::Random(error) => error.fmt(f),
            Self::Length => f.write_str("the request is too long for an event"),
            Self::Unreachable(None) => f.write_str("no relay of the signer can be reached"),
            Self::Unreachable(Some(reason)) => {
                write!(f, "no relay of the signer can be reached: {reason}")
            }
            Self::Rejected(reason) => write!(f, "no relay accepts the request: {reason}"),
            Self::Silent => f.write_str("the signer does not answer"),
            Self::Refused(text) => write!(f, "the signer refuses: {text}"),
            Self::Answer => f.write_str("the signer's response does not fit the request"),
            Self::Event => f.write_str("the signer returned another event than the requested one"),
        }
    }
}

impl core::error::Error for RemoteError {}
