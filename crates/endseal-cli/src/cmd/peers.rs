//! `endseal peers`: keeps the peers that may connect.

use core::fmt::Write as _;

use clap::Subcommand;
use endseal_keyring::address_book::ChangeBookError;
use endseal_keyring::{Name, ParsePeerIdError, PeerIdText, Peers};
use endseal_node::Home;
use endseal_transport::PeerId;

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::peer_address::HostAddress;

/// Keep the ids of machines that may connect, under names
///
/// The list is separate from the contacts: a person to whom you seal files may not connect to this
/// machine by that.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add a peer: endseal listen accepts it from now on
    Add {
        /// a-z, 0-9, '.', '_' and '-'
        name: Name,
        /// The peer id, as endseal id show --peer or endseal listen prints it
        #[arg(value_parser = given)]
        peer_id: GivenPeer,
        /// Replace the peer of that name
        #[arg(short, long)]
        force: bool,
    },
    /// Remove a peer: endseal listen refuses its next connection
    Remove {
        /// Name of the peer
        name: Name,
    },
    /// List all peers
    List,
}

pub(crate) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let home = ctx.home()?;
    match args.command {
        Command::Add { name, peer_id: GivenPeer { peer, address }, force } => {
            if let Some(address) = address {
                ctx.note(&format!(
                    "note: the list of peers has no addresses; to reach it: endseal send \
                     {name}@{address} FILE"
                ));
            }
            let done = format!("{name} may connect to endseal listen");
            change(&home, done, |peers| {
                if force && peers.find(name.as_str()).is_some() {
                    peers.replace(&name, peer).map(|_| ())
                } else {
                    peers.add(name, peer)
                }
            })
        }
        Command::Remove { name } => {
            let done = format!("{name} is removed from the peers");
            change(&home, done, |peers| peers.remove(&name).map(|_| ()))
        }
        Command::List => Ok(list(&home.peers()?)),
    }
}

/// A peer id that was typed, and the address behind it if there was one.
#[derive(Clone, Debug)]
struct GivenPeer {
    peer: PeerId,
    address: Option<HostAddress>,
}

/// Parses a peer id, or the line that `endseal listen` prints.
fn given(typed: &str) -> Result<GivenPeer, String> {
    let typed = typed.trim();
    let (peer, address) = match typed.split_once('@') {
        Some((peer, address)) => (peer, Some(address.parse()?)),
        None => (typed, None),
    };
    let peer: PeerIdText = peer.parse().map_err(|error: ParsePeerIdError| match error {
        ParsePeerIdError::Identity => {
            format!("{error}; ask for what endseal id show --peer prints")
        }
        _ => error.to_string(),
    })?;
    Ok(GivenPeer { peer: peer.peer_id(), address })
}

fn change(
    home: &Home,
    done: String,
    change: impl FnOnce(&mut Peers) -> Result<(), ChangeBookError>,
) -> Result<Outcome, Failure> {
    let lock = home.lock()?;
    let mut peers = home.peers()?;
    change(&mut peers).map_err(|error| {
        let failure = Failure::usage("the peers were not changed").because(&error);
        match error {
            ChangeBookError::DuplicateName => {
                failure.hint("replace the peer with --force, or choose another name")
            }
            ChangeBookError::Unknown => failure.hint("endseal peers list shows all names"),
            _ => failure,
        }
    })?;
    home.store_peers(&peers, &lock)?;
    Ok(Outcome::done(done, json::object([("peers", peers.len().into())])))
}

fn list(peers: &Peers) -> Outcome {
    let width = peers.iter().map(|(name, _)| name.as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    let mut entries = Vec::new();
    for (name, peer) in peers.iter() {
        let peer = PeerIdText::from(*peer);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:width$}  {peer}");
        entries.push(json::object([
            ("name", name.as_str().into()),
            ("peer_id", peer.to_string().into()),
        ]));
    }
    Outcome::new(text, json::object([("peers", Value::Array(entries))]))
}
