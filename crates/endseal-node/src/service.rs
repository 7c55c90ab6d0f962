//! A process that stays connected to the hub, and serves local requests over a socket
//! (docs/spec/node-api.md).
//!
//! One task serves the store, the hub and the requests. It uses the store in pieces of work that do
//! not wait for the network and may block its thread. Each connection of the socket has a task of
//! its own, which sends requests to the main task through a channel.

mod backup;
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

use endseal_crypto::identity::Identity;
use endseal_keyring::PersonRecord;
use endseal_service::control::ControlSocket;
use endseal_session::Engine;
use endseal_transport::CloseCode;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use self::backup::remove_backup;
use self::calls::{maintain, serve_calls};
use self::handler::{Handler, LONG_CALLS};
use self::hub_state::HubState;
use self::hub_task::stay_connected;
use crate::api;
use crate::home::Home;
use crate::messages::{NodeFiles, SharedEngine};

pub use self::dialer::{DialError, Dialed};
pub use self::event::ServiceEvent;

/// Limit on the requests that wait for the store.
const CALLS: usize = 16;
/// Timeout at the end: for replies that are in progress, and for closing the connection to the hub.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Reason why the socket was not created.
#[derive(Debug)]
#[non_exhaustive]
pub struct BindServiceError {
    /// Path of the socket.
    pub path: PathBuf,
    /// The failure that the system reported.
    pub source: io::Error,
}

impl fmt::Display for BindServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot create the socket '{}'", self.path.display())
    }
}

impl Error for BindServiceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Settings of a service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServiceOptions {
    /// Timeout for an answer of the hub. The default is 60 s.
    pub timeout: Duration,
    /// Longest time until another attempt is made for messages that could not be sent, for example
    /// to a full mailbox or to a person who has not joined. The default is 60 s; the first attempts
    /// follow sooner.
    pub retry: Duration,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(60), retry: Duration::from_secs(60) }
    }
}

/// A service whose socket already accepts connections.
#[derive(Debug)]
pub struct Service {
    socket: ControlSocket,
    options: ServiceOptions,
}

impl Service {
    /// Creates the socket in the state directory. The caller MUST have opened the store of that
    /// directory, whose lock prevents a second service.
    ///
    /// # Errors
    /// Returns [`BindServiceError`] if the socket cannot be created.
    ///
    /// # Panics
    /// Panics outside a tokio runtime with I/O.
    pub fn bind(home: &Home, options: ServiceOptions) -> Result<Self, BindServiceError> {
        let path = api::socket(home);
        match ControlSocket::bind(&path) {
            Ok(socket) => Ok(Self { socket, options }),
            Err(source) => Err(BindServiceError { path, source }),
        }
    }

    /// Serves until `stop` completes. After that the socket is removed, and the store may be
    /// closed. `dial` makes a connection to the hub at one of the addresses that it gets, each
    /// `host:port` with a space between two, and is called again whenever one is needed.
    /// `own` are the newest record of this identity and the device, which signs backups; `files`
    /// belong to the same state directory. `notify` is called when a state changes.
    pub async fn run(
        self,
        engine: &mut Engine,
        own: (&PersonRecord, &Identity),
        files: &NodeFiles<'_>,
        dial: impl AsyncFn(&str) -> Result<Dialed, DialError>,
        notify: impl Fn(ServiceEvent),
        stop: impl Future<Output = ()>,
    ) {
        let Self { socket, options } = self;
        let (person, device) = own;
        remove_backup(files.home());
        let engine = &SharedEngine::new(engine);
        let state = &HubState::new(&notify);
        let (calls, mut received) = mpsc::channel(CALLS);
        let (stopping, stopped) = watch::channel(false);
        // This channel closes when the last request has its reply.
        let (under_way, mut all_replied) = mpsc::channel::<()>(1);
        let handler = Handler::new(calls, engine.arrivals(), state.failure(), stopped, under_way);
        let accepted = tokio::spawn(async move {
            let busy = api::answer(None, &Err(api::Error::busy()));
            socket.serve(&busy, move |caller| handler.clone().handle(caller)).await;
        });
        tokio::select! {
            () = stop => {}
            () = serve_calls(engine, (files.home(), device), &mut received, state) => {}
            () = stay_connected(engine, (person, files), &options, dial, state) => {}
            () = maintain(engine, state) => {}
        }
        // Aborting the task also removes the socket.
        accepted.abort();
        stopping.send_replace(true);
        drop(received);
        state.end();
        let _ = timeout(CLOSE_TIMEOUT, all_replied.recv()).await;
        if let Some(endpoint) = state.endpoint() {
            let _ = timeout(CLOSE_TIMEOUT, endpoint.close(CloseCode::Done)).await;
        }
    }
}

const _: () = assert!(LONG_CALLS < 16, "the rest of the socket's calls is for short ones");
