//! Connections to peers: runtime, interruption, and what can go wrong.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::process;

use endseal_node::FileError;
use endseal_node::transfer::{
    self, ReceiveFileError, ReceiveMessagesError, SendError, SendFileError,
};
use endseal_service::stop_signal;
use endseal_transport::{
    Accept, BindError, CloseCode, Closed, ConnectError, Connection, Endpoint, Limits, PeerId,
    Policy, ReceiveError, TransportKey,
};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::{JoinSet, LocalSet};
use tokio::time;

use crate::duration::{self, HOUR, MINUTE, SECOND};
use crate::failure::{Failure, Kind};
use crate::interrupt;
use crate::peer_address::HostAddress;

/// Addresses that are tried.
const MAX_ADDRESSES: usize = 8;
/// Time to tell others that this side is leaving, and for threads to finish.
const FAREWELL: Duration = Duration::from_secs(2);

/// Timeouts of a command that calls a peer.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Give up if the peer has not answered after this time
    #[arg(long, value_name = "TIME", default_value = "10s")]
    #[arg(value_parser = duration::between(SECOND, 10 * MINUTE))]
    timeout: Duration,
    /// Give up if the peer stands still for this time
    ///
    /// A connection on which nothing at all is heard ends after 30 s in any case.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    #[arg(value_parser = duration::between(SECOND, HOUR))]
    pub(crate) idle: Duration,
}

impl From<Timeouts> for transfer::StallTimeout {
    fn from(timeouts: Timeouts) -> Self {
        Self::new(timeouts.idle)
    }
}

/// Runs what needs the network, until it is done or interrupted. With `as_json`, the
/// failure of a process that does not end in time is a JSON object.
///
/// The work runs in this thread and may block it, as printing does: connections live in others.
pub(crate) fn run<T>(
    as_json: bool,
    work: impl AsyncFnOnce(Interrupt) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let failed =
        |error| Failure::new(Kind::Environment, "cannot begin to use the network").because(&error);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(failed)?;
    let guard = runtime.enter();
    let stopping = stop_signal().map_err(failed)?;
    interrupt::release();
    let (interrupts, interrupted) = oneshot::channel();
    tokio::spawn(async move {
        stopping.await;
        // Nobody waits for it if the work is done.
        let _done = interrupts.send(());
        // The work may be held up by a pipe that nobody reads.
        time::sleep(2 * FAREWELL).await;
        interrupt::tell(as_json);
        process::exit(Kind::Interrupted.code().into());
    });
    drop(guard);
    let outcome = LocalSet::new().block_on(&runtime, work(Interrupt(interrupted)));
    runtime.shutdown_timeout(FAREWELL);
    outcome
}

/// Peer of a connection, and ways to it.
#[derive(Clone, Debug)]
pub(crate) struct Destination<'a> {
    pub(crate) peer: PeerId,
    pub(crate) hosts: &'a [HostAddress],
    pub(crate) timeouts: Timeouts,
    pub(crate) limits: Limits,
}

/// Comes true when somebody interrupts the program.
pub(crate) struct Interrupt(oneshot::Receiver<()>);

impl Interrupt {
    /// Waits for it.
    pub(crate) async fn wait(&mut self) {
        if (&mut self.0).await.is_err() {
            core::future::pending::<()>().await;
        }
    }

    /// Connects, does something, and says good-bye, whatever comes of it.
    pub(crate) async fn with_connection<T>(
        &mut self,
        key: &TransportKey,
        to: &Destination<'_>,
        work: impl AsyncFnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let dialed = tokio::select! {
            dialed = dial(key, to) => dialed,
            () = self.wait() => Err(interrupted()),
        };
        let (endpoint, connection) = dialed?;
        let outcome = tokio::select! {
            outcome = work(&connection) => outcome,
            () = self.wait() => Err(interrupted()),
        };
        let code = if outcome.is_ok() { CloseCode::Done } else { CloseCode::Cancelled };
        close(&endpoint, code).await;
        outcome
    }
}

/// Closes all connections; their peers learn why, if they can be reached soon.
pub(crate) async fn close(endpoint: &Endpoint, code: CloseCode) {
    let _late = time::timeout(FAREWELL, endpoint.close(code)).await;
}

pub(crate) fn interrupted() -> Failure {
    Failure::new(Kind::Interrupted, "interrupted")
}

