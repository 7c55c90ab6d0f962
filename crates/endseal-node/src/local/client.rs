//! The caller's side.

use core::time::Duration;
use std::io::Read;
use std::path::PathBuf;

use endseal_crypto::secret::Zeroizing;
use endseal_service::control::{ControlClient, ControlConnectError};

use super::reply::{LocalReply, Secret, history_of, unread_of};
use super::{LocalCallError, LocalError, LocalRequest, MAX_TEXTS_LEN, socket};
use crate::home::Home;
use crate::messages::{Conversation, HistoryRow, Problem, Status, SyncReport, Unread};

/// Longest wait for a reply: the process may open a backlog meanwhile.
const PATIENCE: Duration = Duration::from_secs(120);

/// The way to the process that stays at the hub. Each call is a connection.
#[derive(Clone, Debug)]
pub struct LocalClient {
    socket: PathBuf,
}

type Called = Result<(LocalReply, Secret), LocalCallError>;

impl LocalClient {
    /// The process of a state directory; `None` if none runs.
    ///
    /// # Errors
    /// [`LocalCallError::Frame`] if it cannot be told.
    pub fn find(home: &Home) -> Result<Option<Self>, LocalCallError> {
        let own = Self { socket: socket(home) };
        match own.connect(Some(PATIENCE)) {
            Ok(_) => Ok(Some(own)),
            Err(LocalCallError::NotRunning) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Numbers of what waits, and true if it is connected to the hub.
    ///
    /// # Errors
    /// [`LocalCallError`].
    pub fn status(&self) -> Result<(Status, bool), LocalCallError> {
        match self.call(&LocalRequest::Status)? {
            (LocalReply::Status { status, connected }, _) => Ok((status, connected)),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// Keeps texts, all of the input or each line of it, as [`say`](crate::messages::say) does.
    /// Returns their number.
    ///
    /// # Errors
    /// [`LocalCallError`].
    pub fn say(
        &self,
        to: &Conversation,
        texts: impl Read,
        lines: bool,
    ) -> Result<u64, LocalCallError> {
        let mut input = texts.take(MAX_TEXTS_LEN as u64 + 1);
        let mut texts = Zeroizing::new(Vec::new());
        let mut piece = Zeroizing::new([0; 1 << 16]);
        loop {
            match input.read(&mut *piece).map_err(LocalCallError::Input)? {
                0 => break,
                len => append(&mut texts, &piece[..len]),
            }
        }
        if texts.len() > MAX_TEXTS_LEN {
            return Err(LocalCallError::TooMany);
        }
        let request = LocalRequest::Say { to: *to, lines };
        match self.ask(&request, &texts, Some(PATIENCE))? {
            (LocalReply::Said(count), _) => Ok(count),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// Sends and receives all that waits, however long it takes; fails after `attempts` failures of
    /// the connection.
    ///
    /// # Errors
    /// [`LocalCallError`].
    pub fn sync(&self, attempts: u32) -> Result<SyncReport, LocalCallError> {
        match self.ask(&LocalRequest::Sync { attempts }, &[], None)? {
            (LocalReply::Report(report), _) => Ok(report),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// As [`unread`](crate::messages::unread).
    ///
    /// # Errors
    /// [`LocalCallError`].
    pub fn unread(&self, after: u64) -> Result<(Vec<Unread>, Option<u64>), LocalCallError> {
        texts(self.call(&LocalRequest::Unread { after })?)
    }

    /// As [`mark_read`](crate::messages::mark_read).
    ///
    /// # Errors
    /// [`LocalCallError`].
    pub fn mark_read(&self, numbers: &[u64]) -> Result<(), LocalCallError> {
        match self.call(&LocalRequest::MarkRead { numbers: numbers.to_vec() })? {
            (LocalReply::Done, _) => Ok(()),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// As [`history`](crate::messages::history), of perhaps fewer rows, but at least one if there
    /// is one.
    ///
    /// # Errors
    /// [`LocalCallError`].
    pub fn history(
        &self,
        with: &Conversation,
        after: u64,
        limit: usize,
    ) -> Result<Vec<HistoryRow>, LocalCallError> {
        match self.call(&LocalRequest::History { with: *with, after, limit })? {
            (LocalReply::History(entries), secret) => {
                history_of(&entries, &secret).ok_or(LocalCallError::Unexpected)
            }
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// As [`problems`](crate::messages::problems).
    ///
    /// # Errors
    /// [`LocalCallError`].
    pub fn problems(&self) -> Result<Vec<Problem>, LocalCallError> {
        match self.call(&LocalRequest::Problems)? {
            (LocalReply::Problems(problems), _) => Ok(problems),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// As [`forget_problems`](crate::messages::forget_problems).
    ///
    /// # Errors
    /// [`LocalCallError`].
    pub fn forget_problems(&self, last: u64) -> Result<(), LocalCallError> {
        match self.call(&LocalRequest::ForgetProblems { last })? {
            (LocalReply::Done, _) => Ok(()),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// Texts behind the number `after` in the inbox, and those that arrive.
    ///
    /// # Errors
    /// [`LocalCallError`].
    pub fn follow(&self, after: u64) -> Result<Followed, LocalCallError> {
        let mut client = self.connect(None)?;
        client.send(&LocalRequest::Follow { after }, &[])?;
        Ok(Followed(client))
    }

    fn connect(&self, patience: Option<Duration>) -> Result<ControlClient, LocalCallError> {
        ControlClient::connect(&self.socket, patience).map_err(|error| match error {
            ControlConnectError::Io(error) => LocalCallError::Frame(error.into()),
            _ => LocalCallError::NotRunning,
        })
    }

    fn call(&self, request: &LocalRequest) -> Called {
        self.ask(request, &[], Some(PATIENCE))
    }

    fn ask(&self, request: &LocalRequest, secret: &[u8], patience: Option<Duration>) -> Called {
        let mut client = self.connect(patience)?;
        client.send(request, secret)?;
        receive(&mut client)
    }
}

/// Texts as they arrive.
#[derive(Debug)]
pub struct Followed(ControlClient);

impl Followed {
    /// Waits for the next texts, however long.
    ///
    /// # Errors
    /// [`LocalCallError`]; [`LocalError::Stopping`] if the process ends.
    #[allow(clippy::should_implement_trait, reason = "it does not end, and can fail")]
    pub fn next(&mut self) -> Result<Vec<Unread>, LocalCallError> {
        Ok(texts(receive(&mut self.0)?)?.0)
    }
}

fn receive(client: &mut ControlClient) -> Called {
    let (reply, secret) = client.receive::<Result<LocalReply, LocalError>>()?;
    Ok((reply.map_err(LocalCallError::Failed)?, secret))
}

fn texts(called: (LocalReply, Secret)) -> Result<(Vec<Unread>, Option<u64>), LocalCallError> {
    let (LocalReply::Unread { rows, next }, secret) = called else {
        return Err(LocalCallError::Unexpected);
    };
    Ok((unread_of(&rows, &secret).ok_or(LocalCallError::Unexpected)?, next))
}

/// Appends what is secret, and leaves no copy behind where memory was.
fn append(to: &mut Zeroizing<Vec<u8>>, piece: &[u8]) {
    if to.capacity() - to.len() < piece.len() {
        let len = 2 * (to.len() + piece.len());
        let mut longer = Zeroizing::new(Vec::with_capacity(len));
        longer.extend_from_slice(to);
        *to = longer;
    }
    to.extend_from_slice(piece);
}
