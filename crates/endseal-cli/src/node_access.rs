//! Access to conversations: through a running `endseal up`, or else directly in the store.

use core::time::Duration;
use std::io::Read;

use endseal_crypto::ed25519::PublicKey;
use endseal_node::local::{Followed, LocalCallError, LocalClient, LocalError};
use endseal_node::messages::{
    Conversation, DeviceChange, Devices, HistoryRow, Problem, SayError, Status, Unread, devices,
    forget_problems, history, mark_changes_seen, mark_read, problems, say, status, unread,
    unseen_changes,
};
use endseal_node::sessions::Texts;
use endseal_session::Engine;

use crate::ctx::Ctx;
use crate::failure::{Failure, Kind};
use crate::sessions::with;

/// Access to conversations.
pub(crate) enum NodeAccess<'e> {
    /// `endseal up` is running.
    Running {
        client: LocalClient,
        /// Identity of this device's person.
        own: PublicKey,
    },
    /// `endseal up` is not running.
    Store(&'e mut Engine),
}

/// Runs `work` with access to the conversations.
pub(crate) fn with_node<T>(
    wait: Duration,
    ctx: &mut Ctx,
    work: impl FnOnce(&mut NodeAccess<'_>, &mut Ctx) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let home = ctx.home()?;
    if let Some(client) = LocalClient::find(&home)? {
        let own = *home.person()?.identity().ed25519();
        return work(&mut NodeAccess::Running { client, own }, ctx);
    }
    with(wait, ctx, |engine, ctx| work(&mut NodeAccess::Store(engine), ctx))
}

impl NodeAccess<'_> {
    /// Returns the identity of this device's person.
    pub(crate) fn own(&self) -> PublicKey {
        match self {
            Self::Running { own, .. } => *own,
            Self::Store(engine) => engine.address().identity,
        }
    }

    /// Returns the command that sends new texts.
    pub(crate) fn sender(&self) -> &'static str {
        match self {
            Self::Running { .. } => "endseal up",
            Self::Store(_) => "endseal sync",
        }
    }

    /// Stores texts for a person or a group: the whole input as one text or, with `lines`, one text
    /// a line. Returns their number.
    pub(crate) fn say(
        &mut self,
        to: &Conversation,
        texts: impl Read,
        lines: bool,
    ) -> Result<u64, Failure> {
        Ok(match self {
            Self::Running { client, .. } => client.say(to, texts, lines)?,
            Self::Store(engine) if lines => say(engine, to, Texts::lines(texts))?,
            Self::Store(engine) => say(engine, to, Texts::whole(texts))?,
        })
    }

    /// Returns unread texts, like [`unread`].
    pub(crate) fn unread(&mut self, after: u64) -> Result<(Vec<Unread>, Option<u64>), Failure> {
        Ok(match self {
            Self::Running { client, .. } => client.unread(after)?,
            Self::Store(engine) => unread(engine, after)?,
        })
    }

    /// Subscribes to the unread texts, and to those that arrive later.
    pub(crate) fn follow(&self) -> Result<Followed, Failure> {
        match self {
            Self::Running { client, .. } => Ok(client.follow(0)?),
            Self::Store(_) => Err(LocalCallError::NotRunning.into()),
        }
    }

    /// Moves texts that were shown to the history.
    pub(crate) fn mark_read(&mut self, read: &[Unread]) -> Result<(), Failure> {
        let numbers: Vec<_> = read.iter().map(|it| it.number).collect();
        match self {
            Self::Running { client, .. } => client.mark_read(&numbers)?,
            Self::Store(engine) => mark_read(engine, &numbers)?,
        }
        Ok(())
    }

    /// Returns up to `limit` rows of a conversation with numbers above `after`; none at the end.
    pub(crate) fn history(
        &mut self,
        with: &Conversation,
        after: u64,
        limit: usize,
    ) -> Result<Vec<HistoryRow>, Failure> {
        Ok(match self {
            Self::Running { client, .. } => client.history(with, after, limit)?,
            Self::Store(engine) => history(engine, with, after, limit)?,
        })
    }

    /// Returns the counts of waiting messages. If `endseal up` is running, also returns true if it
    /// is connected to the hub.
    pub(crate) fn status(&mut self) -> Result<(Status, Option<bool>), Failure> {
        match self {
            Self::Running { client, .. } => {
                let (status, connected) = client.status()?;
                Ok((status, Some(connected)))
            }
            Self::Store(engine) => Ok((status(engine)?, None)),
        }
    }

    /// Devices of a person.
    pub(crate) fn devices(&mut self, person: &PublicKey) -> Result<Devices, Failure> {
        Ok(match self {
            Self::Running { client, .. } => client.devices(person)?,
            Self::Store(engine) => devices(engine, person)?,
        })
    }

    /// Changes of devices that were not shown.
    pub(crate) fn unseen_changes(&mut self) -> Result<Vec<DeviceChange>, Failure> {
        Ok(match self {
            Self::Running { client, .. } => client.device_changes()?,
            Self::Store(engine) => unseen_changes(engine)?,
        })
    }

    /// Notes that changes of devices were shown, up to a number.
    pub(crate) fn mark_changes_seen(&mut self, last: u64) -> Result<(), Failure> {
        match self {
            Self::Running { client, .. } => client.mark_changes_seen(last)?,
            Self::Store(engine) => mark_changes_seen(engine, last)?,
        }
        Ok(())
    }

    pub(crate) fn problems(&mut self) -> Result<Vec<Problem>, Failure> {
        Ok(match self {
            Self::Running { client, .. } => client.problems()?,
            Self::Store(engine) => problems(engine)?,
        })
    }

    /// Deletes the problems up to a number.
    pub(crate) fn forget_problems(&mut self, last: u64) -> Result<(), Failure> {
        match self {
            Self::Running { client, .. } => client.forget_problems(last)?,
            Self::Store(engine) => forget_problems(engine, last)?,
        }
        Ok(())
    }
}

impl From<LocalCallError> for Failure {
    fn from(error: LocalCallError) -> Self {
        match error {
            LocalCallError::Failed(error) => error.into(),
            LocalCallError::NotRunning => {
                Self::of(Kind::Environment, &error).hint("start it with: endseal up")
            }
            LocalCallError::Input(cause) => SayError::Input(cause).into(),
            LocalCallError::TooMany => Self::of(Kind::Usage, &error)
                .hint("nothing was stored; give fewer lines at once, or stop endseal up"),
            LocalCallError::Unexpected => {
                Self::new(Kind::Environment, "the running endseal up has another version")
                    .hint("stop it, and start it again")
            }
            _ => {
                Self::new(Kind::Environment, "the running endseal up gave no reply").because(&error)
            }
        }
    }
}

impl From<LocalError> for Failure {
    fn from(error: LocalError) -> Self {
        match error {
            LocalError::TooLong(number) => SayError::TooLong(number).into(),
            LocalError::NotUtf8(number) => SayError::NotUtf8(number).into(),
            LocalError::Own => SayError::Own.into(),
            LocalError::Hub { is_transient: false, .. } => Self::of(Kind::Refused, &error),
            LocalError::Invalid(_) => LocalCallError::Unexpected.into(),
            LocalError::Stopping => Self::new(Kind::Environment, "endseal up has ended")
                .hint("start it again: endseal up"),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}
