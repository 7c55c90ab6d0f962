//! `endseal ping`: connects to a peer and measures echoes.

use core::time::Duration;

use endseal_keyring::PeerIdText;
use endseal_node::transfer::Echo;
use endseal_transport::{Limits, TransportKey};

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::network::{self, Destination, Timeouts};
use crate::passphrase;
use crate::peer_address::PeerAddress;

/// Length of an echo in bytes.
const PAYLOAD: usize = 32;
/// Number of echoes that are needed to estimate the round trip of the path from the fastest one. A
/// single echo may have been delayed.
const ENOUGH: usize = 3;

/// Connect to a peer that listens, show what was agreed, and measure echoes
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A name of endseal peers or a peer id, and where it listens
    #[arg(value_name = "PEER@HOST[:PORT]")]
    to: PeerAddress,
    /// Number of echoes
    #[arg(short, long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=100_000))]
    count: u32,
    #[command(flatten)]
    timeouts: Timeouts,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let home = ctx.home()?;
    let peer = args.to.peer.find(&home.peers()?)?;
    let key = TransportKey::new(&passphrase::unlock_device(ctx, &home)?);
    network::run(ctx.global.json, async |mut interrupt| {
        let hosts = core::slice::from_ref(&args.to.host);
        let to = Destination { peer, hosts, timeouts: args.timeouts, limits: Limits::default() };
        interrupt
            .with_connection(&key, &to, async |connection| {
                let mut echo = Echo::open(connection, args.timeouts.into()).await?;
                let mut times = Vec::new();
                for _ in 0..args.count {
                    times.push(echo.call(vec![0x65; PAYLOAD]).await?);
                }
                times.sort();
                Ok(outcome(connection, &times))
            })
            .await
    })
}

fn outcome(connection: &endseal_transport::Connection, sorted: &[Duration]) -> Outcome {
    let (shake, path) = (connection.handshake(), connection.path());
    let peer = PeerIdText::from(connection.peer());
    let fastest = sorted.first().filter(|_| sorted.len() >= ENOUGH);
    let round_trips = fastest.and_then(|echo| shake.round_trips(*echo));
    let told = match (fastest, round_trips) {
        (_, Some(trips)) => format!("{trips:.1} round trips"),
        (Some(_), None) => "round trips n/a: path too short to measure".into(),
        (None, None) => format!("round trips n/a: {ENOUGH} echoes are needed"),
    };
    let mut text = format!(
        "peer       {peer}\naddress    {}\ngroup      {}\nsignature  {}\n\
         handshake  {} bytes out in {} datagrams, {} in in {}, {}; {told}\n",
        path.remote,
        shake.group,
        shake.signature,
        shake.bytes_sent,
        shake.datagrams_sent,
        shake.bytes_received,
        shake.datagrams_received,
        milliseconds(shake.duration),
    );
    let summary = summary(sorted);
    if let Some([min, median, max]) = summary {
        text.push_str(&format!(
            "echo       {} times: min {}, median {}, max {}\n",
            sorted.len(),
            milliseconds(min),
            milliseconds(median),
            milliseconds(max)
        ));
    }
    let echo = summary.map(|summary| {
        let [min, median, max] = summary.map(microseconds);
        json::object([
            ("count", sorted.len().into()),
            ("min_us", min),
            ("median_us", median),
            ("max_us", max),
        ])
    });
    let code_point = |point: endseal_transport::CodePoint| {
        json::object([("name", point.name.into()), ("number", point.number.into())])
    };
    let json = json::object([
        ("peer_id", peer.to_string().into()),
        ("address", path.remote.to_string().into()),
        ("group", code_point(shake.group)),
        ("signature", code_point(shake.signature)),
        ("bytes_sent", shake.bytes_sent.into()),
        ("bytes_received", shake.bytes_received.into()),
        ("datagrams_sent", shake.datagrams_sent.into()),
        ("datagrams_received", shake.datagrams_received.into()),
        ("handshake_us", microseconds(shake.duration)),
        ("round_trips", round_trips.into()),
        ("echo", echo.into()),
    ]);
    Outcome::new(text, json)
}

/// Returns minimum, median and maximum; `None` if there are no values.
fn summary(sorted: &[Duration]) -> Option<[Duration; 3]> {
    let median = *sorted.get(sorted.len() / 2)?;
    Some([*sorted.first()?, median, *sorted.last()?])
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

fn microseconds(time: Duration) -> Value {
    (time.as_nanos() as f64 / 1e3).into()
}
