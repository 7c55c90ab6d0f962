//! The process that stays at the hub, and serves local requests over a socket meanwhile
//! (docs/spec/node.md, "Local API").
//!
//! Store, hub and requests are served by one task: it works with the store in pieces that do not
//! wait for the network, and may block its thread. Connections of the socket have tasks of their
//! own, which reach it through a channel.

mod call;
mod calls;
mod dialer;
mod event;
mod handler;
mod hub_state;
mod hub_task;
mod syncs;

use core::error::Error;
use core::fmt;
use core::time::Duration;
use std::io;
use std::path::PathBuf;

use endseal_keyring::PersonRecord;
use endseal_service::control::ControlSocket;
use endseal_session::Engine;
use endseal_transport::CloseCode;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use self::calls::{maintain, serve_calls};
use self::handler::{Handler, LONG_CALLS};
use self::hub_state::HubState;
use self::hub_task::stay_connected;
use crate::home::Home;
use crate::local::{self, LocalError, LocalReply};
use crate::messages::{LetterKeys, SharedEngine};

pub use self::dialer::{DialError, Dialed};
pub use self::event::ServiceEvent;

/// Requests that wait for the store.
const CALLS: usize = 16;
/// Time for replies that are under way, and for the hub to be told, at the end.
const FAREWELL: Duration = Duration::from_secs(1);

/// Cause why the socket is not there.
#[derive(Debug)]
#[non_exhaustive]
pub struct BindServiceError {
    /// Where it would be.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

impl fmt::Display for BindServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the socket '{}' cannot be made", self.path.display())
    }
}

impl Error for BindServiceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Choices of a service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServiceOptions {
    /// Time without an answer after which a hub is given up. Default 60 s.
    pub patience: Duration,
    /// Time after which what could not be sent is tried again: to a full mailbox, or to a person
    /// who has not joined. Default 60 s.
    pub retry: Duration,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self { patience: Duration::from_secs(60), retry: Duration::from_secs(60) }
    }
}

/// A service with its socket, to which requests can connect already.
#[derive(Debug)]
pub struct Service {
    socket: ControlSocket,
    options: ServiceOptions,
}

impl Service {
    /// Makes the socket in the state directory. The caller MUST have its store open: that is what
    /// keeps a second service away.
    ///
    /// # Errors
    /// [`BindServiceError`].
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O.
    pub fn bind(home: &Home, options: ServiceOptions) -> Result<Self, BindServiceError> {
        let path = local::socket(home);
        match ControlSocket::bind(&path) {
            Ok(socket) => Ok(Self { socket, options }),
            Err(source) => Err(BindServiceError { path, source }),
        }
    }

    /// Serves until `stop` completes; then the socket is gone, and the store may be closed. `dial`
    /// makes a connection to the hub, again and again. `person` is the newest record of this
    /// identity, `keys` are those of the same state directory. `notify` is called when a state
    /// changes.
    pub async fn run(
        self,
        engine: &mut Engine,
        person: &PersonRecord,
        keys: &LetterKeys<'_>,
        dial: impl AsyncFn() -> Result<Dialed, DialError>,
        notify: impl Fn(ServiceEvent),
        stop: impl Future<Output = ()>,
    ) {
        let Self { socket, options } = self;
        let engine = &SharedEngine::new(engine);
        let state = &HubState::new(&notify);
        let (calls, mut received) = mpsc::channel(CALLS);
        let (stopping, stopped) = watch::channel(false);
        // Ends when the last request has its reply.
        let (under_way, mut all_replied) = mpsc::channel::<()>(1);
        let handler = Handler::new(calls, engine.arrivals(), stopped, under_way);
        let accepted = tokio::spawn(async move {
            let busy: Result<LocalReply, LocalError> = Err(LocalError::Busy);
            socket.serve(&busy, move |call| handler.clone().handle(call)).await;
        });
        tokio::select! {
            () = stop => {}
            () = serve_calls(engine, &mut received, state) => {}
            () = stay_connected(engine, (person, keys), &options, dial, state) => {}
            () = maintain(engine, state) => {}
        }
        // The socket goes with it.
        accepted.abort();
        stopping.send_replace(true);
        drop(received);
        state.end();
        let _ = timeout(FAREWELL, all_replied.recv()).await;
        if let Some(endpoint) = state.endpoint() {
            let _ = timeout(FAREWELL, endpoint.close(CloseCode::Done)).await;
        }
    }
}

/// An error with its causes, in a line.
fn line(error: &dyn Error) -> String {
    let mut causes = vec![error.to_string()];
    let mut next = error.source();
    while let Some(error) = next {
        let cause = error.to_string();
        // A wrapper that says what its source says is not repeated.
        if causes.last() != Some(&cause) {
            causes.push(cause);
        }
        next = error.source();
    }
    causes.join(": ")
}

const _: () = assert!(LONG_CALLS < 16, "the rest of the socket's calls is for short ones");
