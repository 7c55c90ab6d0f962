//! Connections to peers: runtime, interruption, and failures.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::process;

use endseal_node::FileError;
use endseal_node::service::Dialed;
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

/// Limit on the addresses that are tried.
const MAX_ADDRESSES: usize = 8;
/// Timeout for closing connections, and for threads to finish.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Timeout options of a command that connects to a peer.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Give up if the peer has not answered after this time
    #[arg(long, value_name = "TIME", default_value = "10s")]
    #[arg(value_parser = duration::between(SECOND, 10 * MINUTE))]
    timeout: Duration,
    /// Give up if the peer makes no progress for this time
    ///
    /// A peer that is not heard at all is given up after the shorter of this time and its own, and
    /// not before 30 s; a hub after 10 s.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    #[arg(value_parser = duration::between(SECOND, HOUR))]
    pub(crate) idle: Duration,
}

impl Timeouts {
    /// Timeouts of a question at the side of a command, which goes on without an answer.
    pub(crate) const QUICK: Self =
        Self { timeout: SECOND.saturating_mul(5), idle: SECOND.saturating_mul(5) };
}

impl From<Timeouts> for transfer::StallTimeout {
    fn from(timeouts: Timeouts) -> Self {
        Self::new(timeouts.idle)
    }
}

/// Runs work that needs the network, until it completes or is interrupted. If the process does not
/// end in time after an interrupt, it is ended, and with `as_json` its failure is a JSON object.
///
/// The work runs in this thread and may block it, as printing does. Connections run in other
/// threads.
pub(crate) fn run<T>(
    as_json: bool,
    work: impl AsyncFnOnce(Interrupt) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let failed =
        |error| Failure::new(Kind::Environment, "cannot start to use the network").because(&error);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(failed)?;
    let guard = runtime.enter();
    let stopping = stop_signal().map_err(failed)?;
    interrupt::release();
    let (interrupts, interrupted) = oneshot::channel();
    tokio::spawn(async move {
        stopping.await;
        // If the work is done, the receiver is gone.
        let _done = interrupts.send(());
        // The work may be blocked by a pipe that is not read.
        time::sleep(2 * CLOSE_TIMEOUT).await;
        interrupt::tell(as_json);
        process::exit(Kind::Interrupted.code().into());
    });
    drop(guard);
    let outcome = LocalSet::new().block_on(&runtime, work(Interrupt(interrupted)));
    runtime.shutdown_timeout(CLOSE_TIMEOUT);
    outcome
}

/// Returns the limits of a connection on which files or messages are sent. It survives a silence of
/// `idle`, as of a laptop that sleeps; each side ends it after the shorter time of both.
pub(crate) fn transfer_limits(idle: Duration) -> Limits {
    let mut limits = Limits::default();
    // A peer that stands still is then named as such, before the connection is lost.
    limits.idle_timeout = limits.idle_timeout.max(idle + limits.keep_alive);
    limits
}

/// Destination of a connection: the peer and its addresses.
#[derive(Clone, Debug)]
pub(crate) struct Destination<'a> {
    pub(crate) peer: PeerId,
    pub(crate) hosts: &'a [HostAddress],
    pub(crate) timeouts: Timeouts,
    pub(crate) limits: Limits,
}

/// Completes when the program is interrupted.
pub(crate) struct Interrupt(oneshot::Receiver<()>);

impl Interrupt {
    /// Waits until the program is interrupted.
    pub(crate) async fn wait(&mut self) {
        if (&mut self.0).await.is_err() {
            core::future::pending::<()>().await;
        }
    }

    /// Connects, runs `work`, and closes the connection, whatever the result is.
    pub(crate) async fn with_connection<T>(
        &mut self,
        key: &TransportKey,
        to: &Destination<'_>,
        work: impl AsyncFnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.with_address(key, to, async |connection, _: &str| work(connection).await).await
    }

    /// [`Self::with_connection`], whose `work` also gets the addresses under which the peer was
    /// reached, with a space between two.
    pub(crate) async fn with_address<T>(
        &mut self,
        key: &TransportKey,
        to: &Destination<'_>,
        work: impl AsyncFnOnce(&Connection, &str) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let dialed = tokio::select! {
            dialed = dial(key, to) => dialed,
            () = self.wait() => Err(interrupted()),
        };
        let Dialed { endpoint, connection, addresses } = dialed?;
        let outcome = tokio::select! {
            outcome = work(&connection, &addresses) => outcome,
            () = self.wait() => Err(interrupted()),
        };
        let code = if outcome.is_ok() { CloseCode::Done } else { CloseCode::Cancelled };
        close(&endpoint, code).await;
        outcome
    }
}

/// Closes all connections. Peers receive the code if they are reachable within the timeout.
pub(crate) async fn close(endpoint: &Endpoint, code: CloseCode) {
    let _late = time::timeout(CLOSE_TIMEOUT, endpoint.close(code)).await;
}

pub(crate) fn interrupted() -> Failure {
    Failure::new(Kind::Interrupted, "interrupted")
}

