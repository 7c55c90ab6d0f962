//! The error of all calls, with stable codes.

use std::fmt;

use endseal_keyring::device::BundleError;
use endseal_session::group::GroupError;
use endseal_session::{BatchError, BeginSessionError, EngineError, GroupChangeError, SendError};
use endseal_store::{CreateStoreError, OpenStoreError, StoreError};

/// Reason why a call failed, by what a caller can do about it. Nothing of the call took effect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "every variant has a stable code and a text for people")]
pub enum SessionError {
    /// The caller's mistake. Code: `argument`.
    Argument { code: String, reason: String },
    /// The engine was closed (`closed`), or the transaction has ended (`ended`).
    Ended { code: String, reason: String },
    /// The store was not made, does not open or failed. Codes: those of the errors of
    /// `endseal-store`, `no-device`, `device-exists`, `reopen` and `random`.
    Store { code: String, reason: String },
    /// A message cannot be sent. Codes: `no-session`, `no-group`, `restored`, `commit-required`,
    /// `session`, `too-long`, `batch-ended`.
    Send { code: String, reason: String },
    /// No session can be made of a bundle. Codes: `bundle`, `low-order`, `other-device`, `own`,
    /// `superseded`.
    Bundle { code: String, reason: String },
    /// A group cannot be made, joined or changed. Codes: `group-exists`, `joined`,
    /// `key-package-used`, `no-group`, `restored`, `superseded`, `too-long`, and the names of
    /// `GroupError`.
    Group { code: String, reason: String },
}

impl SessionError {
    /// A fault of the caller.
    pub fn argument(reason: impl fmt::Display) -> Self {
        Self::Argument { code: "argument".into(), reason: reason.to_string() }
    }

    pub(crate) fn closed() -> Self {
        Self::Ended { code: "closed".into(), reason: "the engine was closed".into() }
    }

    pub(crate) fn ended() -> Self {
        Self::Ended { code: "ended".into(), reason: "the transaction has ended".into() }
    }

    fn store(code: &str, error: &dyn std::error::Error) -> Self {
        Self::Store { code: code.into(), reason: text(error) }
    }

    /// Stable name of the reason.
    #[must_use]
    pub fn code(&self) -> &str {
        self.parts().0
    }

    fn parts(&self) -> (&str, &str) {
        match self {
            Self::Argument { code, reason }
            | Self::Ended { code, reason }
            | Self::Store { code, reason }
            | Self::Send { code, reason }
            | Self::Bundle { code, reason }
            | Self::Group { code, reason } => (code, reason),
        }
    }
}

/// Returns the texts of an error and of its sources.
fn text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.parts().1)
    }
}

impl std::error::Error for SessionError {}

impl From<CreateStoreError> for SessionError {
    fn from(error: CreateStoreError) -> Self {
        Self::store(error.code(), &error)
    }
}

impl From<OpenStoreError> for SessionError {
    fn from(error: OpenStoreError) -> Self {
        Self::store(error.code(), &error)
    }
}

impl From<StoreError> for SessionError {
    fn from(error: StoreError) -> Self {
        Self::store(error.code(), &error)
    }
}

impl From<EngineError> for SessionError {
    fn from(error: EngineError) -> Self {
        let code = match &error {
            EngineError::Damaged(_) => "damaged",
            EngineError::NoDevice => "no-device",
            EngineError::DeviceExists => "device-exists",
            EngineError::Reopen(_) => "reopen",
            EngineError::Random => "random",
            EngineError::Store(error) => error.code(),
            _ => "ended",
        };
        Self::store(code, &error)
    }
}

impl From<BatchError> for SessionError {
    fn from(error: BatchError) -> Self {
        error.cause.into()
    }
}

impl From<SendError> for SessionError {
    fn from(error: SendError) -> Self {
        let code = match error {
            SendError::Engine(error) => return error.into(),
            SendError::CommitRequired => "commit-required",
            SendError::NoGroup => "no-group",
            SendError::NoSession => "no-session",
            SendError::Restored => "restored",
            SendError::TooLong => "too-long",
            SendError::Ended => "batch-ended",
            _ => "session",
        };
        Self::Send { code: code.into(), reason: text(&error) }
    }
}

impl From<BundleError> for SessionError {
    fn from(error: BundleError) -> Self {
        Self::Bundle { code: "bundle".into(), reason: text(&error) }
    }
}

impl From<BeginSessionError> for SessionError {
    fn from(error: BeginSessionError) -> Self {
        let code = match error {
            BeginSessionError::Engine(error) => return error.into(),
            BeginSessionError::OtherAddress(_) => "other-device",
            BeginSessionError::Own => "own",
            BeginSessionError::Superseded => "superseded",
            _ => "low-order",
        };
        Self::Bundle { code: code.into(), reason: text(&error) }
    }
}

impl From<GroupChangeError> for SessionError {
    fn from(error: GroupChangeError) -> Self {
        let code = match &error {
            GroupChangeError::Exists => "group-exists",
            GroupChangeError::Group(error) => name(*error),
            GroupChangeError::Joined => "joined",
            GroupChangeError::KeyPackageUsed => "key-package-used",
            GroupChangeError::NoGroup => "no-group",
            GroupChangeError::Restored => "restored",
            GroupChangeError::Superseded(_) => "superseded",
            GroupChangeError::TooLong => "too-long",
            _ => "internal",
        };
        match error {
            GroupChangeError::Engine(error) => error.into(),
            error => Self::Group { code: code.into(), reason: text(&error) },
        }
    }
}

fn name(error: GroupError) -> &'static str {
    match error {
        GroupError::InvalidId => "invalid-id",
        GroupError::UnknownSuite => "unknown-suite",
        GroupError::InvalidKeyPackage => "invalid-key-package",
        GroupError::InvalidWelcome => "invalid-welcome",
        GroupError::NoKeyPackage => "no-key-package",
        GroupError::NoSuchMember => "no-such-member",
        GroupError::RemovesItself => "removes-itself",
        GroupError::CommitPending => "commit-pending",
        GroupError::NothingPending => "nothing-pending",
        GroupError::CommitRequired => "commit-required",
        GroupError::NotMember => "not-member",
        GroupError::NoConversation => "no-conversation",
        GroupError::Membership => "membership",
        GroupError::TooLarge => "too-large",
        GroupError::TooLong => "too-long",
        _ => "internal",
    }
}
