//! Client side of the local API.

use core::time::Duration;
use std::io::Read;
use std::path::PathBuf;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_service::control::{ControlClient, ControlConnectError};

use super::reply::{LocalReply, Secret, history_of, unread_of};
use super::{LocalCallError, LocalError, LocalRequest, MAX_TEXTS_LEN, socket};
use crate::home::Home;
use crate::messages::{
    Conversation, DeviceChange, Devices, HistoryRow, Problem, Status, SyncReport, Unread,
};

/// Timeout for a reply. The process may be busy with a backlog for some time.
const PATIENCE: Duration = Duration::from_secs(120);

/// Client of the process that is connected to the hub. Each call opens a connection of its own.
#[derive(Clone, Debug)]
pub struct LocalClient {
    socket: PathBuf,
}

type Called = Result<(LocalReply, Secret), LocalCallError>;

impl LocalClient {
    /// Finds the process of a state directory. Returns `None` if none is running.
    ///
    /// # Errors
    /// Returns [`LocalCallError::Frame`] if the socket exists and cannot be used.
    pub fn find(home: &Home) -> Result<Option<Self>, LocalCallError> {
        let own = Self { socket: socket(home) };
        match own.connect(Some(PATIENCE)) {
            Ok(_) => Ok(Some(own)),
            Err(LocalCallError::NotRunning) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the counts of waiting messages, and true if the process is connected to the hub.
    ///
    /// # Errors
    /// Returns [`LocalCallError`] if the call fails or the process refuses it.
    pub fn status(&self) -> Result<(Status, bool), LocalCallError> {
        match self.call(&LocalRequest::Status)? {
            (LocalReply::Status { status, connected }, _) => Ok((status, connected)),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// Stores texts to be sent, like [`say`](crate::messages::say). The input is one text or, with
    /// `lines`, one text a line. Returns the number of texts.
    ///
    /// # Errors
    /// Returns [`LocalCallError`] if the input cannot be read or is longer than [`MAX_TEXTS_LEN`],
    /// the call fails, or the process refuses it.
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

    /// Sends and receives everything that waits. There is no time limit; the call fails after
    /// `attempts` failed connections.
    ///
    /// # Errors
    /// Returns [`LocalCallError`] if the call fails or the process refuses it.
    pub fn sync(&self, attempts: u32) -> Result<SyncReport, LocalCallError> {
        match self.ask(&LocalRequest::Sync { attempts }, &[], None)? {
            (LocalReply::Report(report), _) => Ok(report),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// Returns unread messages, like [`unread`](crate::messages::unread).
    ///
    /// # Errors
    /// Returns [`LocalCallError`] if the call fails or the process refuses it.
    pub fn unread(&self, after: u64) -> Result<(Vec<Unread>, Option<u64>), LocalCallError> {
        texts(self.call(&LocalRequest::Unread { after })?)
    }

    /// Marks messages as read, like [`mark_read`](crate::messages::mark_read).
    ///
    /// # Errors
    /// Returns [`LocalCallError`] if the call fails or the process refuses it.
    pub fn mark_read(&self, numbers: &[u64]) -> Result<(), LocalCallError> {
        match self.call(&LocalRequest::MarkRead { numbers: numbers.to_vec() })? {
            (LocalReply::Done, _) => Ok(()),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// Returns rows of a conversation, like [`history`](crate::messages::history). There may be
    /// fewer than `limit` rows, but at least one if any exists.
    ///
    /// # Errors
    /// Returns [`LocalCallError`] if the call fails or the process refuses it.
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

    /// Returns the stored problems, like [`problems`](crate::messages::problems).
    ///
    /// # Errors
    /// Returns [`LocalCallError`] if the call fails or the process refuses it.
    pub fn problems(&self) -> Result<Vec<Problem>, LocalCallError> {
        match self.call(&LocalRequest::Problems)? {
            (LocalReply::Problems(problems), _) => Ok(problems),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// Deletes problems, like [`forget_problems`](crate::messages::forget_problems).
    ///
    /// # Errors
    /// Returns [`LocalCallError`] if the call fails or the process refuses it.
    pub fn forget_problems(&self, last: u64) -> Result<(), LocalCallError> {
        match self.call(&LocalRequest::ForgetProblems { last })? {
            (LocalReply::Done, _) => Ok(()),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// As [`devices`](crate::messages::devices).
    ///
    /// # Errors
    /// [`LocalCallError`].
    pub fn devices(&self, person: &PublicKey) -> Result<Devices, LocalCallError> {
        match self.call(&LocalRequest::Devices { person: *person })? {
            (LocalReply::Devices(devices), _) => Ok(devices),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// As [`device_changes`](crate::messages::device_changes), without those that were seen.
    ///
    /// # Errors
    /// [`LocalCallError`].
    pub fn device_changes(&self) -> Result<Vec<DeviceChange>, LocalCallError> {
        match self.call(&LocalRequest::DeviceChanges)? {
            (LocalReply::DeviceChanges(changes), _) => Ok(changes),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// As [`mark_changes_seen`](crate::messages::mark_changes_seen).
    ///
    /// # Errors
    /// [`LocalCallError`].
    pub fn mark_changes_seen(&self, last: u64) -> Result<(), LocalCallError> {
        match self.call(&LocalRequest::MarkChangesSeen { last })? {
            (LocalReply::Done, _) => Ok(()),
            _ => Err(LocalCallError::Unexpected),
        }
    }

    /// Texts behind the number `after` in the inbox, and those that arrive.
    ///
    /// # Errors
    /// Returns [`LocalCallError`] if the process cannot be reached.
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

/// Subscription to unread messages, made by [`LocalClient::follow`].
#[allow(missing_debug_implementations, reason = "it holds texts")]
pub struct Followed(ControlClient);

impl Followed {
    /// Waits for the next texts, without a timeout.
    ///
    /// # Errors
    /// Returns [`LocalCallError`] if the connection fails, and [`LocalError::Stopping`] in it when
    /// the process stops.
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

/// Appends secret bytes, and wipes the old memory if the buffer must grow.
fn append(to: &mut Zeroizing<Vec<u8>>, piece: &[u8]) {
    if to.capacity() - to.len() < piece.len() {
        let len = 2 * (to.len() + piece.len());
        let mut longer = Zeroizing::new(Vec::with_capacity(len));
        longer.extend_from_slice(to);
        *to = longer;
    }
    to.extend_from_slice(piece);
}