/// Tries all addresses of all hosts at once, because an unused one does not answer and would cost
/// the whole timeout.
pub(crate) async fn dial(key: &TransportKey, to: &Destination<'_>) -> Result<Dialed, Failure> {
    let (peer, timeout) = (to.peer, to.timeouts.timeout);
    let found = time::timeout(timeout, resolve(to.hosts)).await;
    let found =
        found.map_err(|_| Failure::new(Kind::Environment, "cannot find the host in time"))?;
    let mut limits = to.limits.clone();
    limits.handshake_timeout = timeout;
    let mut attempts = JoinSet::new();
    let found = found?;
    for remote in in_turn(&found).take(MAX_ADDRESSES) {
        let here: IpAddr = match remote {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let here = SocketAddr::new(here, 0);
        let bound =
            Endpoint::bind_with(here, key, Policy::default(), Accept::none(), limits.clone());
        // If one address family is missing on this machine, the other may work.
        let endpoint = bound.map_err(|error| bind(here, &error));
        attempts.spawn(async move {
            let endpoint = endpoint.map_err(|failure| (false, failure))?;
            let connected = connect(&endpoint, peer, remote).await;
            connected.map(|connection| (endpoint, connection, remote)).map_err(|error| {
                let says_something = error != ConnectError::TimedOut;
                (says_something, refused(remote, &error, timeout))
            })
        });
    }
    let mut best: Option<(bool, Failure)> = None;
    while let Some(attempt) = attempts.join_next().await {
        match attempt {
            Ok(Ok((endpoint, connection, remote))) => {
                let reached = to.hosts.iter().zip(&found).filter(|(_, of)| of.contains(&remote));
                let reached: Vec<_> = reached.map(|(host, _)| host.to_string()).collect();
                return Ok(Dialed { endpoint, connection, addresses: reached.join(" ") });
            }
            Ok(Err(failure)) if best.as_ref().is_none_or(|best| failure.0 && !best.0) => {
                best = Some(failure);
            }
            _ => {}
        }
    }
    Err(best.map_or_else(|| Failure::new(Kind::Environment, "cannot connect"), |best| best.1))
}

/// Resolves each host to its addresses, none if it has none. Fails if no host has an address.
async fn resolve(hosts: &[HostAddress]) -> Result<Vec<Vec<SocketAddr>>, Failure> {
    let (mut addresses, mut failed) = (Vec::new(), None);
    for host in hosts {
        addresses.push(match host.resolve().await {
            Ok(found) => found.collect(),
            Err(failure) => {
                failed = Some(failure);
                Vec::new()
            }
        });
    }
    match failed {
        Some(failure) if addresses.iter().all(Vec::is_empty) => Err(failure),
        _ => Ok(addresses),
    }
}

/// The first address of each host, then the second of each, so that no host is left out for the
/// many addresses of another. Each address comes once.
fn in_turn(found: &[Vec<SocketAddr>]) -> impl Iterator<Item = SocketAddr> {
    let longest = found.iter().map(Vec::len).max().unwrap_or_default();
    let mut all = Vec::new();
    for remote in (0..longest).flat_map(|at| found.iter().filter_map(move |of| of.get(at))) {
        if !all.contains(remote) {
            all.push(*remote);
        }
    }
    all.into_iter()
}

async fn connect(
    endpoint: &Endpoint,
    peer: PeerId,
    remote: SocketAddr,
) -> Result<Connection, ConnectError> {
    let connection = endpoint.connect(peer, remote).await?;
    // The handshake completes before the peer has accepted this side.
    connection.confirmed().await.map_err(|closed| match closed {
        Closed::Refused => ConnectError::Refused,
        Closed::ByPeer(CloseCode::Busy) => ConnectError::Busy,
        Closed::TimedOut => ConnectError::TimedOut,
        other => ConnectError::Protocol(other.to_string()),
    })?;
    Ok(connection)
}

fn refused(remote: SocketAddr, error: &ConnectError, timeout: Duration) -> Failure {
    let kind = match error {
        ConnectError::WrongPeer | ConnectError::Refused | ConnectError::Policy => Kind::Refused,
        _ => Kind::Environment,
    };
    let failure = Failure::new(kind, format!("cannot connect to {remote}")).because(error);
    match error {
        ConnectError::WrongPeer => failure.hint("check the address, and compare the peer id"),
        ConnectError::Refused => failure.hint(
            "the other side must know you; there, with what endseal id show --peer prints here: \
             endseal peers add NAME PEERID",
        ),
        ConnectError::TimedOut => failure.hint(format!(
            "waited {}: is the other side running, and does UDP get through?",
            duration::text(timeout)
        )),
        ConnectError::Busy => failure.hint("try again later"),
        _ => failure,
    }
}

/// Makes the failure for an address that cannot be bound.
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
                .hint("check the other side; if its disk is slow, allow more time with --idle"),
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
                Self::of(Kind::Environment, &error).hint("the other side shows the reason")
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
                .hint("if the sender waits for its input, allow more time with --idle"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_host_is_left_out_for_the_addresses_of_another() {
        let address = |port| SocketAddr::from(([192, 0, 2, 1], port));
        let found =
            [vec![address(1), address(2), address(3)], vec![], vec![address(4), address(1)]];
        assert!(in_turn(&found).eq([1, 4, 2, 3].map(address)));
    }

    #[test]
    fn a_transfer_survives_silence_for_the_time_of_the_option() {
        for (idle, expected) in [(1, 30), (20, 30), (60, 70), (600, 610)] {
            let limits = transfer_limits(Duration::from_secs(idle));
            assert_eq!(limits.idle_timeout, Duration::from_secs(expected));
            assert!(limits.keep_alive < limits.idle_timeout);
        }
    }
}
