//! Conversion of errors of the Nostr core into failures.

use endseal_nostr::encrypted_key::{OpenError as OpenKeyError, SealError as SealKeyError};
use endseal_nostr::event::{AuthenticationError, OtherAuthor, ParseError};
use endseal_nostr::gift_wrap::{UnwrapError, WrapError};
use endseal_nostr::{nip04, nip44};
use endseal_signer::client::RemoteError;

use crate::failure::{Failure, Kind};

impl From<OpenKeyError> for Failure {
    fn from(error: OpenKeyError) -> Self {
        match error {
            OpenKeyError::Authentication => Self::of(Kind::Refused, &error),
            OpenKeyError::Memory => Self::of(Kind::Environment, &error),
            OpenKeyError::Cost => Self::of(Kind::Usage, &error)
                .hint("if you know where the key is from: --max-log-n 22"),
            _ => Self::of(Kind::Usage, &error),
        }
    }
}

impl From<SealKeyError> for Failure {
    fn from(error: SealKeyError) -> Self {
        match error {
            SealKeyError::Cost | SealKeyError::Password => Self::of(Kind::Usage, &error),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<nip44::SealError> for Failure {
    fn from(error: nip44::SealError) -> Self {
        Self::of(Kind::Usage, &error)
    }
}

impl From<nip44::OpenError> for Failure {
    fn from(error: nip44::OpenError) -> Self {
        let failure = Self::of(Kind::Refused, &error);
        match error {
            nip44::OpenError::UnsupportedVersion => {
                failure.hint("a message of NIP-04 needs: endseal nostr decrypt --nip04")
            }
            nip44::OpenError::Authentication => {
                failure.hint("it belongs to another key or another sender, or was changed")
            }
            _ => failure,
        }
    }
}

impl From<nip04::DecryptError> for Failure {
    fn from(error: nip04::DecryptError) -> Self {
        Self::of(Kind::Refused, &error)
    }
}

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Self {
        Self::new(Kind::Refused, "the input is no event").because(&error)
    }
}

impl From<AuthenticationError> for Failure {
    fn from(error: AuthenticationError) -> Self {
        Self::of(Kind::Refused, &error)
    }
}

impl From<OtherAuthor> for Failure {
    fn from(error: OtherAuthor) -> Self {
        Self::of(Kind::Usage, &error)
    }
}

impl From<WrapError> for Failure {
    fn from(error: WrapError) -> Self {
        match error {
            WrapError::Random => Self::of(Kind::Environment, &error),
            _ => Self::of(Kind::Usage, &error),
        }
    }
}

impl From<UnwrapError> for Failure {
    fn from(error: UnwrapError) -> Self {
        Self::of(Kind::Refused, &error)
    }
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Self {
        let of = |kind| Self::of(kind, &error);
        match error {
            RemoteError::Relay(_) if error.is_unencrypted() => {
                of(Kind::Usage).hint("if you trust its network: --allow-private")
            }
            RemoteError::Refused(_) | RemoteError::Answer | RemoteError::Event => of(Kind::Refused),
            RemoteError::Relay(_) | RemoteError::Length => of(Kind::Usage),
            RemoteError::Silent => of(Kind::Environment).hint(
                "see that it runs, and if its user must approve: endseal signer waiting; a URL works \
                 for the first client that used it, others ask for a new one",
            ),
            _ => of(Kind::Environment),
        }
    }
}
