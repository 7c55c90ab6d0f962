//! `endseal listen`: receives files and messages from peers.

use core::net::SocketAddr;
use core::time::Duration;
use std::path::PathBuf;
use std::rc::Rc;

use endseal_keyring::{PeerIdText, Peers};
use endseal_node::transfer::{Reception, TransferQuota, receive};
use endseal_transport::{Accept, CloseCode, Endpoint, Policy, TransportKey};
use tokio::task::spawn_local;

use crate::ctx::{self, Ctx, Outcome};
use crate::duration::{self, SECOND, WEEK};
use crate::failure::{Failure, Kind};
use crate::inbox::Printer;
use crate::known_peers::KnownPeers;
use crate::network;
use crate::output;
use crate::passphrase;
use crate::peer_address::{DEFAULT_PORT, PeerArg};

/// Receive files and messages from known peers
///
/// Prints PEERID@ADDRESS for endseal send and endseal ping, then a line for each file and message.
/// A peer that is added while it runs may connect, and one that is removed may not. Files appear in
/// a folder, whole or not at all, and replace nothing.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Address to listen on; 0.0.0.0:4433 is reachable from other machines
    #[arg(long, value_name = "IP:PORT")]
    #[arg(default_value_t = SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)))]
    listen: SocketAddr,
    /// Folder of received files; it is made if it is missing
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Accept only this peer; repeatable [default: all of endseal peers]
    #[arg(long, value_name = "NAME|PEERID")]
    from: Vec<PeerArg>,
    /// End after one file or series of messages; its failure is the exit code
    #[arg(long)]
    once: bool,
    /// Most bytes of a file; K, M, G and T are powers of 1,024
    #[arg(long, value_name = "BYTES", default_value = "16G", value_parser = bytes)]
    max_size: u64,
    /// Give up a file if no content arrives for this time
    ///
    /// A sender that is not heard at all is given up after the shorter of this time and its own,
    /// and not before 30 s.
    #[arg(long, value_name = "TIME", default_value = "10m")]
    #[arg(value_parser = duration::between(SECOND, WEEK))]
    idle: Duration,
}

/// Limit on the unfinished files of one peer.
const MAX_UNFINISHED: usize = 8;

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let home = ctx.home()?;
    let peers = KnownPeers::load(ctx.home()?)?;
    let accept = accept(&args.from, &peers)?;
    output::make_folder(&args.dir)?;
    let device = passphrase::unlock_device(ctx, &home)?;
    let key = TransportKey::new(&device);
    let reception = Reception {
        folder: args.dir.clone(),
        max_size: args.max_size,
        quota: TransferQuota::new(MAX_UNFINISHED, args.max_size),
        stall: args.idle,
        own: *device.public().ed25519().as_bytes(),
        now: ctx::now,
    };
    drop(device);
    let printer = Rc::new(Printer::new(ctx, peers, args.once));
    network::run(ctx.global.json, async |mut interrupt| {
        let limits = network::transfer_limits(args.idle);
        let bound = Endpoint::bind_with(args.listen, &key, Policy::default(), accept, limits);
        let endpoint = bound.map_err(|error| network::bind(args.listen, &error))?;
        let address = endpoint.local_address().map_err(|error| {
            network::bind(args.listen, &endseal_transport::BindError::Socket(error))
        })?;
        printer.listening(PeerIdText::from(key.peer_id()), address)?;
        let outcome = loop {
            tokio::select! {
                connection = endpoint.accept() => {
                    let Some(connection) = connection else { break Ok(()) };
                    let (reception, printer) = (reception.clone(), printer.clone());
                    // The task ends with its connection, and has reported each transfer by then.
                    spawn_local(async move {
                        receive(&connection, &reception, printer.as_ref()).await;
                    });
                }
                ended = printer.ended() => break ended,
                () = interrupt.wait() => break Ok(()),
            }
        };
        network::close(&endpoint, CloseCode::Done).await;
        outcome
    })?;
    Ok(Outcome::default())
}

/// Returns the rule for the peers that may connect.
fn accept(from: &[PeerArg], peers: &KnownPeers) -> Result<Accept, Failure> {
    if !from.is_empty() {
        let named = from.iter().map(|peer| peers.with(|peers| peer.find(peers)));
        return Ok(Accept::pinned(named.collect::<Result<Vec<_>, _>>()?));
    }
    if peers.with(Peers::is_empty) {
        return Err(Failure::new(Kind::Usage, "no peer may connect: the list of peers is empty")
            .hint("endseal peers add NAME PEERID, or --from PEERID"));
    }
    Ok(peers.accept())
}

/// Parses a number of bytes with an optional suffix.
fn bytes(text: &str) -> Result<u64, String> {
    let (number, shift) = match text.char_indices().next_back() {
        Some((at, 'K')) => (&text[..at], 10),
        Some((at, 'M')) => (&text[..at], 20),
        Some((at, 'G')) => (&text[..at], 30),
        Some((at, 'T')) => (&text[..at], 40),
        _ => (text, 0),
    };
    let number: Option<u64> = number.parse().ok();
    let bytes = number.and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "expected a number of bytes, for example 500M".into())
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_suffixes() {
        for (text, expected) in [("0", 0), ("7", 7), ("2K", 2048), ("3T", 3 << 40)] {
            assert_eq!(bytes(text), Ok(expected));
        }
        for bad in ["", "K", "-1", "1.5M", "1k", "1 M", "\u{e9}", "16777216T", "1KK"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
