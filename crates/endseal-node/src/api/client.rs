//! Client of a running `endseal up`.

use core::time::Duration;
use core::{error, fmt};
use std::path::PathBuf;

use endseal_service::control::{ControlClient, ControlConnectError, ControlLineError};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Error, Id, MAX_LINE, Page, Reply, Request, TextRow, socket};
use crate::home::Home;

/// Timeout for a reply. The process may be busy with a backlog for some time.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Client of the process that is connected to the hub. Each call opens a connection of its own.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

/// A line from the process.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    error: Option<Error>,
    #[serde(borrow, default)]
    method: Option<&'a str>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

impl Client {
    /// Finds the process of a state directory. Returns `None` if none is running.
    ///
    /// # Errors
    /// Returns [`CallError::Line`] if the socket exists and cannot be used.
    pub fn find(home: &Home) -> Result<Option<Self>, CallError> {
        let own = Self { socket: socket(home) };
        match own.connect(Some(TIMEOUT)) {
            Ok(_) => Ok(Some(own)),
            Err(CallError::NotRunning) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a request and waits for its result: at most two minutes, and without a limit for
    /// [`Request::Sync`].
    ///
    /// # Errors
    /// Returns [`CallError`] if the call fails or the process refuses it.
    pub fn call(&self, request: &Request) -> Result<Reply, CallError> {
        let timeout = (!matches!(request, Request::Sync { .. })).then_some(TIMEOUT);
        let mut client = self.send(request, timeout)?;
        receive(&mut client, |line| Reply::read(request, line.result?.get()).ok())
    }

    /// Subscribes to the texts of the inbox with numbers above `after`, and to those that arrive.
    ///
    /// # Errors
    /// Returns [`CallError`] if the process cannot be reached or refuses it.
    pub fn follow(&self, after: u64) -> Result<Followed, CallError> {
        let mut client = self.send(&Request::Follow { after }, None)?;
        receive(&mut client, |line| line.result.map(drop))?;
        Ok(Followed(client))
    }

    fn send(
        &self,
        request: &Request,
        timeout: Option<Duration>,
    ) -> Result<ControlClient, CallError> {
        let line = request.to_line(&Id::Number(1)).map_err(|error| match error {
            ControlLineError::Length => CallError::TooLong,
            error => error.into(),
        })?;
        let mut client = self.connect(timeout)?;
        client.send(&line)?;
        Ok(client)
    }

    fn connect(&self, timeout: Option<Duration>) -> Result<ControlClient, CallError> {
        ControlClient::connect(&self.socket, timeout).map_err(|error| match error {
            ControlConnectError::Io(error) => CallError::Line(error.into()),
            _ => CallError::NotRunning,
        })
    }
}

/// Receives a line. `read` returns its result, or `None` if it has another form.
fn receive<T>(
    client: &mut ControlClient,
    read: impl FnOnce(&Line<'_>) -> Option<T>,
) -> Result<T, CallError> {
    let line = client.receive()?;
    let line: Line<'_> = serde_json::from_slice(&line).map_err(ControlLineError::from)?;
    match line {
        Line { error: Some(error), .. } => Err(CallError::Failed(error)),
        Line { method: Some("ended"), params: Some(error), .. } => {
            let error = serde_json::from_str(error.get()).map_err(ControlLineError::from)?;
            Err(CallError::Failed(error))
        }
        line => read(&line).ok_or(CallError::Unexpected),
    }
}

/// Subscription to unread texts, made by [`Client::follow`].
#[allow(missing_debug_implementations, reason = "it holds texts")]
pub struct Followed(ControlClient);

impl Followed {
    /// Waits for the next texts, without a timeout.
    ///
    /// # Errors
    /// Returns [`CallError`] if the connection fails, and an error of the kind
    /// [`Stopping`](super::ErrorKind::Stopping) when the process stops.
    #[allow(clippy::should_implement_trait, reason = "it does not end, and can fail")]
    pub fn next(&mut self) -> Result<Vec<TextRow>, CallError> {
        let page = |line: &Line<'_>| serde_json::from_str(line.params?.get()).ok();
        receive(&mut self.0, page).map(|page: Page<TextRow>| page.rows)
    }
}

/// Reason why a call has no reply, or not the expected one.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// No process is listening on the socket.
    NotRunning,
    /// The request was not sent, or the reply was not read.
    Line(ControlLineError),
    /// The reply belongs to another kind of request: the process is of another version.
    Unexpected,
    /// The request is longer than [`MAX_LINE`].
    TooLong,
    /// The process refused the request.
    Failed(Error),
}

impl From<ControlLineError> for CallError {
    fn from(error: ControlLineError) -> Self {
        Self::Line(error)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning => f.write_str("endseal up is not running"),
            Self::Line(error) => error.fmt(f),
            Self::Unexpected => f.write_str("unexpected reply: endseal up may be another version"),
            Self::TooLong => write!(f, "the request has more than {MAX_LINE} bytes"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl error::Error for CallError {}