/// Tries all addresses of all hosts at once: an unused one answers nothing and would cost its whole
/// patience.
pub(crate) async fn dial(
    key: &TransportKey,
    to: &Destination<'_>,
) -> Result<(Endpoint, Connection), Failure> {
    let (peer, patience) = (to.peer, to.timeouts.timeout);
    let found = time::timeout(patience, resolve(to.hosts)).await;
    let found =
        found.map_err(|_| Failure::new(Kind::Environment, "cannot find the host in time"))?;
    let mut limits = to.limits.clone();
    limits.handshake_timeout = patience;
    let mut attempts = JoinSet::new();
    for remote in found?.into_iter().take(MAX_ADDRESSES) {
        let here: IpAddr = match remote {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let here = SocketAddr::new(here, 0);
        let bound =
            Endpoint::bind_with(here, key, Policy::default(), Accept::nobody(), limits.clone());
        // A machine without one of the two families is no failure if the other works.
        let endpoint = bound.map_err(|error| bind(here, &error));
        attempts.spawn(async move {
            let endpoint = endpoint.map_err(|failure| (false, failure))?;
            let connected = connect(&endpoint, peer, remote).await;
            connected.map(|connection| (endpoint, connection)).map_err(|error| {
                let says_something = error != ConnectError::TimedOut;
                (says_something, refused(remote, &error, patience))
            })
        });
    }
    let mut best: Option<(bool, Failure)> = None;
    while let Some(attempt) = attempts.join_next().await {
        match attempt {
            Ok(Ok(connected)) => return Ok(connected),
            Ok(Err(failure)) if best.as_ref().is_none_or(|best| failure.0 && !best.0) => {
                best = Some(failure);
            }
            _ => {}
        }
    }
    Err(best.map_or_else(|| Failure::new(Kind::Environment, "cannot connect"), |best| best.1))
}

/// Addresses of hosts. Fails if none has any.
async fn resolve(hosts: &[HostAddress]) -> Result<Vec<SocketAddr>, Failure> {
    let (mut addresses, mut failed) = (Vec::new(), None);
    for host in hosts {
        match host.resolve().await {
            Ok(found) => addresses.extend(found),
            Err(failure) => failed = Some(failure),
        }
    }
    match failed {
        Some(failure) if addresses.is_empty() => Err(failure),
        _ => Ok(addresses),
    }
}

async fn connect(
    endpoint: &Endpoint,
    peer: PeerId,
    remote: SocketAddr,
) -> Result<Connection, ConnectError> {
    let connection = endpoint.connect(peer, remote).await?;
    // The handshake is done before the peer has judged this side.
    connection.confirmed().await.map_err(|closed| match closed {
        Closed::Refused => ConnectError::Refused,
        Closed::ByPeer(CloseCode::Busy) => ConnectError::Busy,
        Closed::TimedOut => ConnectError::TimedOut,
        other => ConnectError::Protocol(other.to_string()),
    })?;
    Ok(connection)
}

fn refused(remote: SocketAddr, error: &ConnectError, patience: Duration) -> Failure {
    let kind = match error {
        ConnectError::WrongPeer | ConnectError::Refused | ConnectError::Policy => Kind::Refused,
        _ => Kind::Environment,
    };
    let failure = Failure::new(kind, format!("cannot connect to {remote}")).because(error);
    match error {
        ConnectError::WrongPeer => failure.hint("check the address, and compare the peer id"),
        ConnectError::Refused => failure.hint(
            "the other side must know you: endseal peers add NAME PEERID, there, and then \
                 endseal listen again, which reads the peers when it starts",
        ),
        ConnectError::TimedOut => failure.hint(format!(
            "waited {}: does the other side run, and does UDP get through?",
            duration::text(patience)
        )),
        ConnectError::Busy => failure.hint("try again later"),
        _ => failure,
    }
}

/// No socket.
pub(crate) fn bind(address: SocketAddr, error: &BindError) -> Failure {
    let failure = Failure::new(Kind::Environment, format!("cannot use {address}"));
    let failure = failure.because(error);
    match error {
        BindError::Socket(_) => failure.hint("choose another one with --listen"),
        _ => failure,
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Answer(_) => Self::of(Kind::Refused, &error),
            SendError::Stalled => Self::of(Kind::Environment, &error)
                .hint("look there; --idle allows more, as a slow disk there may need"),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<SendFileError> for Failure {
    fn from(error: SendFileError) -> Self {
        match error {
            SendFileError::Send(error) => error.into(),
            SendFileError::Changed => Self::of(Kind::Environment, &error),
            SendFileError::Failed => {
                Self::of(Kind::Environment, &error).hint("the other side says why")
            }
            SendFileError::Refused => Self::of(Kind::Refused, &error)
                .hint("it may have a file of that name: choose another one with --name"),
            SendFileError::TooLarge => Self::of(Kind::Refused, &error)
                .hint("ask for more, there: endseal listen --max-size BYTES"),
            _ => Self::of(Kind::Refused, &error),
        }
    }
}

impl From<ReceiveFileError> for Failure {
    fn from(error: ReceiveFileError) -> Self {
        match error {
            ReceiveFileError::File(error @ FileError::Exists(_)) => Self::from(error)
                .hint("move it away here, or have the file sent with: endseal send --name NAME"),
            ReceiveFileError::File(error) => error.into(),
            ReceiveFileError::Stalled => Self::of(Kind::Environment, &error)
                .hint("--idle allows more, as a sender that waits for its input may need"),
            ReceiveFileError::Refusal(_) => Self::of(Kind::Refused, &error),
            ReceiveFileError::Receive(ReceiveError::Reset(_)) => {
                Self::of(Kind::Environment, &error).hint("nothing of it was kept")
            }
            _ => Self::of(Kind::Environment, &error),
        }
    }
}

impl From<ReceiveMessagesError> for Failure {
    fn from(error: ReceiveMessagesError) -> Self {
        match error {
            ReceiveMessagesError::Output(error) => crate::failure::standard(&error),
            ReceiveMessagesError::Refusal(_) => Self::of(Kind::Refused, &error),
            _ => Self::of(Kind::Environment, &error),
        }
    }
}
