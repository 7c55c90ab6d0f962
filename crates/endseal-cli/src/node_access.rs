//! Access to conversations: through a running `endseal up`, or else directly in the store.

use core::time::Duration;

use endseal_crypto::ed25519::PublicKey;
use endseal_node::Home;
use endseal_node::api::{
    CallError, Client, Error, ErrorKind, MAX_LINE, NodeStatus, Reply, Request, execute,
};
use endseal_node::messages::SayError;
use endseal_session::Engine;
use endseal_store::StoreError;

use crate::ctx::Ctx;
use crate::failure::{Failure, Kind};
use crate::sessions::with;

/// Access to conversations.
pub(crate) enum NodeAccess<'e> {
    /// `endseal up` is running.
    Running {
        client: Client,
        /// Identity of this device's person.
        own: PublicKey,
    },
    /// `endseal up` is not running.
    Store { engine: &'e mut Engine, home: &'e Home },
}

/// Runs `work` with access to the conversations.
pub(crate) fn with_node<T>(
    wait: Duration,
    ctx: &mut Ctx,
    work: impl FnOnce(&mut NodeAccess<'_>, &mut Ctx) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let home = ctx.home()?;
    if let Some(client) = Client::find(&home)? {
        let own = *home.person()?.identity().ed25519();
        return work(&mut NodeAccess::Running { client, own }, ctx);
    }
    with(wait, ctx, |engine, ctx| work(&mut NodeAccess::Store { engine, home: &home }, ctx))
}

impl NodeAccess<'_> {
    /// Returns the identity of this device's person.
    pub(crate) fn own(&self) -> PublicKey {
        match self {
            Self::Running { own, .. } => *own,
            Self::Store { engine, .. } => engine.address().identity,
        }
    }

    /// Returns the command that sends new texts.
    pub(crate) fn sender(&self) -> &'static str {
        match self {
            Self::Running { .. } => "endseal up",
            Self::Store { .. } => "endseal sync",
        }
    }

    /// Returns the number of bytes of texts after which a request is too long in any case.
    pub(crate) fn max_input(&self) -> u64 {
        match self {
            Self::Running { .. } => MAX_LINE as u64 + 1,
            Self::Store { .. } => u64::MAX,
        }
    }

    /// Carries out a request.
    pub(crate) fn call(&mut self, request: Request) -> Result<Reply, Failure> {
        Ok(match self {
            Self::Running { client, .. } => client.call(&request)?,
            Self::Store { engine, home } => execute(engine, home, request)?,
        })
    }

    /// Returns the registration at a hub and the counts of waiting messages.
    pub(crate) fn status(&mut self) -> Result<NodeStatus, Failure> {
        match self.call(Request::Status {})? {
            Reply::Status(status) => Ok(status),
            _ => Err(CallError::Unexpected.into()),
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Failed(error) => error.into(),
            CallError::NotRunning => {
                Self::of(Kind::Environment, &error).hint("start it with: endseal up")
            }
            CallError::TooLong => Self::of(Kind::Usage, &error)
                .hint("nothing was stored; give fewer lines at once, or stop endseal up"),
            CallError::Unexpected => {
                Self::new(Kind::Environment, "the running endseal up has another version")
                    .hint("stop it, and start it again")
            }
            _ => Self::new(Kind::Environment, "the running endseal up gave no reply")
                .because(&error)
                .hint(
                    "endseal up may have done what was asked: look before you repeat it, for \
                         example with endseal history NAME",
                ),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.kind {
            ErrorKind::TooLong { text } => SayError::TooLong(text).into(),
            ErrorKind::Own => Self::of(Kind::Usage, &error).hint("nothing was changed"),
            ErrorKind::Blocked => SayError::Blocked.into(),
            ErrorKind::NoGroup => SayError::Group.into(),
            ErrorKind::NotMember => Self::of(Kind::Usage, &error)
                .hint("nothing was changed; the owner can remove you and add you again"),
            ErrorKind::Owner => Self::of(Kind::Usage, &error).hint(
                "nothing was changed; hand the group on with endseal group owner, or end it with \
                 endseal group delete",
            ),
            ErrorKind::UnknownText { .. } => Self::of(Kind::Usage, &error)
                .hint("endseal history NAME --json shows numbers, endseal unsend those that wait"),
            ErrorKind::Encrypted { .. } => Self::of(Kind::Refused, &error)
                .hint("nothing was changed; endseal sync sends it, and then it can be deleted"),
            ErrorKind::Left { .. } => Self::of(Kind::Refused, &error).hint(
                "nothing was changed; endseal history NAME --delete --number N deletes it here, and \
                 it is not sent again",
            ),
            ErrorKind::Hub { is_transient: false } => Self::of(Kind::Refused, &error),
            ErrorKind::Damaged => Self::of(Kind::Configuration, &error).hint(
                "endseal store check shows more; endseal store restore makes a store of a backup",
            ),
            ErrorKind::Full => StoreError::Full.into(),
            ErrorKind::Stopping => Self::new(Kind::Environment, "endseal up has ended")
                .hint("start it again: endseal up"),
            ErrorKind::Parse
            | ErrorKind::InvalidRequest
            | ErrorKind::UnknownMethod
            | ErrorKind::InvalidParams => CallError::Unexpected.into(),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}
