//! `endseal peers`: keeps the peers that may connect.

use core::fmt::Write as _;

use clap::Subcommand;
use endseal_keyring::address_book::ChangeBookError;
use endseal_keyring::{Name, PeerIdText, Peers};
use endseal_node::Home;

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};

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
    /// Add a peer: the next endseal listen accepts it
    Add {
        /// a-z, 0-9, '.', '_' and '-'
        name: Name,
        /// The peer id, as endseal id show --peer prints it
        peer_id: PeerIdText,
        /// Replace the peer of that name
        #[arg(short, long)]
        force: bool,
    },
    /// Remove a peer: the next endseal listen refuses it
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
        Command::Add { name, peer_id, force } => {
            let done = format!("{name} may connect when endseal listen is started");
            change(&home, done, |peers| {
                let peer = peer_id.peer_id();
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
