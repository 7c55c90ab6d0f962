//! Remote signing between three processes: a relay, a signer, and a client that has events signed.
//!
//! Relay and client are modes of `peers/go`, the same for every signer. Each process prints a line
//! of JSON when it is ready, and ends when its standard input ends.

use core::time::Duration;
use std::process::Command;

use serde::Deserialize;
use serde_json::json;

use crate::case::Case;
use crate::clock::Elapsed;
use crate::peer::answer;
use crate::peer::process::Process;
use crate::program;
use crate::s3::process::CpuClock;
use crate::subject::{Checked, Extra, Failure, Prepared, SubjectError, unsupported};

mod others;

pub(crate) use others::of_peer;

/// Longest time until a process is ready or a client has finished.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(90);
/// Path of the program with the relay and the client, below the folder of peers.
const GO: &str = "go/target/endseal-peers-go";

/// Command of a mode of the peer in Go.
fn go(mode: &str) -> Result<Command, Failure> {
    let program = program::peers()?.join(GO);
    if !program::is_program(&program) {
        return Err(unsupported(format!("{} is missing: cargo xtask peers go", program.display())));
    }
    let mut command = program::command_of(&program)?;
    command.arg(mode);
    Ok(command)
}

/// A running relay: khatru without storage.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) url: String,
    _process: Process,
}

impl Relay {
    pub(crate) fn start() -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Ready {
            relay: String,
        }
        let process = Process::start(&mut go("relay")?)?;
        let Ready { relay: url } = answer(&process.line(TIMEOUT)?)?;
        Ok(Self { url, _process: process })
    }
}

/// A client that keeps several requests in flight and verifies every signature.
struct Client(Process);

/// Times of one round of signatures.
#[derive(Clone, Copy, Deserialize)]
struct Round {
    signatures: u64,
    wall_ns: u64,
    p50_ns: u64,
    p99_ns: u64,
}

impl Client {
    /// Connects to a signer and has some events signed as a warm-up, which is not counted.
    fn start(bunker: &str, in_flight: u64, count: u64) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Ready {}
        let mut command = go("load")?;
        command.args(["--bunker", bunker, "--in-flight", &in_flight.to_string()]);
        command.args(["--count", &count.to_string()]);
        let process = Process::start(&mut command)?;
        let Ready {} = answer(&process.line(TIMEOUT)?)?;
        Ok(Self(process))
    }

    fn round(&mut self) -> Result<Round, Failure> {
        Ok(answer(&self.0.exchange(&json!({}), TIMEOUT)?)?)
    }
}

/// Pairs a client that has one event signed and ends.
pub(crate) fn pair(bunker: &str) -> Result<(), Failure> {
    Client::start(bunker, 1, 1).map(drop)
}

/// The case `bunker_sign`, ready to run. `H` holds the processes that it needs.
pub(crate) struct Signing<H> {
    client: Client,
    clock: CpuClock,
    count: u64,
    rounds: Vec<Round>,
    _held: H,
}

impl<H> Signing<H> {
    /// Lets a client connect to the signer that runs as process `signer`.
    pub(crate) fn new(bunker: &str, signer: u32, case: &Case, held: H) -> Result<Self, Failure> {
        let (in_flight, count) = (case.number("in_flight")? as u64, case.number("count")? as u64);
        let client = Client::start(bunker, in_flight, count)?;
        let clock = CpuClock::of(signer);
        Ok(Self { client, clock, count, rounds: Vec::new(), _held: held })
    }

    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    fn round(&mut self) -> Result<(Round, Elapsed), Failure> {
        let before = self.clock.read()?;
        let round = self.client.round()?;
        let cpu = self.clock.read()? - before;
        if round.signatures != self.count || round.wall_ns == 0 {
            return Err(SubjectError::Protocol("it counts otherwise".into()).into());
        }
        Ok((round, Elapsed::new(round.wall_ns as f64, Some(cpu))))
    }
}

impl<H> Prepared for Signing<H> {
    /// The client ends with an error if an event was not signed as requested.
    fn check(&mut self) -> Result<Checked, Failure> {
        self.round()?;
        Ok(Checked::round_trip(true))
    }

    fn once(&mut self) -> Result<Elapsed, Failure> {
        let (round, elapsed) = self.round()?;
        self.rounds.push(round);
        Ok(elapsed)
    }

    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        let of = |value: fn(&Round) -> f64| self.rounds.iter().map(value).collect();
        Ok(vec![
            Extra::more(
                "signatures_s",
                "1/s",
                of(|it| it.signatures as f64 * 1e9 / it.wall_ns as f64),
            ),
            Extra::less("p50", "ns", of(|it| it.p50_ns as f64)),
            Extra::less("p99", "ns", of(|it| it.p99_ns as f64)),
        ])
    }
}
