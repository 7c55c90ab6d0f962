//! `endseal send`: sends a file or messages to a peer.

use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::thread;

use endseal_node::transfer::{self, FileName, OutgoingFile, OutgoingMessage};
use endseal_transport::TransportKey;
use tokio::sync::mpsc;

use crate::ctx::{self, Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;
use crate::network::{self, Destination, Timeouts};
use crate::output::{DASH, Input};
use crate::passphrase;
use crate::peer_address::PeerAddress;
use crate::printable::plural;
use crate::progress::Progress;

/// Name of the file when standard input is sent.
const NAMELESS: &str = "stdin";
/// Limit on a line in bytes, so that it fits in a message of 1 MiB.
const MAX_LINE: u64 = (1 << 20) - 256;
/// Lines that are read ahead.
const AHEAD: usize = 256;

/// Send a file, or messages, to a peer that listens
///
/// Connects by post-quantum QUIC to the named peer only. Exit code 0 means that the peer has all of
/// it: the file on its disk, or every message in its program. The content is protected on the way
/// only: to keep it sealed on the other disk, seal it first.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A name of endseal peers or a peer id, and where it listens
    #[arg(value_name = "PEER@HOST[:PORT]")]
    to: PeerAddress,
    /// File to send [default: standard input]
    file: Option<PathBuf>,
    /// Send each line as a message of its own
    #[arg(long, conflicts_with = "name")]
    lines: bool,
    /// Name of the file at the peer [default: its name, or stdin]
    #[arg(long, value_name = "NAME")]
    name: Option<FileName>,
    #[command(flatten)]
    timeouts: Timeouts,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let home = ctx.home()?;
    let peer = args.to.peer.find(&home.peers()?)?;
    let path = args.file.as_deref().filter(|path| path.as_os_str() != DASH);
    let name = if args.lines { None } else { Some(name(args.name.clone(), path)?) };
    let input = Input::open(path, ctx)?;
    let device = passphrase::unlock_device(ctx, &home)?;
    let key = TransportKey::new(&device);
    let own = *device.public().ed25519().as_bytes();
    let total = input.len.filter(|_| !args.lines);
    let mut progress = Progress::new(ctx, "sending", total);
    let wanted = !args.lines;
    let mut progress = |at| {
        if wanted {
            progress.at(at);
        }
    };
    network::run(ctx.global.json, async |mut interrupt| {
        let hosts = core::slice::from_ref(&args.to.host);
        let limits = network::transfer_limits(args.timeouts.idle);
        let to = Destination { peer, hosts, timeouts: args.timeouts, limits };
        interrupt
            .with_connection(&key, &to, async |connection| match name {
                Some(name) => {
                    let shown = name.as_str().to_owned();
                    let (size, content) = (input.len, input.reader);
                    let file = OutgoingFile { name, size, time: ctx::now(), content };
                    let patience = args.timeouts.into();
                    let sent = transfer::send_file(connection, file, patience, &mut progress);
                    let sent = sent.await?;
                    let json =
                        json::object([("name", shown.clone().into()), ("size", sent.into())]);
                    let bytes = plural(sent, "byte");
                    Ok(Outcome::done(format!("{shown} is there, {bytes}"), json))
                }
                None => {
                    let lines = lines(input.reader).map_err(unread)?;
                    let patience = args.timeouts.into();
                    let sent =
                        transfer::send_messages(connection, own, lines, patience, &mut progress);
                    let sent = sent.await?;
                    let json = json::object([("messages", sent.into())]);
                    Ok(Outcome::done(format!("{} sent", plural(sent, "message")), json))
                }
            })
            .await
    })
}

fn unread(error: io::Error) -> Failure {
    Failure::new(Kind::Environment, "cannot read the content to send").because(&error)
}

/// Returns the name that the file gets at the peer.
fn name(given: Option<FileName>, path: Option<&Path>) -> Result<FileName, Failure> {
    if let Some(given) = given {
        return Ok(given);
    }
    let own = match path {
        Some(path) => path.file_name().unwrap_or_default().to_string_lossy(),
        None => NAMELESS.into(),
    };
    FileName::new(&own).map_err(|error| {
        Failure::usage(format!("'{own}' cannot be the file's name there"))
            .because(&error)
            .hint("give another one with --name")
    })
}

/// Reads lines in a thread of its own, some lines ahead.
fn lines(content: Box<dyn Read + Send>) -> io::Result<mpsc::Receiver<io::Result<OutgoingMessage>>> {
    let (lines, taken) = mpsc::channel(AHEAD);
    thread::Builder::new().name("read".into()).spawn(move || {
        let mut content = BufReader::with_capacity(64 * 1024, content);
        let mut number = 0_u64;
        loop {
            number += 1;
            let line = line(&mut content, number).transpose();
            let Some(line) = line else { return };
            let failed = line.is_err();
            if lines.blocking_send(line).is_err() || failed {
                return;
            }
        }
    })?;
    Ok(taken)
}

/// Reads the next line. Returns `None` at the end.
fn line(
    content: &mut BufReader<Box<dyn Read + Send>>,
    number: u64,
) -> io::Result<Option<OutgoingMessage>> {
    let invalid = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    let mut line = Vec::new();
    if content.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    if line.len() as u64 > MAX_LINE {
        return invalid(format!("line {number} is longer than {MAX_LINE} bytes"));
    }
    match String::from_utf8(line) {
        Ok(text) => Ok(Some(OutgoingMessage { text, time: ctx::now() })),
        Err(_) => invalid(format!("line {number} is not text in UTF-8")),
    }
}
